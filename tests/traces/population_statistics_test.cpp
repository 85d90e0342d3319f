// The columns of Table 2 on trajectories small enough to count by hand.
#include "traces/population_statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace dualpath {
namespace {

using namespace literals;

Trajectory with_turns(std::vector<Turn> turns) {
    Trajectory trajectory;
    trajectory.turns = std::move(turns);
    return trajectory;
}

// One turn 100 -> 10, and three turns 40 -> 4, 20 -> 4, 30 -> 4. Appends: 100 and (40 + 20 + 30) /
// 3 = 30, so 65 (pooled it would be 47.5). Outputs: (10 + 4) / 2 = 7. Totals: 110 and 102.
// Contexts: 0 and (0 + 44 + 68) / 3 = 37.33, so 18.67.
TEST(PopulationStatistics, AverageOverTrajectoriesNotOverTurns) {
    const std::vector<Trajectory> population{
        with_turns({{100_tok, 10_tok, {}, {}}}),
        with_turns({{40_tok, 4_tok, {}, {}}, {20_tok, 4_tok, {}, {}}, {30_tok, 4_tok, {}, {}}})};
    const PopulationStatistics reached = statistics(population);
    EXPECT_DOUBLE_EQ(reached.turns, 2);
    EXPECT_DOUBLE_EQ(reached.append, 65);
    EXPECT_DOUBLE_EQ(reached.output, 7);
    EXPECT_DOUBLE_EQ(reached.total, 106);
    EXPECT_DOUBLE_EQ(reached.context, 112.0 / 6);
}

TEST(PopulationStatistics, TrajectoriesWithoutTurnsDoNotCount) {
    const std::vector<Trajectory> population{with_turns({{100_tok, 10_tok, {}, {}}}), {}};
    EXPECT_DOUBLE_EQ(statistics(population).turns, 1);
    EXPECT_DOUBLE_EQ(statistics({}).total, 0);
}

// A prefix is context, not append: 50 before the first turn.
TEST(PopulationStatistics, PrefixCountsAsContext) {
    Trajectory trajectory = with_turns({{100_tok, 10_tok, {}, {}}});
    trajectory.prefix = {{"system", 50_tok}};
    const PopulationStatistics reached = statistics({&trajectory, 1});
    EXPECT_DOUBLE_EQ(reached.append, 100);
    EXPECT_DOUBLE_EQ(reached.context, 50);
    EXPECT_DOUBLE_EQ(reached.total, 160);
}

}  // namespace
}  // namespace dualpath
