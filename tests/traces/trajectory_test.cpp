// Walking and cutting a trajectory.
#include "traces/trajectory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dualpath {
namespace {

using namespace literals;

Turn turn(Tokens append, Tokens output) {
    return {.append = append, .output = output, .tool_latency = {}, .keep = {}};
}

/// A system prompt of 100, then +10 -> 5, then +20 -> 6.
Trajectory two_turns() {
    Trajectory trajectory;
    trajectory.prefix = {{"tools", 70_tok}, {"system", 30_tok}};
    trajectory.turns = {turn(10_tok, 5_tok), turn(20_tok, 6_tok)};
    return trajectory;
}

TEST(Trajectory, ContextBeforeTheFirstTurnIsTheWholePrefix) {
    EXPECT_EQ(prefix_tokens(two_turns()), 100_tok);  // 70 + 30
    EXPECT_EQ(prefix_tokens({}), 0_tok);
}

// Turn 0 keeps the prefix of 100: prompt 110, end 115. Turn 1 keeps all: prompt 135, end 141.
TEST(Trajectory, TurnKeepsPreviousPromptAndOutput) {
    const std::vector<TurnLengths> expected{{.kept = 100_tok, .prompt = 110_tok, .end = 115_tok},
                                            {.kept = 115_tok, .prompt = 135_tok, .end = 141_tok}};
    EXPECT_EQ(turn_lengths(two_turns()), expected);
    EXPECT_EQ(total_tokens(two_turns()), 141_tok);
}

// Of the 115 tokens before turn 1 only 40 survive: prompt 40 + 20, end 66.
TEST(Trajectory, CompactedContextShortensThePrompt) {
    Trajectory trajectory = two_turns();
    trajectory.turns[1].keep = 40_tok;
    const TurnLengths expected{.kept = 40_tok, .prompt = 60_tok, .end = 66_tok};
    EXPECT_EQ(turn_lengths(trajectory)[1], expected);
}

TEST(Trajectory, WithoutTurnsHasNoTokensAtItsEnd) { EXPECT_EQ(total_tokens({}), 0_tok); }

// The turns end at 115 and 141: a limit is met by equality.
TEST(Trajectory, CutDropsTheFirstTurnThatIsTooLong) {
    EXPECT_EQ(cut_to(two_turns(), 141_tok), two_turns());
    EXPECT_EQ(cut_to(two_turns(), 140_tok).turns.size(), 1U);
    EXPECT_EQ(cut_to(two_turns(), 115_tok).turns.size(), 1U);
    EXPECT_TRUE(cut_to(two_turns(), 114_tok).turns.empty());
}

// Turn 1 is too long for 130, turn 2 (compacted to 1 + 1 + 1 = 3) would fit again.
TEST(Trajectory, CutDropsLaterTurnsEvenWhereTheyWouldFit) {
    Trajectory trajectory = two_turns();
    trajectory.turns.push_back(turn(1_tok, 1_tok));
    trajectory.turns[2].keep = 1_tok;
    EXPECT_EQ(cut_to(trajectory, 130_tok).turns.size(), 1U);
}

RC_GTEST_PROP(Trajectory, CutNeverExceedsMaxLenAndIsALeadingPart, ()) {
    Trajectory trajectory = two_turns();
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 5000), rc::gen::inRange(0, 5000)));
    for (const auto& [append, output] : steps) {
        trajectory.turns.push_back(turn(Tokens{append}, Tokens{output}));
    }
    const Tokens max_len{*rc::gen::inRange(0, 50'000)};
    const Trajectory cut = cut_to(trajectory, max_len);
    for (const TurnLengths& lengths : turn_lengths(cut)) RC_ASSERT(lengths.end <= max_len);
    RC_ASSERT(std::equal(cut.turns.begin(), cut.turns.end(), trajectory.turns.begin()));
    if (cut.turns.size() < trajectory.turns.size()) {
        RC_ASSERT(turn_lengths(trajectory)[cut.turns.size()].end > max_len);
    }
}

}  // namespace
}  // namespace dualpath
