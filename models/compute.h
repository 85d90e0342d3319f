// How long computing takes: attention, the shared part of a layer, collectives, whole decode steps.
#pragma once

#include <span>

#include "base/units.h"
#include "models/calibration.h"
#include "models/gpu.h"
#include "models/llm.h"

namespace dualpath {

struct ComputeFacts {
    Llm llm;
    Gpu gpu;
    Calibration calibration;
    KvDtype kv_dtype = KvDtype::fp8;
    double weight_bytes_per_parameter = 1;  ///< 1 fp8, 2 bf16; up to 1 computes at the fp8 peak
    int prefill_ep = 1;                     ///< ranks over which routed experts are divided; 1 = DP
    int decode_ep = 1;
    int gpus_per_node = 8;      ///< of one NVLink domain: beyond it traffic is remote
    BytesPerSecond cnic{50e9};  ///< line rate of one, per direction
};

/// Decode load of one rank: its running sequences and the tokens they have together.
struct RankLoad {
    int sequences;
    Tokens context_tokens;
};

/// HBM one GPU has left for KV: hbm * usable - reserve - weights; below 0 the weights do not fit.
Bytes kv_space_per_gpu(const Gpu& gpu, const Calibration& calibration, Bytes weights);

/// The model both the scheduler's profile and the simulator ask. Everything is precomputed, so
/// that a decode step costs O(ranks) and nothing allocates. Layers are averaged: `layers` times
/// the per-layer time is the whole, though the first layers may be dense. All durations round up.
class ComputeModel {
public:
    /// Throws InputError for weights in fp8 on a GPU without it, and for an ep above the number of
    /// routed experts (above 1 without any).
    explicit ComputeModel(const ComputeFacts& facts);

    /// Attention of one chunk of `n` new tokens behind `cached`, summed over all layers: what the
    /// compute quota is compared with. FLOPs / (bf16 peak * efficiency), MLA heads padded.
    Duration prefill_attention(Tokens cached, Tokens n) const;

    /// One layer of everything but attention's core, for a group in lock step: the longer of
    /// FLOPs at the GEMM rate and reading the weights from HBM, plus overhead and all-to-all.
    /// The output head is left out: prefill needs it for one token per request.
    Duration prefill_shared_layer(Tokens slowest_rank, Tokens group) const;
    /// The all-to-all within it: dispatch fp8 (1 B per hidden element) and combine bf16 (2 B); a
    /// token crosses the network once per remote node, then NVLink once per GPU that wants it.
    Duration prefill_collective_layer(Tokens slowest_rank) const;
    /// What a rank's all-to-all sends through its CNIC in one forward, all layers.
    Bytes prefill_collective_bytes(Tokens rank) const;
    /// The same as a mean rate over a forward that lasts `step`.
    BytesPerSecond prefill_collective_rate(Tokens rank, Duration step) const;

    /// One token for every sequence of a group in lock step, all layers and the output head.
    Duration decode_step(std::span<const RankLoad> ranks) const;
    /// Its parts, for those who keep the slowest rank up to date themselves:
    /// decode_step = decode_step(max of decode_attention_layer, most sequences, all sequences).
    Duration decode_step(Duration slowest_attention_layer, int most_sequences,
                         int group_sequences) const;
    /// The longer of FLOPs at the decode attention rate and reading the KV from HBM. Sequences of
    /// a rank count as equally long, which matters below top_k or the sliding window only.
    Duration decode_attention_layer(RankLoad rank) const;
    /// As prefill_shared_layer, with the experts that the group's tokens touch:
    /// E * (1 - (1 - k / E)^tokens) of E, k per token (each expert equally likely).
    Duration decode_shared_layer(int most_sequences, int group_sequences) const;
    /// Low-latency kernels send a copy per routed expert; all but 1/nodes of them leave the node.
    Duration decode_collective_layer(int most_sequences) const;
    Bytes decode_collective_bytes(int sequences) const;
    BytesPerSecond decode_collective_rate(int sequences, Duration step) const;

    Bytes prefill_weights() const { return prefill_weights_; }  ///< on one GPU
    Bytes decode_weights() const { return decode_weights_; }
    const ComputeFacts& facts() const { return facts_; }

private:
    /// One side's constants; each is of the mean layer and of one rank. Seconds and bytes are
    /// doubles here: rounding happens once, at the end.
    struct Side {
        double dense_seconds;   ///< GEMM time per token of the rank: what every rank holds whole
        double expert_seconds;  ///< GEMM time per token of the group: this rank's routed experts
        double dense_read;      ///< time to read those weights from HBM
        double expert_read;     ///< time to read all of this rank's experts
        double remote_bytes;    ///< through the CNIC, per token of the rank
        double local_bytes;     ///< over NVLink, likewise
        double overhead;        ///< seconds
    };
    Side side(int ep, Duration overhead) const;
    void set_prefill_copies();
    void set_decode_copies();
    void set_attention();
    double touched_experts(double tokens) const;  ///< fraction of all
    double collective_seconds(const Side& side, double tokens) const;
    double decode_attention_seconds(RankLoad rank) const;
    Duration shared_layer(const Side& side, double slowest, double group) const;

    ComputeFacts facts_;
    Side prefill_;
    Side decode_;
    Bytes prefill_weights_;
    Bytes decode_weights_;
    double core_scale_;  ///< heads as the kernel computes them / heads there are
    double prefill_attention_rate_;
    double core_seconds_;     ///< decode, mean layer, per key attended
    double indexer_seconds_;  ///< decode, mean layer, per key scanned
    double core_read_;        ///< time to read one attended key from HBM
    double indexer_read_;
    double limit_;          ///< keys attended at most in a layer that sees everything
    double sliding_limit_;  ///< and in a sliding one
    double sliding_share_;  ///< of the layers
    double head_seconds_;   ///< output head, GEMM time per token
    double head_read_;
    double miss_log_;  ///< log(1 - active / routed)
    double cnic_rate_;
    double nvlink_rate_;
};

}  // namespace dualpath
