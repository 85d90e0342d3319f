// A scenario: everything one run depends on, read from YAML, with every name resolved.
#include "scenarios/scenario.h"

#include <array>

#include <fmt/format.h>

#include "control/policies.h"
#include "input/yaml_reader.h"
#include "models/catalog.h"
#include "models/topology.h"
#include "scenarios/assembly.h"
#include "scenarios/faults.h"

namespace dualpath {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> system_names{"basic", "dualpath", "oracle"};
constexpr std::array<std::string_view, 2> dtype_names{"bf16", "fp8"};
constexpr std::array<std::string_view, 2> qos_names{"lanes", "none"};
constexpr std::array<std::string_view, 2> batching_names{"compute_quota", "token_budget"};
constexpr std::array<std::string_view, 3> arrival_names{"closed", "poisson", "recorded"};

/// Baselines are settings, not forks (paper, section 7). Each step of the ablation is one of them.
void expand_system(const std::string& system, ControlSettings& control) {
    if (system == "oracle") control.movements = ControlSettings::Movements::free;
    if (system != "basic") return;
    control.prefill_policy = "round_robin";
    control.decode_policy = "round_robin";
    control.read_path = "prefill_only";
    control.batching = ControlSettings::Batching::token_budget;
    control.loading = ControlSettings::Loading::whole_prompt;
}

void read_cluster(YamlMap& root, ClusterShape& shape) {
    YamlMap cluster = root.map("cluster");
    shape.prefill_nodes = static_cast<std::uint32_t>(cluster.count("prefill_nodes", 1, 100'000));
    shape.decode_nodes = static_cast<std::uint32_t>(cluster.count("decode_nodes", 1, 100'000));
    cluster.finish();
}

void read_side(YamlMap& parallelism, const char* role, std::uint32_t gpus, std::uint32_t& ep) {
    auto side = parallelism.optional_map(role);
    if (!side) return;
    if (const auto degree = side->optional_count("ep", 1, 1'000'000)) {
        ep = static_cast<std::uint32_t>(*degree);
    }
    if (const auto dp = side->optional_value("dp")) {
        const int ranks = dp->count(1, 1'000'000);
        const bool fits = ep > 1 ? static_cast<std::uint32_t>(ranks) == ep
                                 : gpus % static_cast<std::uint32_t>(ranks) == 0;
        if (!fits) {
            throw InputError{dp->place(), fmt::format("{} data-parallel ranks do not fit", ranks),
                             ep > 1 ? fmt::format("{}: each rank of an EP group is one", ep)
                                    : fmt::format("a divisor of the role's {} GPUs", gpus)};
        }
    }
    side->finish();
}

/// EP defaults to one node for a model with experts, to engines that step alone otherwise.
void read_parallelism(YamlMap& root, Scenario& s) {
    s.shape.gpus_per_node = static_cast<std::uint32_t>(s.node.gpus);
    s.shape.prefill_ep = s.shape.decode_ep = s.llm.moe ? s.shape.gpus_per_node : 1;
    auto parallelism = root.optional_map("parallelism");
    if (!parallelism) return;
    const std::uint32_t gpus = s.shape.gpus_per_node;
    read_side(*parallelism, "prefill", s.shape.prefill_nodes * gpus, s.shape.prefill_ep);
    read_side(*parallelism, "decode", s.shape.decode_nodes * gpus, s.shape.decode_ep);
    parallelism->finish();
}

/// A node of the catalog, with the numbers the scenario changes.
void read_node_facts(YamlMap& root, const std::filesystem::path& catalog, Scenario& s) {
    auto node = root.optional_map("node");
    const std::string type =
        node ? node->optional_text("type").value_or("hopper-8x400g") : std::string{"hopper-8x400g"};
    s.node =
        load_node(catalog, type, node && node->has("type") ? node->value("type").place() : Place{});
    Place gpu_place;
    if (node) {
        NodeFacts& n = s.node;
        if (const auto gpu = node->optional_value("gpu")) {
            n.gpu = gpu->text();
            gpu_place = gpu->place();
        }
        n.gpus = node->optional_count("gpus", 1, 1024).value_or(n.gpus);
        n.snic = node->optional_rate("snic").value_or(n.snic);
        n.snic_count = node->optional_count("snic_count", 1, 64).value_or(n.snic_count);
        n.cnic = node->optional_rate("cnic").value_or(n.cnic);
        n.dram = node->optional_rate("dram").value_or(n.dram);
        n.pcie = node->optional_rate("pcie").value_or(n.pcie);
        n.host_buffer = node->optional_bytes("host_buffer").value_or(n.host_buffer);
        n.nvlink_domain =
            node->optional_count("nvlink_domain", 1, 100'000).value_or(n.nvlink_domain);
        s.calibration.hbm_reserve =
            node->optional_bytes("hbm_reserve", Zero::allowed).value_or(s.calibration.hbm_reserve);
    }
    s.gpu = load_gpu(catalog, s.node.gpu, gpu_place);
    if (node) {
        s.gpu.hbm = node->optional_bytes("hbm").value_or(s.gpu.hbm);
        node->finish();
    }
}

void read_kv(YamlMap& root, Scenario& s) {
    auto kv = root.optional_map("kv");
    if (!kv) return;
    if (const auto dtype = kv->optional_one_of("dtype", dtype_names)) {
        s.kv_dtype = *dtype == "fp8" ? KvDtype::fp8 : KvDtype::bf16;
    }
    s.block = kv->optional_tokens("block_size", PlainNumber::allowed).value_or(s.block);
    kv->finish();
}

void read_storage(YamlMap& root, Scenario& s) {
    auto storage = root.optional_map("storage");
    if (!storage) return;
    s.storage.read = storage->optional_rate("read");
    s.storage.write = storage->optional_rate("write");
    s.storage.latency = storage->optional_duration("latency", Zero::allowed).value_or(Duration{0});
    storage->finish();
}

void read_control(YamlMap& root, Scenario& s) {
    auto control = root.optional_map("control");
    if (!control) return;
    ControlSettings& c = s.control;
    c.prefill_policy = control->optional_one_of("prefill_policy", Names{prefill_policy_names})
                           .value_or(c.prefill_policy);
    c.decode_policy = control->optional_one_of("decode_policy", Names{decode_policy_names})
                          .value_or(c.decode_policy);
    c.read_path =
        control->optional_one_of("read_path", Names{read_path_names}).value_or(c.read_path);
    if (const auto batching = control->optional_one_of("batching", batching_names)) {
        c.batching = *batching == "compute_quota" ? ControlSettings::Batching::compute_quota
                                                  : ControlSettings::Batching::token_budget;
    }
    if (const auto layerwise = control->optional_boolean("layerwise")) {
        c.loading = *layerwise ? ControlSettings::Loading::layerwise
                               : ControlSettings::Loading::whole_prompt;
    }
    c.compute_quota = control->optional_duration("compute_quota").value_or(c.compute_quota);
    c.token_budget =
        control->optional_tokens("token_budget", PlainNumber::allowed).value_or(c.token_budget);
    c.read_queue_limit =
        control->optional_tokens("alpha", PlainNumber::allowed).value_or(c.read_queue_limit);
    c.load_limit = control->optional_tokens("beta", PlainNumber::allowed).value_or(c.load_limit);
    c.decode_slack = control->optional_real("z", 1, 1000).value_or(c.decode_slack);
    c.generation_estimate =
        control->optional_tokens("generation_estimate", PlainNumber::allowed, Zero::allowed)
            .value_or(c.generation_estimate);
    c.storage_transfers_in_flight =
        control->optional_count("storage_transfers_in_flight", 1, 1'000'000)
            .value_or(c.storage_transfers_in_flight);
    c.max_attempts = control->optional_count("max_attempts", 1, 1000).value_or(c.max_attempts);
    s.control_latency =
        control->optional_duration("latency", Zero::allowed).value_or(s.control_latency);
    control->finish();
}

/// A generator's name, or a file: relative to the scenario that names it.
void read_trace(YamlMap& workload, Scenario& s) {
    const auto trace = workload.optional_value("trace");
    s.trace.trajectories = static_cast<std::size_t>(
        workload.optional_count("trajectories", 1, 10'000'000).value_or(500));
    if (!trace || trace->text() == "table2") return;
    if (trace->text() == "agents") {
        s.trace.kind = TraceSource::Kind::agents;
        return;
    }
    s.trace.kind = TraceSource::Kind::file;
    const std::filesystem::path named = trace->text();
    const std::filesystem::path home =
        trace->place().file == "--set" ? std::filesystem::path{}
                                       : std::filesystem::path{trace->place().file}.parent_path();
    s.trace.file = named.is_absolute() ? named : home / named;
    s.trace.place = trace->place();
}

void read_workload(YamlMap& root, Scenario& s) {
    YamlMap workload = root.map("workload");
    WorkloadSettings& w = s.workload;
    w.seed = s.seed;
    read_trace(workload, s);
    w.agents = static_cast<std::uint32_t>(workload.count("agents", 1, 100'000'000));
    if (const auto arrivals = workload.optional_one_of("arrivals", arrival_names)) {
        w.arrivals = *arrivals == "closed"    ? WorkloadSettings::Arrivals::closed
                     : *arrivals == "poisson" ? WorkloadSettings::Arrivals::poisson
                                              : WorkloadSettings::Arrivals::recorded;
    }
    w.agents_per_second = workload.optional_real("agents_per_second", 1e-9, 1e9).value_or(0);
    w.max_len = workload.optional_tokens("max_len", PlainNumber::allowed);
    if (const auto latency = workload.optional_value("tool_latency");
        latency && latency->text() != "recorded") {
        w.tool_latency = latency->duration(Zero::allowed);
    }
    w.client_latency = workload.optional_duration("client_latency", Zero::allowed)
                           .value_or(s.calibration.client_latency);
    w.append_scale = workload.optional_real("append_scale", 1e-6, 1e6).value_or(1);
    w.generation_scale = workload.optional_real("generation_scale", 1e-6, 1e6).value_or(1);
    w.random_round =
        workload.optional_tokens("random_round", PlainNumber::allowed).value_or(w.random_round);
    workload.finish();
}

/// The calibration named in the scenario; a file stands relative to the file that names it.
void read_calibration(YamlMap& root, const std::filesystem::path& catalog, Scenario& s,
                      const std::optional<std::filesystem::path>& recorded) {
    const auto named = root.optional_value("calibration");
    std::string name = recorded ? recorded->string() : named ? named->text() : "default";
    const Place place = named && !recorded ? named->place() : Place{};
    const std::filesystem::path path = name;
    if (!recorded && path.extension() == ".yaml" && path.is_relative() && place.file != "--set") {
        name = (std::filesystem::path{place.file}.parent_path() / path).string();
    }
    s.calibration = load_calibration(catalog, name, place);
    s.calibration_text = calibration_text(catalog, name, place);
}

Scenario read_scenario(const YamlDocument& document, const std::filesystem::path& file,
                       const std::optional<std::filesystem::path>& calibration) {
    const std::filesystem::path catalog = default_catalog();
    YamlMap root = document.root();
    Scenario s;
    s.file = file;
    s.name = root.optional_text("name").value_or(file.stem().string());
    s.seed =
        Seed{static_cast<std::uint64_t>(root.optional_integer("seed", 0, INT64_MAX).value_or(1))};
    const YamlValue model = root.value("model");
    s.llm = load_llm(catalog, model.text(), model.place());
    read_calibration(root, catalog, s, calibration);
    s.weight_bytes_per_parameter = s.llm.weight_bytes_per_parameter;
    if (const auto weights = root.optional_one_of("weights", dtype_names)) {
        s.weight_bytes_per_parameter = *weights == "fp8" ? 1 : 2;
    }
    s.kv_dtype = sparse_indexer(s.llm) ? KvDtype::fp8 : KvDtype::bf16;
    read_cluster(root, s.shape);
    read_node_facts(root, catalog, s);
    read_parallelism(root, s);
    read_kv(root, s);
    read_storage(root, s);
    s.system = root.optional_one_of("system", system_names).value_or("dualpath");
    expand_system(s.system, s.control);
    read_control(root, s);
    if (const auto qos = root.optional_one_of("qos", qos_names)) s.qos = *qos == "lanes";
    s.collectives = root.optional_boolean("collectives").value_or(true);
    read_workload(root, s);
    if (const auto slo = root.optional_value("slo")) s.slo = {slo->text(), slo->place()};
    if (const auto faults = root.optional_list("faults"); !faults.empty()) {
        const Layout layout = make_layout(s.shape);
        s.faults = read_faults(faults, layout, Topology{layout, achievable(s)});
    }
    root.finish();
    s.text = document.text();
    s.hash = 0xcbf29ce484222325U;
    for (const char c : s.text) s.hash = (s.hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return s;
}

}  // namespace

Scenario load_scenario(const std::filesystem::path& file, const ScenarioOptions& options) {
    return read_scenario(load_layered(file, options.assignments), file, std::nullopt);
}

Scenario load_recorded_scenario(const std::filesystem::path& scenario,
                                const std::filesystem::path& calibration) {
    return read_scenario(YamlDocument::load(scenario), scenario, calibration);
}

}  // namespace dualpath
