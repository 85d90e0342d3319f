// A node as facts: its GPUs, NICs, host memory and PCIe.
#pragma once

#include <string>

#include "base/units.h"
#include "input/yaml_reader.h"

namespace dualpath {

struct NodeFacts {
    std::string name;
    int gpus;
    std::string gpu;      ///< a name of the GPU catalog
    BytesPerSecond cnic;  ///< of each GPU's compute NIC, per direction
    BytesPerSecond snic;  ///< of one storage NIC, per direction
    int snic_count;
    BytesPerSecond dram;  ///< host memory rate; reads and writes add up
    Bytes dram_size;
    BytesPerSecond pcie;       ///< of one GPU's link, per direction
    int gpus_per_pcie_switch;  ///< that share one link to the host; 1 is a link each
    int nvlink_domain;         ///< GPUs that reach one another over NVLink
    Bytes host_buffer;         ///< host memory set aside for KV in transit
};

/// Throws InputError where a field is missing, unknown or impossible.
NodeFacts read_node(YamlMap& yaml);

}  // namespace dualpath
