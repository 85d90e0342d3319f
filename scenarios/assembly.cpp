// From a scenario to the parts a world and a control plane are built from.
#include "scenarios/assembly.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/input_error.h"

namespace dualpath {
namespace {

ComputeFacts compute_facts(const Scenario& s) {
    return {.llm = s.llm,
            .gpu = s.gpu,
            .calibration = s.calibration,
            .kv_dtype = s.kv_dtype,
            .weight_bytes_per_parameter = s.weight_bytes_per_parameter,
            .prefill_ep = static_cast<int>(s.shape.prefill_ep),
            .decode_ep = static_cast<int>(s.shape.decode_ep),
            .gpus_per_node = s.node.nvlink_domain,
            .cnic = s.node.cnic};
}

std::string gb(Bytes size) {
    return fmt::format("{:.1f} GB", static_cast<double>(size.value) / 1e9);
}

/// What is left of a GPU's HBM for KV; refuses with the arithmetic when nothing is.
Bytes kv_space(const Scenario& s, const char* role, std::uint32_t ep, Bytes weights) {
    const Bytes space = kv_space_per_gpu(s.gpu, s.calibration, weights);
    if (space > Bytes{0}) return space;
    throw InputError{
        Place{.file = s.file.string(), .field = fmt::format("parallelism.{}.ep", role)},
        fmt::format("the weights of {} do not fit: {} of HBM x {:.2f} usable - {} reserve - {} of "
                    "weights per GPU at EP {} leaves {}",
                    s.llm.name, gb(s.gpu.hbm), s.calibration.hbm_usable,
                    gb(s.calibration.hbm_reserve), gb(weights), ep, gb(space)),
        "a higher EP degree, or a GPU with more HBM"};
}

/// alpha: tokens a node reads in 3 s (paper A.4).
Tokens read_queue_limit(const Capacities& capacities, const KvSize& kv) {
    const double per_token = static_cast<double>(kv.of(Tokens{32768}).value) / 32768;
    return Tokens{static_cast<std::int64_t>(3 * capacities.snic.value / per_token)};
}

/// beta: prompt tokens a GPU prefills in 5 s (paper A.4), for turns like the paper's: 429 tokens
/// behind 32,721 (Table 2), in batches that fill the compute quota.
Tokens load_limit(const Scenario& s, const ComputeModel& model, Duration quota) {
    constexpr Tokens cached{32721}, append{429};
    const double attention = to_seconds(model.prefill_attention(cached, append));
    const double turns = std::max(1.0, attention > 0 ? to_seconds(quota) / attention : 16.0);
    const Tokens mine{static_cast<std::int64_t>(turns * static_cast<double>(append.value))};
    const double step =
        turns * attention + s.llm.layers * to_seconds(model.prefill_shared_layer(
                                               mine, mine * std::int64_t{s.shape.prefill_ep}));
    if (step <= 0) return Tokens{std::int64_t{1} << 40};  // nothing costs anything: no limit
    return Tokens{
        static_cast<std::int64_t>(5 / step * turns * static_cast<double>((cached + append).value))};
}

}  // namespace

Capacities achievable(const Scenario& s) {
    const Calibration& c = s.calibration;
    const Bytes block = layer_block_bytes(s.llm, s.kv_dtype, s.block);
    const double line = s.node.snic.value * c.snic_efficiency;
    const double snic = 1 / (1 / line + to_seconds(c.storage_cost_per_layer_block) /
                                            static_cast<double>(block.value));
    const double nodes = s.shape.prefill_nodes + s.shape.decode_nodes;
    const BytesPerSecond ample{2 * nodes * snic * s.node.snic_count};
    return {.storage_read = s.storage.read.value_or(ample),
            .storage_write = s.storage.write.value_or(ample),
            .snic = {snic * s.node.snic_count},
            .cnic = {s.node.cnic.value * c.cnic_efficiency},
            .dram = {s.node.dram.value * c.dram_efficiency},
            .pcie = {s.node.pcie.value * c.pcie_efficiency},
            .hbm = {s.gpu.hbm_rate.value * c.hbm_efficiency}};
}

Assembly::Assembly(const Scenario& s)
    : layout{make_layout(s.shape)},
      model{compute_facts(s)},
      kv{s.llm, s.kv_dtype, s.block},
      capacities{achievable(s)},
      control{s.control},
      prefill_hbm{kv_space(s, "prefill", s.shape.prefill_ep, model.prefill_weights())},
      decode_hbm{kv_space(s, "decode", s.shape.decode_ep, model.decode_weights())},
      host_buffer_{s.node.host_buffer} {
    if (control.read_queue_limit == Tokens{0}) {
        control.read_queue_limit = read_queue_limit(capacities, kv);
    }
    if (control.load_limit == Tokens{0}) {
        control.load_limit = load_limit(s, model, control.compute_quota);
    }
}

ControlFacts Assembly::control_facts() const {
    return {layout, kv, prefill_hbm, decode_hbm, host_buffer_, host_buffer_};
}

void Assembly::require_fits(Tokens longest) const {
    const Bytes wanted = kv.resident(longest + control.generation_estimate);
    const auto refuse = [&](const char* field, const char* where, Bytes size) {
        throw InputError{Place{.field = field},
                         fmt::format("KV of the longest turn, {} tokens, is {} but {} holds {}",
                                     longest.value, gb(wanted), where, gb(size)),
                         "a shorter workload.max_len, or more memory"};
    };
    if (wanted > decode_hbm) refuse("workload.max_len", "a decode GPU", decode_hbm);
    if (wanted > host_buffer_) refuse("node.host_buffer", "a node's host buffer", host_buffer_);
    if (control.loading == ControlSettings::Loading::whole_prompt && wanted > prefill_hbm) {
        refuse("workload.max_len", "a prefill GPU (whole prompts, no layerwise prefill)",
               prefill_hbm);
    }
}

}  // namespace dualpath
