// Draws appends and outputs of equal agents.
#include "traces/agent_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dualpath {
namespace {

Tokens draw(const ClippedNormal& from, Rng& rng) {
    const double value = from.mean + from.deviation * rng.normal();
    return {std::llround(std::clamp(value, from.lowest, from.highest))};
}

}  // namespace

std::vector<Trajectory> generate_agents(const AgentParameters& parameters, std::size_t count,
                                        Seed seed) {
    Rng append{seed, "agent_append"};
    Rng output{seed, "agent_output"};
    std::vector<Trajectory> agents(count);
    for (std::size_t i = 0; i < count; ++i) {
        agents[i].session_id = fmt::format("agent_{}", i);
        for (std::size_t turn = 0; turn < parameters.turns; ++turn) {
            const Tokens opening = turn == 0 ? parameters.first_prompt : Tokens{};
            agents[i].turns.push_back({.append = opening + draw(parameters.append, append),
                                       .output = draw(parameters.output, output),
                                       .tool_latency = parameters.tool_latency,
                                       .keep = {}});
        }
    }
    return agents;
}

}  // namespace dualpath
