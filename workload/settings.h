// What a scenario says about its agents.
#pragma once

#include <cstdint>
#include <optional>

#include "base/rng.h"
#include "base/units.h"

namespace dualpath {

struct WorkloadSettings {
    std::uint32_t agents = 1;
    /// closed: all agents start at 0. poisson: they arrive at `agents_per_second`. recorded: at the
    /// trace's own arrival times.
    enum class Arrivals { closed, poisson, recorded } arrivals = Arrivals::closed;
    double agents_per_second = 0;
    std::optional<Tokens> max_len;  ///< trajectories are cut where prompt + output would exceed it
    /// From the end of a turn to the next submission; nullopt: as recorded (unknown counts as 0).
    std::optional<Duration> tool_latency;
    Duration client_latency{};  ///< added to each tool latency: client and sandbox
    double append_scale = 1, generation_scale = 1;  ///< applied before the cut
    Tokens random_round{64};   ///< first prompt of agents that replay a trajectory again
    Tokens max_output{32768};  ///< the client's limit, told to control
    Seed seed;
};

}  // namespace dualpath
