// How long computing takes, from FLOPs, bytes and calibrated efficiencies.
#include "models/compute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/input_error.h"

namespace dualpath {

namespace {

constexpr double dispatch_bytes = 1;  // fp8, per hidden element
constexpr double combine_bytes = 2;   // bf16

double real(Tokens n) { return static_cast<double>(n.value); }

/// Of `places`, how many are hit at least once by `draws` even draws.
double distinct(double places, double draws) {
    return places * (1 - std::pow(1 - 1 / places, draws));
}

void check_ep(const Llm& llm, int ep, const char* field) {
    CHECK(ep >= 1, "an expert group has at least one rank");
    const int routed = llm.moe ? llm.moe->routed : 1;
    if (ep <= routed) return;
    throw InputError{{{}, 0, field},
                     fmt::format("{} ranks, but {} has {}", ep, llm.name,
                                 llm.moe ? fmt::format("{} routed experts", routed) : "no experts"),
                     fmt::format("use from 1 to {}", routed)};
}

/// Peak of the data type that the weights are multiplied in.
double weight_peak(const ComputeFacts& facts) {
    if (facts.weight_bytes_per_parameter > 1) return facts.gpu.bf16.value;
    if (facts.gpu.fp8) return facts.gpu.fp8->value;
    throw InputError{{{}, 0, "node.gpu"},
                     fmt::format("{} cannot compute in fp8, as the weights of {} want",
                                 facts.gpu.name, facts.llm.name),
                     "use weights of 2 bytes per parameter (bf16)"};
}

double head_padding(const Llm& llm, int multiple) {
    const auto* mla = std::get_if<Mla>(&llm.attention);
    if (!mla) return 1;
    const int padded = (mla->heads + multiple - 1) / multiple * multiple;
    return static_cast<double>(padded) / mla->heads;
}

}  // namespace

Bytes kv_space_per_gpu(const Gpu& gpu, const Calibration& calibration, Bytes weights) {
    const double usable = static_cast<double>(gpu.hbm.value) * calibration.hbm_usable;
    return Bytes{static_cast<std::int64_t>(std::floor(usable))} - calibration.hbm_reserve - weights;
}

ComputeModel::ComputeModel(const ComputeFacts& facts)
    : facts_{facts},
      prefill_weights_{
          weight_bytes_per_gpu(facts.llm, facts.prefill_ep, facts.weight_bytes_per_parameter)},
      decode_weights_{
          weight_bytes_per_gpu(facts.llm, facts.decode_ep, facts.weight_bytes_per_parameter)},
      cnic_rate_{facts.cnic.value * facts.calibration.cnic_efficiency},
      nvlink_rate_{std::min(facts.gpu.nvlink, facts.calibration.nvlink_rate).value} {
    check_ep(facts.llm, facts.prefill_ep, "parallelism.prefill.ep");
    check_ep(facts.llm, facts.decode_ep, "parallelism.decode.ep");
    CHECK(facts.gpus_per_node >= 1, "a node has at least one GPU");
    const auto& moe = facts.llm.moe;
    miss_log_ = moe ? std::log1p(-static_cast<double>(moe->active) / moe->routed) : 0;
    prefill_ = side(facts.prefill_ep, facts.calibration.prefill_layer_overhead);
    decode_ = side(facts.decode_ep, facts.calibration.decode_layer_overhead);
    set_prefill_copies();
    set_decode_copies();
    set_attention();
}

ComputeModel::Side ComputeModel::side(int ep, Duration overhead) const {
    const Llm& llm = facts_.llm;
    const double gemm = weight_peak(facts_) * facts_.calibration.gemm_efficiency;
    const double hbm = facts_.gpu.hbm_rate.value * facts_.calibration.hbm_efficiency;
    const double dense = replicated_parameters(llm) / llm.layers;
    const double expert = parameters_per_expert(llm) * moe_layers(llm) / llm.layers;
    const int active = llm.moe ? llm.moe->active : 0;
    const int routed = llm.moe ? llm.moe->routed : 0;
    const int experts_of_rank = (routed + ep - 1) / ep;
    const double bytes = facts_.weight_bytes_per_parameter;
    return {.dense_seconds = 2 * dense / gemm,
            .expert_seconds = 2 * active * expert / ep / gemm,
            .dense_read = dense * bytes / hbm,
            .expert_read = experts_of_rank * expert * bytes / hbm,
            .remote_bytes = 0,
            .local_bytes = 0,
            .overhead = to_seconds(overhead)};
}

/// Prefill kernels (DeepEP "normal"): a token goes once to each remote node that holds one of its
/// experts, and there over NVLink once to each GPU that does.
void ComputeModel::set_prefill_copies() {
    if (facts_.prefill_ep == 1) return;
    const Llm& llm = facts_.llm;
    const double per_copy =
        (dispatch_bytes + combine_bytes) * llm.hidden * moe_layers(llm) / llm.layers;
    const double ranks = facts_.prefill_ep;
    const double gpus = std::min(facts_.prefill_ep, facts_.gpus_per_node);
    const double nodes = std::max(1.0, ranks / gpus);
    const double remote_nodes = distinct(nodes, llm.moe->active) * (1 - 1 / nodes);
    const double other_gpus = distinct(ranks, llm.moe->active) * (1 - 1 / gpus);
    prefill_.remote_bytes = per_copy * remote_nodes;
    prefill_.local_bytes = per_copy * other_gpus;
}

/// Decode kernels (DeepEP "low-latency"): a copy per routed expert; 1 / nodes of them stay inside.
void ComputeModel::set_decode_copies() {
    if (facts_.decode_ep == 1) return;
    const Llm& llm = facts_.llm;
    const double per_copy =
        (dispatch_bytes + combine_bytes) * llm.hidden * moe_layers(llm) / llm.layers;
    const double gpus = std::min(facts_.decode_ep, facts_.gpus_per_node);
    const double inside = gpus / facts_.decode_ep;
    decode_.remote_bytes = per_copy * llm.moe->active * (1 - inside);
    decode_.local_bytes = per_copy * llm.moe->active * inside * (1 - 1 / gpus);
}

void ComputeModel::set_attention() {
    const Llm& llm = facts_.llm;
    const Calibration& calibration = facts_.calibration;
    const double hbm = facts_.gpu.hbm_rate.value * calibration.hbm_efficiency;
    const double bf16 = facts_.gpu.bf16.value;
    const double decode_rate = bf16 * calibration.decode_attention_efficiency;
    const KvLayout layout = kv_layout(llm, facts_.kv_dtype);
    const Indexer* indexer = sparse_indexer(llm);
    const SlidingWindow* sliding = sliding_window(llm);

    core_scale_ = head_padding(llm, calibration.mla_head_padding);
    prefill_attention_rate_ = bf16 * calibration.prefill_attention_efficiency;
    core_seconds_ = core_flops_per_pair(llm) * core_scale_ / decode_rate;
    indexer_seconds_ = indexer_flops_per_pair(llm) / calibration.indexer_speedup / decode_rate;
    core_read_ = static_cast<double>(layout.attention.value) / hbm;
    indexer_read_ = static_cast<double>(layout.indexer.value) / hbm;
    const double unlimited = std::numeric_limits<double>::infinity();
    limit_ = indexer ? real(indexer->top_k) : unlimited;
    sliding_limit_ = sliding ? real(sliding->window) : unlimited;
    sliding_share_ =
        sliding ? static_cast<double>(llm.layers - sliding->full_layers) / llm.layers : 0;

    const double head = head_parameters(llm);  // kept and multiplied in bf16
    head_seconds_ = 2 * head / (bf16 * calibration.gemm_efficiency);
    head_read_ = 2 * head / hbm;
}

double ComputeModel::touched_experts(double tokens) const {
    return tokens > 0 ? -std::expm1(tokens * miss_log_) : 0;
}

double ComputeModel::collective_seconds(const Side& side, double tokens) const {
    // The two stages are pipelined, so the slower one shows.
    return tokens * std::max(side.remote_bytes / cnic_rate_, side.local_bytes / nvlink_rate_);
}

Duration ComputeModel::shared_layer(const Side& side, double slowest, double group) const {
    const double compute = slowest * side.dense_seconds + group * side.expert_seconds;
    const double read = side.dense_read + touched_experts(group) * side.expert_read;
    return from_seconds(std::max(compute, read) + side.overhead +
                        collective_seconds(side, slowest));
}

Duration ComputeModel::prefill_attention(Tokens cached, Tokens n) const {
    const AttentionWork work = attention_flops(facts_.llm, cached, n);
    return from_seconds(
        (work.core.value * core_scale_ + work.indexer.value / facts_.calibration.indexer_speedup) /
        prefill_attention_rate_);
}

Duration ComputeModel::prefill_shared_layer(Tokens slowest_rank, Tokens group) const {
    return shared_layer(prefill_, real(slowest_rank), real(group));
}

Duration ComputeModel::prefill_collective_layer(Tokens slowest_rank) const {
    return from_seconds(collective_seconds(prefill_, real(slowest_rank)));
}

Bytes ComputeModel::prefill_collective_bytes(Tokens rank) const {
    const double bytes = real(rank) * prefill_.remote_bytes * facts_.llm.layers;
    return {static_cast<std::int64_t>(std::ceil(bytes))};
}

BytesPerSecond ComputeModel::prefill_collective_rate(Tokens rank, Duration step) const {
    return prefill_collective_bytes(rank) / step;
}

double ComputeModel::decode_attention_seconds(RankLoad rank) const {
    if (rank.sequences == 0) return 0;
    const double scanned = real(rank.context_tokens);
    const double length = scanned / rank.sequences;
    const double attended = rank.sequences * ((1 - sliding_share_) * std::min(length, limit_) +
                                              sliding_share_ * std::min(length, sliding_limit_));
    const double compute = attended * core_seconds_ + scanned * indexer_seconds_;
    const double read = attended * core_read_ + scanned * indexer_read_;
    return std::max(compute, read);
}

Duration ComputeModel::decode_attention_layer(RankLoad rank) const {
    return from_seconds(decode_attention_seconds(rank));
}

Duration ComputeModel::decode_shared_layer(int most_sequences, int group_sequences) const {
    return shared_layer(decode_, most_sequences, group_sequences);
}

Duration ComputeModel::decode_collective_layer(int most_sequences) const {
    return from_seconds(collective_seconds(decode_, most_sequences));
}

Bytes ComputeModel::decode_collective_bytes(int sequences) const {
    const double bytes = sequences * decode_.remote_bytes * facts_.llm.layers;
    return {static_cast<std::int64_t>(std::ceil(bytes))};
}

BytesPerSecond ComputeModel::decode_collective_rate(int sequences, Duration step) const {
    return decode_collective_bytes(sequences) / step;
}

Duration ComputeModel::decode_step(Duration slowest_attention_layer, int most_sequences,
                                   int group_sequences) const {
    const Duration layer =
        slowest_attention_layer + decode_shared_layer(most_sequences, group_sequences);
    const Duration head = from_seconds(std::max(most_sequences * head_seconds_, head_read_));
    return layer * facts_.llm.layers + head;
}

Duration ComputeModel::decode_step(std::span<const RankLoad> ranks) const {
    CHECK(ranks.size() <= static_cast<std::size_t>(facts_.decode_ep),
          "a group steps with no more ranks than it has");
    double slowest = 0;
    int most = 0;
    int all = 0;
    for (const RankLoad& rank : ranks) {
        slowest = std::max(slowest, decode_attention_seconds(rank));
        most = std::max(most, rank.sequences);
        all += rank.sequences;
    }
    return decode_step(from_seconds(slowest), most, all);
}

}  // namespace dualpath
