// The workload simulators are compared on.
#include "traces/agent_generator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace dualpath {
namespace {

using namespace literals;
using namespace std::chrono_literals;

// Prompt of turn i: 16,384 + 429 (i + 1) + 176 i in the mean. Over 30 turns: 30 x 16,384
// + 429 x 465 + 176 x 435 = 767,565; times 64 agents 49.1 M.
TEST(AgentGenerator, DefaultsAreTheBenchmarksAgents) {
    const auto agents = generate_agents({}, 64, Seed{1});
    Tokens prompts;
    std::size_t turns = 0;
    for (const Trajectory& agent : agents) {
        turns += agent.turns.size();
        for (const TurnLengths& lengths : turn_lengths(agent)) prompts += lengths.prompt;
    }
    EXPECT_EQ(turns, 1920U);
    EXPECT_NEAR(static_cast<double>(prompts.value), 49.1e6, 0.01 * 49.1e6);
}

TEST(AgentGenerator, LengthsStayWithinTheirBounds) {
    AgentParameters wild;
    wild.append.deviation = 5000;
    wild.output.deviation = 5000;
    for (const Trajectory& agent : generate_agents(wild, 10, Seed{1})) {
        EXPECT_GE(agent.turns[0].append, 16'384_tok + 64_tok);
        for (std::size_t i = 1; i < agent.turns.size(); ++i) {
            EXPECT_GE(agent.turns[i].append, 64_tok);
            EXPECT_LE(agent.turns[i].append, 2048_tok);
            EXPECT_GE(agent.turns[i].output, 8_tok);
            EXPECT_LE(agent.turns[i].output, 1024_tok);
        }
    }
}

TEST(AgentGenerator, EveryTurnWaitsForItsTool) {
    const auto agents = generate_agents({}, 1, Seed{1});
    for (const Turn& turn : agents[0].turns) EXPECT_EQ(turn.tool_latency, 2s);
}

TEST(AgentGenerator, SameSeedGivesTheSameAgents) {
    EXPECT_EQ(generate_agents({}, 5, Seed{3}), generate_agents({}, 5, Seed{3}));
    EXPECT_NE(generate_agents({}, 5, Seed{3}), generate_agents({}, 5, Seed{4}));
}

}  // namespace
}  // namespace dualpath
