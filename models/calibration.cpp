// A calibration read from YAML, section by section, each with its source.
#include "models/calibration.h"

namespace dualpath {

namespace {

/// A fraction above 0; a thousandth is below anything measured.
double fraction(YamlMap& yaml, std::string_view key) { return yaml.real(key, 0.001, 1.0); }

void read_compute(YamlMap yaml, Calibration& result) {
    yaml.text("source");
    result.gemm_efficiency = fraction(yaml, "gemm_efficiency");
    result.prefill_attention_efficiency = fraction(yaml, "prefill_attention_efficiency");
    result.decode_attention_efficiency = fraction(yaml, "decode_attention_efficiency");
    result.indexer_speedup = yaml.real("indexer_speedup", 0.01, 100);
    result.hbm_efficiency = fraction(yaml, "hbm_efficiency");
    result.mla_head_padding = yaml.count("mla_head_padding", 1, 1024);
    result.prefill_layer_overhead = yaml.duration("prefill_layer_overhead", Zero::allowed);
    result.decode_layer_overhead = yaml.duration("decode_layer_overhead", Zero::allowed);
    yaml.finish();
}

void read_memory(YamlMap yaml, Calibration& result) {
    yaml.text("source");
    result.hbm_usable = fraction(yaml, "hbm_usable");
    result.hbm_reserve = yaml.bytes("hbm_reserve", Zero::allowed);
    yaml.finish();
}

void read_links(YamlMap yaml, Calibration& result) {
    yaml.text("source");
    result.snic_efficiency = fraction(yaml, "snic_efficiency");
    result.cnic_efficiency = fraction(yaml, "cnic_efficiency");
    result.pcie_efficiency = fraction(yaml, "pcie_efficiency");
    result.dram_efficiency = fraction(yaml, "dram_efficiency");
    result.nvlink_rate = yaml.rate("nvlink_rate");
    yaml.finish();
}

void read_costs(YamlMap yaml, Calibration& result) {
    yaml.text("source");
    result.storage_cost_per_layer_block =
        yaml.duration("storage_cost_per_layer_block", Zero::allowed);
    result.rdma_write_cost = yaml.duration("rdma_write_cost", Zero::allowed);
    result.copy_cost = yaml.duration("copy_cost", Zero::allowed);
    result.client_latency = yaml.duration("client_latency", Zero::allowed);
    yaml.finish();
}

}  // namespace

Calibration read_calibration(YamlMap& yaml) {
    Calibration result;
    result.name = yaml.text("name");
    result.provenance = yaml.text("provenance");
    read_compute(yaml.map("compute"), result);
    read_memory(yaml.map("memory"), result);
    read_links(yaml.map("links"), result);
    read_costs(yaml.map("costs"), result);
    yaml.finish();
    return result;
}

}  // namespace dualpath
