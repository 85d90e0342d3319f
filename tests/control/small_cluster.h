// A model with 100 bytes of KV per token and clusters of few GPUs: numbers one can follow by hand.
#pragma once

#include "control/control_plane.h"
#include "models/compute.h"
#include "models/layout.h"
#include "models/llm.h"
#include "models/topology.h"

namespace dualpath {

/// Two layers of 2 * 25 elements of 1 B: 100 B per token. 100 FLOP per pair of query and key and
/// layer (4 * heads * head_dim), so 200 for both.
inline Llm small_llm() {
    return {.name = "small",
            .layers = 2,
            .dense_layers = 0,
            .hidden = 64,
            .dense_ffn = 0,
            .vocab = 100,
            .tied_embeddings = true,
            .attention = Gqa{.heads = 1, .kv_heads = 1, .head_dim = 25},
            .moe = Moe{.routed = 8, .shared = 0, .active = 2, .expert_ffn = 16},
            .weight_bytes_per_parameter = 1,
            .max_context = Tokens{1'000'000}};
}

inline Calibration small_calibration() {
    return {.name = "small",
            .provenance = "made up",
            .gemm_efficiency = 1,
            .prefill_attention_efficiency = 1,
            .decode_attention_efficiency = 1,
            .indexer_speedup = 1,
            .hbm_efficiency = 1,
            .mla_head_padding = 1,
            .hbm_usable = 1,
            .snic_efficiency = 1,
            .cnic_efficiency = 1,
            .pcie_efficiency = 1,
            .dram_efficiency = 1,
            .nvlink_rate = BytesPerSecond{1e12}};
}

/// `flops`: of the GPU, in fp8 and bf16 alike; its HBM reads a byte in the time of one FLOP.
inline ComputeFacts small_compute(double flops = 200e9, int prefill_ep = 1, int decode_ep = 1,
                                  int gpus_per_node = 2) {
    return {.llm = small_llm(),
            .gpu = {.name = "small",
                    .architecture = "none",
                    .bf16 = {flops},
                    .fp8 = FlopsPerSecond{flops},
                    .hbm = Bytes{1'000'000'000},
                    .hbm_rate = {flops},
                    .nvlink = {1e12}},
            .calibration = small_calibration(),
            .kv_dtype = KvDtype::fp8,
            .prefill_ep = prefill_ep,
            .decode_ep = decode_ep,
            .gpus_per_node = gpus_per_node,
            .cnic = {1e9}};
}

inline constexpr Tokens small_block{10};  ///< 1,000 B

inline KvSize small_kv() { return {small_llm(), KvDtype::fp8, small_block}; }

inline ClusterShape small_shape(std::uint32_t prefill_nodes, std::uint32_t decode_nodes,
                                std::uint32_t gpus = 1) {
    return {prefill_nodes, decode_nodes, gpus, 1, 1};
}

/// Ample memories; tests make some of them scarce.
inline ControlFacts small_facts(const ClusterShape& shape) {
    const Bytes ample{1'000'000'000};
    return {make_layout(shape), small_kv(), ample, ample, ample, ample};
}

inline ControlSettings small_settings() {
    return {.read_queue_limit = Tokens{1'000'000},
            .load_limit = Tokens{1'000'000},
            .generation_estimate = Tokens{10}};
}

/// Every link 1 GB/s: a kilobyte is a microsecond.
inline Capacities small_capacities() {
    constexpr BytesPerSecond rate{1e9};
    return {rate, rate, rate, rate, {8e9}, {4e9}, {16e9}};
}

}  // namespace dualpath
