// dualpath run: simulates one scenario and leaves a run folder.
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "analysis/metrics.h"
#include "analysis/run_folder.h"
#include "analysis/run_hash.h"
#include "analysis/summary.h"
#include "base/input_error.h"
#include "cli/command.h"
#include "cli/host.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/trace_source.h"
#include "control/run.h"
#include "scenarios/assembly.h"
#include "sim/sim_world.h"
#include "workload/agents.h"

namespace dualpath::cli {
namespace {

namespace po = boost::program_options;

struct RunOptions {
    std::string scenario;
    std::vector<std::string> assignments;
    std::filesystem::path out;
    bool json = false, quiet = false, event_log = true;
};

Usage usage() {
    Usage u{.line = "dualpath run SCENARIO [options]",
            .about = "Simulates one scenario: a table on the terminal, a run folder on disk.",
            .examples =
                "  dualpath run scenarios/quickstart.yaml\n"
                "  dualpath run scenarios/paper/ds660b.yaml --system basic --agents 2048\n"
                "  dualpath run scenarios/paper/ds660b.yaml --set cluster.prefill_nodes=4 "
                "--set 'node.snic=200 Gb/s'\n"};
    u.options.add_options()("help", "this text")(
        "set", po::value<std::vector<std::string>>()->composing(),
        "KEY=VALUE: any value of the scenario, by its YAML path; may be repeated")(
        "system", po::value<std::string>(), "basic, dualpath or oracle")(
        "agents", po::value<std::string>(), "number of agents")(
        "seed", po::value<std::string>(), "random seed")("calibration", po::value<std::string>(),
                                                         "name or file of a calibration")(
        "out", po::value<std::string>(), "run folder; default runs/NAME")(
        "no-event-log", "leave out events.log: such a run cannot be replayed")(
        "json", "print the summary as one JSON object and nothing else")("quiet",
                                                                         "no progress, no table");
    u.hidden.add_options()("scenario", po::value<std::string>()->required());
    u.positions.add("scenario", 1);
    return u;
}

/// `--agents N` and the like are short for `--set`; they come last, so they win.
RunOptions read_options(const po::variables_map& values) {
    RunOptions o{.scenario = values["scenario"].as<std::string>()};
    if (values.count("set")) o.assignments = values["set"].as<std::vector<std::string>>();
    constexpr std::array<std::pair<const char*, const char*>, 4> shorthands{
        {{"system", "system"},
         {"agents", "workload.agents"},
         {"seed", "seed"},
         {"calibration", "calibration"}}};
    for (const auto& [option, key] : shorthands) {
        if (values.count(option)) {
            o.assignments.push_back(fmt::format("{}={}", key, values[option].as<std::string>()));
        }
    }
    o.json = values.count("json") > 0;
    o.quiet = values.count("quiet") > 0;
    o.event_log = values.count("no-event-log") == 0;
    if (values.count("out")) o.out = values["out"].as<std::string>();
    return o;
}

std::vector<std::uint32_t> group_sizes(const Layout& layout) {
    std::vector<std::uint32_t> sizes;
    for (const auto& engines : layout.expert_groups) {
        sizes.push_back(static_cast<std::uint32_t>(engines.size()));
    }
    return sizes;
}

sim::SimSettings sim_settings(const Scenario& s) {
    return {.lanes = s.qos ? sim::Network::Lanes::two : sim::Network::Lanes::one,
            .layers = static_cast<std::uint16_t>(s.llm.layers),
            .control_latency = s.control_latency,
            .storage_latency = s.storage.latency,
            .collectives = s.collectives};
}

/// One simulation with all that watches it.
class Simulation {
public:
    Simulation(const Scenario& scenario, std::vector<Trajectory> trajectories,
               const RunOptions& options)
        : scenario_{scenario},
          assembly_{scenario},
          agents_{std::move(trajectories), scenario.workload},
          topology_{assembly_.layout, assembly_.capacities},
          control_{assembly_.control_facts(), assembly_.control, assembly_.model},
          columns_{sim::resource_columns(assembly_.layout, topology_)} {
        assembly_.require_fits(agents_.longest());
        check_run_folder(options.out);
        folder_.emplace(RunFolderInputs{options.out, scenario.text, scenario.calibration_text,
                                        columns_, options.event_log});
        metrics_.emplace(
            MetricsInputs{.columns = columns_,
                          .engines_by_group = group_sizes(assembly_.layout),
                          .memory = [this] { return control_.memory_use(); },
                          .ended = [this](const RequestRecord& record) { folder_->add(record); },
                          .snics_per_node = 1.0 * scenario.node.snic_count});
        windows_.emplace(std::vector<ResourceObserver*>{&*metrics_, &*folder_});
        world_.emplace(assembly_.layout, topology_, assembly_.model, sim_settings(scenario),
                       &*windows_);
        world_->plan(scenario.faults);
    }

