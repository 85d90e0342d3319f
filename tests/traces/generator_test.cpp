// The generated population has the paper's Table 2, cut at each of its lengths.
#include "traces/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/population_statistics.h"

namespace dualpath {
namespace {

using namespace literals;
using ::testing::HasSubstr;

std::vector<Trajectory> cut_all(std::vector<Trajectory> trajectories, Tokens max_len) {
    for (Trajectory& trajectory : trajectories) trajectory = cut_to(std::move(trajectory), max_len);
    return trajectories;
}

/// A row of Table 2 (500 trajectories each).
struct Row {
    const char* name;
    Tokens max_len;
    PopulationStatistics paper;
};

const Row kRows[]{
    {"MaxLen32K", 32_tok * 1024, {60, 608, 148, 28'639, 17'183}},
    {"MaxLen48K", 48_tok * 1024, {106, 474, 172, 42'607, 25'120}},
    {"MaxLen64K", 64_tok * 1024, {157, 429, 176, 55'958, 32'721}},
};

void expect_within_five_percent(const PopulationStatistics& reached,
                                const PopulationStatistics& paper) {
    EXPECT_NEAR(reached.turns, paper.turns, 0.05 * paper.turns);
    EXPECT_NEAR(reached.append, paper.append, 0.05 * paper.append);
    EXPECT_NEAR(reached.output, paper.output, 0.05 * paper.output);
    EXPECT_NEAR(reached.total, paper.total, 0.05 * paper.total);
    EXPECT_NEAR(reached.context, paper.context, 0.05 * paper.context);
}

class Table2 : public ::testing::TestWithParam<Row> {};

TEST_P(Table2, AllFiveColumnsAreReachedWithinFivePercentWithTenSeeds) {
    const Row& row = GetParam();
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        const auto population = generate(table2_population(), 500, Seed{seed});
        expect_within_five_percent(statistics(cut_all(population, row.max_len)), row.paper);
    }
}

// turns x (append + output) = 45,360 / 68,476 / 94,985 in the paper: 1.58 / 1.61 / 1.70 times the
// total, which only short trajectories with long appends and outputs can explain.
TEST_P(Table2, ColumnsDoNotMultiplyOut) {
    const auto cut = cut_all(generate(table2_population(), 500, Seed{1}), GetParam().max_len);
    const PopulationStatistics reached = statistics(cut);
    const double overshoot = reached.turns * (reached.append + reached.output) / reached.total;
    EXPECT_GT(overshoot, 1.45);
    EXPECT_LT(overshoot, 1.80);
}

INSTANTIATE_TEST_SUITE_P(Rows, Table2, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

// The paper's cluster sees about 264 appended and 100 generated tokens per turn at 64K.
TEST(Generator, TurnsAt64KLookLikeThePapersToTheHardware) {
    double append = 0;
    double output = 0;
    double turns = 0;
    for (const Trajectory& trajectory :
         cut_all(generate(table2_population(), 500, Seed{1}), 65'536_tok)) {
        for (const Turn& turn : trajectory.turns) {
            append += static_cast<double>(turn.append.value);
            output += static_cast<double>(turn.output.value);
            ++turns;
        }
    }
    EXPECT_NEAR(append / turns, 264, 0.1 * 264);
    EXPECT_NEAR(output / turns, 100, 0.1 * 100);
}

// Early finishers are those below 40 turns; the others' turn counts at 64K vary by a third and none
// is three times their mean: the longest trajectory decides how long a batch takes.
TEST(Generator, TurnCountsAreATightBulkWithEarlyFinishers) {
    std::vector<double> bulk;
    for (const Trajectory& trajectory :
         cut_all(generate(table2_population(), 500, Seed{1}), 65'536_tok)) {
        if (trajectory.turns.size() >= 40)
            bulk.push_back(static_cast<double>(trajectory.turns.size()));
    }
    const auto count = static_cast<double>(bulk.size());
    EXPECT_GT(count, 0.80 * 500);
    EXPECT_LT(count, 0.88 * 500);
    double mean = 0;
    for (const double turns : bulk) mean += turns / count;
    double variance = 0;
    for (const double turns : bulk) variance += (turns - mean) * (turns - mean) / count;
    EXPECT_NEAR(std::sqrt(variance) / mean, 0.33, 0.06);
    EXPECT_LT(*std::ranges::max_element(bulk), 3 * mean);
}

TEST(Generator, SameSeedGivesTheSameTrajectories) {
    const auto population = table2_population();
    EXPECT_EQ(generate(population, 20, Seed{7}), generate(population, 20, Seed{7}));
    EXPECT_NE(generate(population, 20, Seed{7}), generate(population, 20, Seed{8}));
}

TEST(Generator, FirstTrajectoriesDoNotDependOnHowManyFollow) {
    const auto few = generate(table2_population(), 20, Seed{7});
    const auto many = generate(table2_population(), 40, Seed{7});
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(Generator, ToolsTakeNoTimeAndNoPrefixIsShared) {
    for (const Trajectory& trajectory : generate(table2_population(), 20, Seed{1})) {
        EXPECT_TRUE(trajectory.prefix.empty());
        for (const Turn& turn : trajectory.turns) EXPECT_EQ(turn.tool_latency, Duration{});
    }
}

TEST(Generator, DescriptionStatesTheDistributions) {
    const std::string text = describe(table2_population());
    EXPECT_THAT(text, HasSubstr("log-normal"));
    EXPECT_THAT(text, HasSubstr("early finishers"));
    EXPECT_LT(text.size(), 1200U);
}

}  // namespace
}  // namespace dualpath
