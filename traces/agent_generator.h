// Equal agents with a long private first prompt: the workload simulators are compared on.
#pragma once

#include <cstddef>
#include <vector>

#include "base/rng.h"
#include "traces/trajectory.h"

namespace dualpath {

/// Normal, rounded to whole tokens and held between `lowest` and `highest`. All in tokens.
struct ClippedNormal {
    double mean;
    double deviation;  ///< standard deviation before clipping
    double lowest;
    double highest;
};

/// The defaults are those of scenarios/bench/agents.yaml: with 64 agents 1,920 turns and about
/// 49 M prompt tokens.
struct AgentParameters {
    std::size_t turns = 30;
    Tokens first_prompt{16'384};  ///< in the first turn, before its append; shared with nobody
    ClippedNormal append{.mean = 429, .deviation = 100, .lowest = 64, .highest = 2048};
    ClippedNormal output{.mean = 176, .deviation = 60, .lowest = 8, .highest = 1024};
    Duration tool_latency = std::chrono::seconds{2};
};

/// `count` trajectories of `parameters.turns` turns each, without prefix.
std::vector<Trajectory> generate_agents(const AgentParameters& parameters, std::size_t count,
                                        Seed seed);

}  // namespace dualpath
