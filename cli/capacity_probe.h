// CapacityProbe: does a scenario meet its SLO at one load?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics.h"
#include "control/run.h"

namespace dualpath::cli {

struct ProbeSettings {
    std::string scenario;
    std::vector<std::string> assignments;  ///< of the command line; the probe's own come behind
    enum class By : std::uint8_t { rate, agents } by = By::rate;
    std::uint64_t seed = 1;
};

struct ProbeResult {
    double load = 0;  ///< agents per second, or agents
    std::uint64_t seed = 1;
    std::uint64_t agents = 0;
    double simulated_s = 0;
    std::optional<double> ttft_s, tpot_s;  ///< means over what the SLO is held against
    Verdict verdict = Verdict::stable;
    std::vector<SloResult> limits;
    bool met = false;    ///< all limits, and not overloaded
    bool early = false;  ///< given up: see below
    RunEnd end = RunEnd::complete;

    /// The limits that are not met, or `overload` when only the verdict is against it.
    std::vector<std::string> missed() const;
};

/// By agents: that many at once, closed loop, to the end of the last.
///
/// By rate: Poisson arrivals for about 45 minutes of run time, so rate x 2700 s agents, at least
/// 50: the paper's steady state cannot be seen before 30 min + 150 s, and 10 minutes are left to
/// measure. Ends 60 s after the last agent's arrival: what comes later is drain. It is given up as
/// not met when, 5 minutes or more into it, TTFT over the last 150 s is above twice its limit (4 s
/// if the SLO has none) while the backlog grows (analysis/backlog.h).
ProbeResult probe(const ProbeSettings& settings, double load);

}  // namespace dualpath::cli
