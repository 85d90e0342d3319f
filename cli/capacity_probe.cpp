// CapacityProbe: does a scenario meet its SLO at one load?
#include "cli/capacity_probe.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/progress.h"
#include "cli/simulation.h"
#include "cli/trace_source.h"

namespace dualpath::cli {
namespace {

constexpr double arrivals_s = 2700;
constexpr double fewest_agents = 50, most_agents = 1e8;
constexpr Duration settle = std::chrono::seconds{60};
constexpr Instant first_doubt{std::chrono::minutes{5}};
constexpr double hopeless = 2;  // times the TTFT limit

std::vector<std::string> assignments(const ProbeSettings& settings, double load) {
    std::vector<std::string> all = settings.assignments;
    const bool by_rate = settings.by == ProbeSettings::By::rate;
    const double agents =
        by_rate ? std::clamp(std::ceil(load * arrivals_s), fewest_agents, most_agents) : load;
    all.push_back(fmt::format("seed={}", settings.seed));
    all.push_back(fmt::format("workload.agents={:.0f}", agents));
    all.push_back(fmt::format("workload.arrivals={}", by_rate ? "poisson" : "closed"));
    if (by_rate) all.push_back(fmt::format("workload.agents_per_second={:.12g}", load));
    return all;
}

bool is_hopeless(const Metrics& metrics, Instant now) {
    const auto ttft = metrics.steady_state().window_mean();
    return now >= first_doubt && ttft && *ttft > hopeless * metrics.slo().ttft_s() &&
           metrics.backlog().growing();
}

std::optional<double> mean(const Distribution& d) {
    return d.count() > 0 ? std::optional{d.mean()} : std::nullopt;
}

}  // namespace

std::vector<std::string> ProbeResult::missed() const {
    std::vector<std::string> names;
    for (const SloResult& limit : limits) {
        if (!limit.met) names.push_back(limit.limit.name());
    }
    if (names.empty() && !met) names.emplace_back("overload");
    return names;
}

ProbeResult probe(const ProbeSettings& settings, double load) {
    const Scenario scenario = load_scenario(settings.scenario, {assignments(settings, load)});
    Simulation simulation{scenario, load_trace(scenario).trajectories, std::nullopt};
    const Metrics& metrics = simulation.metrics();
    ProbeResult result{.load = load, .seed = settings.seed, .agents = simulation.agents().agents()};
    bool enough = false;
    Progress silent{Progress::Output::none};
    result.end = simulation.run(silent, [&] {
        if (settings.by == ProbeSettings::By::agents) return false;
        const bool all = metrics.backlog().agents_arrived() == result.agents;
        result.early = !all && is_hopeless(metrics, simulation.now());
        enough =
            result.early || (all && simulation.now() >= metrics.backlog().last_agent() + settle);
        return enough;
    });
    if (enough) result.end = RunEnd::complete;
    result.simulated_s = to_seconds(simulation.now());
    const auto steady = metrics.steady();
    result.ttft_s = mean(steady ? steady->latencies.ttft : metrics.ttft());
    result.tpot_s = mean(steady ? steady->latencies.tpot : metrics.tpot());
    result.verdict = metrics.verdict();
    result.limits = metrics.slo_results();
    result.met = !result.early && all_met(result.limits) && result.verdict != Verdict::overloaded;
    return result;
}

}  // namespace dualpath::cli
