// A decode batch step by step: who is in it, what it holds, and who has finished.
#include "sim/decode_batch.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/control/small_cluster.h"

namespace dualpath::sim {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// Engines 4 and 5 decode together.
class BatchOfTwoRanks : public testing::Test {
protected:
    static RequestId request(std::uint32_t slot, std::uint32_t serial = 1) {
        return {slot, serial};
    }
    void join(RequestId id, std::uint32_t rank, Tokens context, std::uint32_t step, int output) {
        batch.join({id, EngineId{4 + rank}, context}, step, Tokens{output});
    }
    std::vector<RequestId> advance(std::uint32_t step) {
        std::vector<RequestId> finished;
        batch.advance(step, finished);
        return finished;
    }
    ComputeModel model{small_compute(1e9, 1, 2)};
    std::vector<EngineId> engines{EngineId{4}, EngineId{5}};
    DecodeBatch batch{engines, model};
};

TEST_F(BatchOfTwoRanks, EachStepAddsATokenToEveryContext) {
    join(request(0), 0, 100_tok, 1, 9);
    join(request(1), 1, 10_tok, 1, 9);
    join(request(2), 1, 20_tok, 1, 9);
    EXPECT_THAT(advance(1), IsEmpty());
    EXPECT_EQ(batch.ranks()[0].context_tokens, 101_tok);
    EXPECT_EQ(batch.ranks()[1].context_tokens, 32_tok);
    EXPECT_EQ(batch.ranks()[1].sequences, 2);
    EXPECT_EQ(batch.step_time(), model.decode_step(batch.ranks()));
}
// Joined before step 3 with 2 tokens to come: steps 3 and 4.
TEST_F(BatchOfTwoRanks, SequenceFinishesWithItsLastToken) {
    join(request(0), 0, 100_tok, 3, 2);
    EXPECT_THAT(advance(3), IsEmpty());
    EXPECT_THAT(advance(4), ElementsAre(request(0)));
    EXPECT_TRUE(batch.empty());
    EXPECT_EQ(batch.ranks()[0].context_tokens, 0_tok);
}
TEST_F(BatchOfTwoRanks, EqualEndsComeInOrderOfSlots) {
    join(request(2), 0, 1_tok, 1, 1);
    join(request(0), 1, 1_tok, 1, 1);
    EXPECT_THAT(advance(1), ElementsAre(request(0), request(2)));
}
// In steps 1 and 2 it produces two of five tokens; what it held leaves with it.
TEST_F(BatchOfTwoRanks, SequenceThatLeavesTellsWhatItProduced) {
    join(request(0), 0, 100_tok, 1, 5);
    advance(1);
    advance(2);
    EXPECT_EQ(batch.leave(request(0), 3), 2_tok);
    EXPECT_EQ(batch.ranks()[0].context_tokens, 0_tok);
    for (std::uint32_t step = 3; step < 8; ++step) EXPECT_THAT(advance(step), IsEmpty());
}
// It would have ended at step 5; back since step 4 with 3 tokens to come it ends at step 6.
TEST_F(BatchOfTwoRanks, EndForeseenInAnEarlierStayIsVoid) {
    join(request(0), 0, 100_tok, 1, 5);
    advance(1);
    advance(2);
    batch.leave(request(0), 3);
    advance(3);
    join(request(0), 1, 102_tok, 4, 3);
    EXPECT_THAT(advance(4), IsEmpty());
    EXPECT_THAT(advance(5), IsEmpty());
    EXPECT_THAT(advance(6), ElementsAre(request(0)));
}
TEST_F(BatchOfTwoRanks, AllLeaveAtOnceWithWhatTheyProduced) {
    join(request(0), 0, 100_tok, 1, 5);
    advance(1);
    join(request(1), 1, 10_tok, 2, 5);
    advance(2);
    EXPECT_THAT(batch.leave_all(3), ElementsAre(Pair(request(0), 2_tok), Pair(request(1), 1_tok)));
    EXPECT_TRUE(batch.empty());
    EXPECT_THAT(advance(3), IsEmpty());
}

/// The same kept the plain way: a token each for everyone.
struct Plain {
    Tokens context, left;
    std::uint32_t rank;
};

RC_GTEST_PROP(DecodeBatch, AgreesWithCountingEverySequence, ()) {
    const ComputeModel model{small_compute(1e9, 1, 2)};
    const std::vector<EngineId> engines{EngineId{4}, EngineId{5}};
    DecodeBatch batch{engines, model};
    std::map<RequestId, Plain> plain;
    for (std::uint32_t step = 1; step < 60; ++step) {
        const auto slot = static_cast<std::uint32_t>(*rc::gen::inRange(0, 6));
        const RequestId id{slot, 1};
        if (plain.contains(id)) {
            if (*rc::gen::inRange(0, 3) == 0) {
                batch.leave(id, step);
                plain.erase(id);
            }
        } else {
            const Tokens output{*rc::gen::inRange(1, 12)}, context{*rc::gen::inRange(1, 50)};
            const auto rank = static_cast<std::uint32_t>(*rc::gen::inRange(0, 2));
            batch.join({id, EngineId{4 + rank}, context}, step, output);
            plain[id] = {context, output, rank};
        }
        std::vector<RequestId> finished, expected;
        batch.advance(step, finished);
        std::vector<RankLoad> loads(2, RankLoad{0, 0_tok});
        for (auto& [member, state] : plain) {
            state.context += 1_tok;
            state.left -= 1_tok;
            if (state.left == 0_tok) expected.push_back(member);
        }
        for (const RequestId done : expected) plain.erase(done);
        for (const auto& [member, state] : plain) {
            ++loads[state.rank].sequences;
            loads[state.rank].context_tokens += state.context;
        }
        RC_ASSERT(finished == expected);
        for (std::size_t rank = 0; rank < 2; ++rank) {
            RC_ASSERT(batch.ranks()[rank].sequences == loads[rank].sequences);
            RC_ASSERT(batch.ranks()[rank].context_tokens == loads[rank].context_tokens);
        }
    }
}

}  // namespace
}  // namespace dualpath::sim
