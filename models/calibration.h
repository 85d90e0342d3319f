// Calibration: what hardware and software really reach of their peaks, with its provenance.
#pragma once

#include <string>

#include "base/units.h"
#include "input/yaml_reader.h"

namespace dualpath {

/// Never per experiment: one set of numbers for all. Efficiencies are fractions of a peak.
struct Calibration {
    std::string name;
    std::string provenance;  ///< where the numbers come from, for people

    double gemm_efficiency;               ///< of the peak of the weights' data type
    double prefill_attention_efficiency;  ///< of the bf16 peak
    double decode_attention_efficiency;   ///< of the bf16 peak
    double indexer_speedup;               ///< of the indexer's FLOPs over the core's
    double hbm_efficiency;
    int mla_head_padding;             ///< attention kernels cost as if heads were a multiple of it
    Duration prefill_layer_overhead;  ///< per layer and forward
    Duration decode_layer_overhead;

    double hbm_usable;  ///< fraction of HBM an engine may take
    Bytes hbm_reserve;  ///< of that, for activations, buffers and graphs

    double snic_efficiency;
    double cnic_efficiency;
    double pcie_efficiency;
    double dram_efficiency;
    BytesPerSecond nvlink_rate;             ///< achieved, per direction; a GPU may have less
    Duration storage_cost_per_layer_block;  ///< at the SNIC, beside the line time
    Duration rdma_write_cost;               ///< submission of one
    Duration copy_cost;                     ///< submission of one copy-engine copy
    Duration client_latency;                ///< client and scheduler, per turn
};

/// Throws InputError where a field is missing, unknown or impossible, or a section has no source.
Calibration read_calibration(YamlMap& yaml);

}  // namespace dualpath
