// What is a hit: whole blocks, of this branch, of this session or a shared prefix, once written.
#include "control/kv_index.h"

#include <gtest/gtest.h>

namespace dualpath {
namespace {

using namespace literals;

/// Blocks of 10 tokens.
class KvIndexOfTens : public testing::Test {
protected:
    static Request turn(std::uint32_t n, Tokens context, Tokens prompt) {
        return {.session = SessionId{3}, .turn = n, .context = context, .prompt = prompt};
    }
    KvIndex index{10_tok};
};

TEST_F(KvIndexOfTens, FirstTurnFindsNothing) {
    EXPECT_EQ(index.look_up(turn(0, 0_tok, 50_tok)), 0_tok);
}

TEST_F(KvIndexOfTens, WholeBlocksOfTheContextAreHits) {
    index.look_up(turn(0, 0_tok, 50_tok));
    index.written(turn(0, 0_tok, 50_tok), 57_tok);
    EXPECT_EQ(index.look_up(turn(1, 57_tok, 90_tok)), 50_tok);
}
// All 50 tokens are stored, but somebody must compute the next one: 49 tokens are 4 blocks.
TEST_F(KvIndexOfTens, OneTokenIsAlwaysLeftToCompute) {
    index.look_up(turn(0, 0_tok, 40_tok));
    index.written(turn(0, 0_tok, 40_tok), 50_tok);
    EXPECT_EQ(index.look_up(turn(1, 50_tok, 50_tok)), 40_tok);
    EXPECT_EQ(index.look_up(turn(1, 50_tok, 51_tok)), 50_tok);
}
// Turn 1 keeps 25 of 60 tokens: 20 are hits. What lay beyond is another branch, also for turn 2.
TEST_F(KvIndexOfTens, ShrunkContextBranches) {
    index.look_up(turn(0, 0_tok, 50_tok));
    index.written(turn(0, 0_tok, 50_tok), 60_tok);
    EXPECT_EQ(index.look_up(turn(1, 25_tok, 80_tok)), 20_tok);
    EXPECT_EQ(index.look_up(turn(2, 85_tok, 90_tok)), 20_tok);
}
TEST_F(KvIndexOfTens, WriteThatEndsAfterTheNextTurnCountsBelowItsBranch) {
    index.look_up(turn(0, 0_tok, 50_tok));
    EXPECT_EQ(index.look_up(turn(1, 25_tok, 80_tok)), 0_tok);
    index.written(turn(0, 0_tok, 50_tok), 60_tok);
    EXPECT_EQ(index.look_up(turn(2, 85_tok, 90_tok)), 20_tok);
}
// Turn 1 branched at 25; what turn 0 wrote beyond is not part of turn 2's context of 85.
TEST_F(KvIndexOfTens, WriteThatEndsTwoTurnsLateCountsBelowTheBranchBetween) {
    index.look_up(turn(0, 0_tok, 50_tok));
    index.look_up(turn(1, 25_tok, 80_tok));
    index.look_up(turn(2, 85_tok, 90_tok));
    index.written(turn(0, 0_tok, 50_tok), 60_tok);
    EXPECT_EQ(index.look_up(turn(3, 95_tok, 99_tok)), 20_tok);
}
// Turns faster than their writes: what comes late still counts, or no turn would ever hit.
TEST_F(KvIndexOfTens, WriteThatEndsTwoTurnsLateCountsWhereNoneBranched) {
    index.look_up(turn(0, 0_tok, 50_tok));
    index.look_up(turn(1, 60_tok, 80_tok));
    index.look_up(turn(2, 85_tok, 90_tok));
    index.written(turn(0, 0_tok, 50_tok), 60_tok);
    EXPECT_EQ(index.look_up(turn(3, 95_tok, 99_tok)), 60_tok);
}
TEST_F(KvIndexOfTens, NothingIsSharedWithOtherSessions) {
    index.look_up(turn(0, 0_tok, 50_tok));
    index.written(turn(0, 0_tok, 50_tok), 60_tok);
    Request other = turn(1, 60_tok, 90_tok);
    other.session = SessionId{4};
    EXPECT_EQ(index.look_up(other), 0_tok);
}
// The prefix of 35 tokens is shared in 3 whole blocks once one session has written it.
TEST_F(KvIndexOfTens, SharedPrefixIsAHitForEverySession) {
    Request one = turn(0, 35_tok, 50_tok);
    one.prefix = PrefixId{2};
    one.prefix_tokens = 35_tok;
    Request two = one;
    two.session = SessionId{8};
    EXPECT_EQ(index.look_up(one), 0_tok);
    EXPECT_EQ(index.look_up(two), 0_tok);
    index.written(one, 52_tok);
    EXPECT_EQ(index.look_up(two), 30_tok);
    Request stranger = two;
    stranger.session = SessionId{9};
    stranger.prefix = PrefixId{1};
    EXPECT_EQ(index.look_up(stranger), 0_tok);
}
TEST_F(KvIndexOfTens, NewWeightsMakeEverythingAMiss) {
    index.look_up(turn(0, 0_tok, 50_tok));
    index.written(turn(0, 0_tok, 50_tok), 60_tok);
    index.clear();
    EXPECT_EQ(index.look_up(turn(1, 60_tok, 90_tok)), 0_tok);
}

}  // namespace
}  // namespace dualpath
