// dualpath run: simulates one scenario and leaves a run folder.
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "analysis/summary.h"
#include "cli/command.h"
#include "cli/host.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/simulation.h"
#include "cli/trace_source.h"

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
        "slo", po::value<std::string>(),
        "limits on latency statistics, ttft_s.mean=4,tpot_s.p99=0.05; default paper")(
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
    constexpr std::array<std::pair<const char*, const char*>, 5> shorthands{
        {{"system", "system"},
         {"agents", "workload.agents"},
         {"seed", "seed"},
         {"calibration", "calibration"},
         {"slo", "slo"}}};
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
    Simulation simulation{scenario, std::move(trace.trajectories),
                          FolderSettings{options.out, options.event_log}};
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
    if (end == RunEnd::too_long) {
        fmt::print(stderr,
                   "dualpath: not done after {} days of simulated time: a rate is too low for this "
                   "trace; {} holds what was done until then\n",
                   std::chrono::duration_cast<std::chrono::hours>(longest_run).count() / 24,
                   options.out.string());
        return check_failed;
    }
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