    RunEnd run(Progress& progress) {
        std::vector<RunObserver*> observers{&hash_, &*metrics_};
        if (folder_->event_log()) observers.push_back(folder_->event_log());
        std::uint64_t events = 0;
        const RunEnd end = dualpath::run(*world_, control_, agents_, observers, [&] {
            if (++events % 1024 != 0) return false;
            if (progress.due()) {
                progress.show({world_->now(), agents_.agents_done(), agents_.agents(),
                               agents_.requests_done(), agents_.requests_total()});
                folder_->checkpoint(summary(RunEnd::stopped));
            }
            return stop_requested();
        });
        world_->close_windows();
        progress.finish();
        return end;
    }

    nlohmann::ordered_json summary(RunEnd end) const {
        return dualpath::summary(*metrics_,
                                 {.scenario = scenario_.name,
                                  .scenario_hash = fmt::format("{:016x}", scenario_.hash),
                                  .seed = scenario_.seed.value,
                                  .version = DUALPATH_VERSION,
                                  .calibration = scenario_.calibration.name,
                                  .system = scenario_.system,
                                  .agents = agents_.agents(),
                                  .events = hash_.events(),
                                  .flows = world_->network().flows_started(),
                                  .events_hash = hash_.hex(),
                                  .complete = end == RunEnd::complete});
    }

    RunFolder& folder() { return *folder_; }
    const Agents& agents() const { return agents_; }

private:
    const Scenario& scenario_;
    Assembly assembly_;
    Agents agents_;
    Topology topology_;
    DualPathControl control_;
    std::vector<ResourceColumn> columns_;
    RunHash hash_;
    std::optional<RunFolder> folder_;
    std::optional<Metrics> metrics_;
    std::optional<ResourceFanOut> windows_;
    std::optional<sim::SimWorld> world_;
};

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
    const auto values = parse_options(usage(), arguments);
    if (!values) return done;
    RunOptions options = read_options(*values);
    const Scenario scenario = load_scenario(options.scenario, {options.assignments});
    if (options.out.empty()) options.out = std::filesystem::path{"runs"} / scenario.name;
    LoadedTrace trace = load_trace(scenario);
    const bool talk = !options.quiet && !options.json;
    if (talk) {
        for (const std::string& note : trace.notes) fmt::print(stderr, "{}\n", note);
    }
    watch_signals();
    Simulation simulation{scenario, std::move(trace.trajectories), options};
    Progress progress{Progress::suitable(!talk)};
    const RunEnd end = simulation.run(progress);
    auto summary = simulation.summary(end);
    const auto host = host_facts();
    simulation.folder().finish(summary, host);
    if (options.json) {
        summary["host"] = host;
        fmt::print("{}\n", summary.dump(2));
    } else if (talk) {
        fmt::print("{}", table(summary));
        fmt::print("\nrun folder: {}   seed={} events_hash={}\n", options.out.string(),
                   scenario.seed.value, summary["events_hash"].get<std::string>());
    }
    if (end == RunEnd::complete) return done;
    if (end == RunEnd::stranded) {
        fmt::print(stderr,
                   "dualpath: {} of {} requests were never served: nothing is left that could "
                   "happen (are the engines they need lost for ever?); {} holds what was done\n",
                   simulation.agents().requests_total() - simulation.agents().requests_done(),
                   simulation.agents().requests_total(), options.out.string());
        return check_failed;
    }
    fmt::print(stderr, "dualpath: stopped by a signal; {} holds what was done until then\n",
               options.out.string());
    return stopped;
}

}  // namespace dualpath::cli
