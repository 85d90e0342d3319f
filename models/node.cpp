// A node read from the catalog.
#include "models/node.h"

namespace dualpath {

NodeFacts read_node(YamlMap& yaml) {
    NodeFacts node;
    yaml.text("source");
    node.name = yaml.text("name");
    YamlMap gpus = yaml.map("gpus");
    gpus.text("source");
    node.gpus = gpus.count("count", 1, 1024);
    node.gpu = gpus.text("kind");
    node.nvlink_domain = gpus.count("nvlink_domain", 1, 1024);
    gpus.finish();

    YamlMap network = yaml.map("network");
    network.text("source");
    node.cnic = network.rate("cnic");
    node.snic = network.rate("snic");
    node.snic_count = network.count("snic_count", 1, 64);
    network.finish();

    YamlMap host = yaml.map("host");
    host.text("source");
    node.dram = host.rate("dram");
    node.dram_size = host.bytes("dram_size");
    node.host_buffer = host.bytes("host_buffer");
    node.pcie = host.rate("pcie");
    node.gpus_per_pcie_switch = host.count("gpus_per_pcie_switch", 1, node.gpus);
    if (node.host_buffer > node.dram_size) {
        throw InputError{host.value("host_buffer").place(), "is larger than the host's memory",
                         "at most dram_size"};
    }
    host.finish();
    yaml.finish();
    return node;
}

}  // namespace dualpath
