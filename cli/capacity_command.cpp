// dualpath capacity: the highest load at which a scenario meets its SLO.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/capacity_search.h"
#include "base/input_error.h"
#include "cli/capacity_probe.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "scenarios/scenario.h"

namespace dualpath::cli {
namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;
using By = ProbeSettings::By;

/// Thrown through the search when a signal asks to stop; caught in capacity_command.
struct Stopped {};

Usage usage() {
    Usage u{.line = "dualpath capacity SCENARIO [options]",
            .about =
                "The highest load that meets the SLO, by bisection; each probe simulates the\n"
                "whole scenario. By rate: agents arrive as a Poisson process for 45 minutes, and\n"
                "the SLO is held against the requests between warm-up and drain. By agents: so\n"
                "many start at once (closed loop), and the SLO is held against all requests.",
            .examples =
                "  dualpath capacity scenarios/paper/ds27b.yaml --set workload.max_len=32K\n"
                "  dualpath capacity scenarios/paper/ds660b.yaml --system basic --seeds 3\n"
                "  dualpath capacity scenarios/quickstart.yaml --by agents --slo ttft_s.p99=30\n"};
    u.options.add_options()("help", "this text")(
        "slo", po::value<std::string>(),
        "METRIC.STATISTIC=SECONDS,... (ttft_s, ttst_s, tpot_s, trajectory_s; mean, p50, p90, p99); "
        "default the scenario's, or paper: ttft_s.mean=4,tpot_s.mean=0.05")(
        "set", po::value<std::vector<std::string>>()->composing(),
        "KEY=VALUE: any value of the scenario, by its YAML path; may be repeated")(
        "system", po::value<std::string>(), "basic, dualpath or oracle")(
        "by", po::value<std::string>()->default_value("rate"),
        "rate (agents per second) or agents")("from", po::value<double>(), "lowest load to try")(
        "to", po::value<double>(), "highest load to try")(
        "tolerance", po::value<double>()->default_value(0.02, "0.02"),
        "the result is within this share of the truth")("seed", po::value<std::uint64_t>(),
                                                        "first random seed")(
        "seeds", po::value<int>()->default_value(1), "that many searches, a seed each: min..max")(
        ",j", po::value<int>(), "accepted and ignored")("json", "print one JSON object")(
        "quiet", "print nothing");
    u.hidden.add_options()("scenario", po::value<std::string>()->required());
    u.positions.add("scenario", 1);
    return u;
}

struct CapacityOptions {
    ProbeSettings probe;
    SearchSettings search;
    std::string name, slo;
    int seeds = 1;
    bool talk = true, json = false;

    const char* unit() const { return probe.by == By::rate ? "agents/s" : "agents"; }
};

std::optional<double> load_option(const po::variables_map& values, const char* name, By by) {
    if (!values.count(name)) return std::nullopt;
    const double load = values[name].as<double>();
    const bool whole = load >= 1 && load <= 1e8 && load == std::floor(load);
    if (by == By::agents ? !whole : !(load > 0 && load <= 1e6)) {
        throw InputError{
            Place{.field = fmt::format("--{}", name)}, fmt::format("{} is no load", load),
            by == By::agents ? "a whole number of agents from 1 on" : "agents per second above 0"};
    }
    return load;
}

SearchSettings read_search(const po::variables_map& values, By by, const WorkloadSettings& w) {
    SearchSettings search{.from = load_option(values, "from", by),
                          .to = load_option(values, "to", by),
                          .tolerance = values["tolerance"].as<double>()};
    const double given = by == By::rate ? w.agents_per_second : w.agents;
    search.start = given > 0 ? given : 0.1;
    if (by == By::agents) search.loads = SearchSettings::Loads::whole;
    if (search.from && search.to && *search.from >= *search.to) {
        throw InputError{Place{.field = "--to"}, "is not above --from", "a higher load"};
    }
    if (!(search.tolerance > 0 && search.tolerance < 1)) {
        throw InputError{Place{.field = "--tolerance"}, "is no share", "above 0, below 1"};
    }
    return search;
}

/// Reads the scenario once as it stands, so that what is wrong is told before the first probe.
CapacityOptions read_options(const po::variables_map& values) {
    CapacityOptions o;
    const std::string by = values["by"].as<std::string>();
    if (by != "rate" && by != "agents") {
        throw InputError{Place{.field = "--by"}, fmt::format("'{}' is no kind of load", by),
                         "rate, agents"};
    }
    o.probe.by = by == "rate" ? By::rate : By::agents;
    o.probe.scenario = values["scenario"].as<std::string>();
    if (values.count("set")) o.probe.assignments = values["set"].as<std::vector<std::string>>();
    for (const char* key : {"system", "slo"}) {
        if (values.count(key)) {
            o.probe.assignments.push_back(fmt::format("{}={}", key, values[key].as<std::string>()));
        }
    }
    const Scenario scenario = load_scenario(o.probe.scenario, {o.probe.assignments});
    o.name = fmt::format("{}  system {}", scenario.name, scenario.system);
    o.slo = parse_slo(scenario.slo.text, scenario.slo.place).text();
    o.probe.seed = values.count("seed") ? values["seed"].as<std::uint64_t>() : scenario.seed.value;
    o.search = read_search(values, o.probe.by, scenario.workload);
    o.seeds = values["seeds"].as<int>();
    if (o.seeds < 1) throw InputError{Place{.field = "--seeds"}, "is below 1", "1 or more"};
    o.json = values.count("json") > 0;
    o.talk = !o.json && values.count("quiet") == 0;
    return o;
}

std::string milliseconds(const std::optional<double>& seconds) {
    return seconds ? fmt::format("{:.1f} ms", 1000 * *seconds) : "-";
}

void print_probe(const ProbeResult& r, const char* unit) {
    const std::string ttft = r.ttft_s ? fmt::format("{:.3f} s", *r.ttft_s) : "-";
    fmt::print("  {:>9.4g} {}  seed {}  TTFT {:>9}  TPOT {:>9}  {}{}\n", r.load, unit, r.seed, ttft,
               milliseconds(r.tpot_s),
               r.met ? "met" : fmt::format("missed: {}", fmt::join(r.missed(), ", ")),
               r.early ? fmt::format(", given up at {:.0f} s", r.simulated_s) : "");
    std::fflush(stdout);
}

Json json_of(const ProbeResult& r) {
    const auto number = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
    return {{"load", r.load},
            {"seed", r.seed},
            {"agents", r.agents},
            {"simulated_s", r.simulated_s},
            {"ttft_s", number(r.ttft_s)},
            {"tpot_s", number(r.tpot_s)},
            {"overloaded", r.verdict == Verdict::overloaded},
            {"given_up", r.early},
            {"missed", r.missed()},
            {"met", r.met}};
}

/// All searches of one command, and what they found.
struct Searches {
    std::vector<ProbeResult> probes;
    std::vector<double> capacities;  ///< by seed; 0 when no load met
    bool open_end = false;           ///< a search met all that it probed
    std::vector<std::string> binding;

    double lowest() const { return *std::min_element(capacities.begin(), capacities.end()); }
    double highest() const { return *std::max_element(capacities.begin(), capacities.end()); }
    double mean() const {
        double sum = 0;
        for (const double capacity : capacities) sum += capacity;
        return sum / static_cast<double>(capacities.size());
    }
};

void search_one(const CapacityOptions& o, std::uint64_t seed, Searches& all) {
    SearchSettings search = o.search;
    if (!all.capacities.empty() && all.capacities.back() > 0) search.start = all.capacities.back();
    ProbeSettings settings = o.probe;
    settings.seed = seed;
    const SearchResult found = search_capacity(search, [&](double load) {
        all.probes.push_back(probe(settings, load));
        if (all.probes.back().end == RunEnd::stopped) throw Stopped{};
        if (o.talk) print_probe(all.probes.back(), o.unit());
        return all.probes.back().met;
    });
    all.capacities.push_back(found.met.value_or(0));
    all.open_end |= !found.missed.has_value();
    for (const ProbeResult& r : all.probes) {
        if (r.seed != seed || r.load != found.missed) continue;
        for (const std::string& name : r.missed()) {
            const auto known = std::find(all.binding.begin(), all.binding.end(), name);
            if (known == all.binding.end()) all.binding.push_back(name);
        }
    }
}

void print_result(const CapacityOptions& o, const Searches& all) {
    const std::string range = o.seeds > 1 ? fmt::format(" ({:.4g}..{:.4g} over {} seeds)",
                                                        all.lowest(), all.highest(), o.seeds)
                                          : "";
    const std::string binds = all.binding.empty()
                                  ? "no load tried misses the SLO"
                                  : fmt::format("binding: {}", fmt::join(all.binding, ", "));
    if (all.highest() > 0) {
        fmt::print("\ncapacity {}{:.4g} {}{}; {}\n", all.open_end ? "at least " : "", all.mean(),
                   o.unit(), range, binds);
    } else {
        fmt::print("\nno load tried meets the SLO; {}\n", binds);
    }
}

void print_json(const CapacityOptions& o, const Searches& all) {
    Json out{
        {"scenario", o.probe.scenario},
        {"slo", o.slo},
        {"by", o.probe.by == By::rate ? "rate" : "agents"},
        {o.probe.by == By::rate ? "capacity_agents_per_second" : "capacity_agents", all.mean()},
        {"min", all.lowest()},
        {"max", all.highest()},
        {"at_least", all.open_end},
        {"binding", all.binding},
        {"probes", Json::array()}};
    for (const ProbeResult& r : all.probes) out["probes"].push_back(json_of(r));
    fmt::print("{}\n", out.dump(2));
}

}  // namespace

int capacity_command(const std::vector<std::string>& arguments) {
    const auto values = parse_options(usage(), arguments);
    if (!values) return done;
    const CapacityOptions options = read_options(*values);
    if (options.talk) fmt::print("{}, SLO {}\n", options.name, options.slo);
    watch_signals();
    Searches all;
    try {
        for (int i = 0; i < options.seeds; ++i) {
            search_one(options, options.probe.seed + static_cast<std::uint64_t>(i), all);
        }
    } catch (const Stopped&) {
        fmt::print(stderr, "dualpath: stopped by a signal before the search was done\n");
        return stopped;
    }
    if (options.json)
        print_json(options, all);
    else if (options.talk)
        print_result(options, all);
    return all.highest() > 0 ? done : check_failed;
}

}  // namespace dualpath::cli
