// A request's life, hop by hop: what control commands, with the bytes worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/control/scripted_world.h"

namespace dualpath {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

ControlSettings on_path(const std::string& path) {
    ControlSettings s = small_settings();
    s.read_path = path;
    return s;
}

/// A cluster of one PE and one DE that has served a first turn: 111 tokens, 11 blocks in storage.
class ServedOnce : public ScriptedWorld {
public:
    explicit ServedOnce(const ControlSettings& settings,
                        ControlFacts facts = small_facts(small_shape(1, 1)))
        : ScriptedWorld{std::move(facts), settings} {
        fetch_all();
        arrive(first_turn(0, 100_tok), 11);
        settle();
        EXPECT_EQ(outcome(first_turn(0, 100_tok).id), Outcome::finished);
    }
};

/// Decode steps until the request has all its tokens.
void decode_to_the_end(ScriptedWorld& world, RequestId id) {
    while (!world.outcome(id)) world.end_step(de_group);
}

// Hit: 11 blocks = 110 tokens = 11,000 B. The other 40 of 150 tokens are computed. To the DE buffer
// go hit and miss, 15,000 B; all of it goes on to the DE's HBM. With 12 tokens of output 162 tokens
// are 16 whole blocks, of which storage has 11: 5,000 B are written.
TEST(RequestLife, PrefillReadPathMovesHitsThroughThePe) {
    ServedOnce world{on_path("prefill_only")};
    const Request request = second_turn(0, 150_tok);
    world.arrive(request, 12);

    const AssignRequest assigned = world.assigned().back();
    EXPECT_EQ(assigned.hit, 110_tok);
    EXPECT_EQ(assigned.path, ReadPath::prefill);
    EXPECT_EQ(world.hbm(1), 16'000_B);     // 150 + 10 estimated tokens, committed at once
    EXPECT_EQ(world.buffer(0), 11'000_B);  // the hits
    EXPECT_EQ(world.buffer(1), 15'000_B);  // the prompt

    const Transfer read = world.done(Movement::storage_to_host);
    EXPECT_EQ(read.size, 11'000_B);
    EXPECT_EQ(read.to, pe);
    ASSERT_THAT(world.step(pe_group).chunks, SizeIs(1));
    const Chunk chunk = world.step(pe_group).chunks[0];
    EXPECT_EQ(chunk.cached, 110_tok);
    EXPECT_EQ(chunk.tokens, 40_tok);
    EXPECT_EQ(chunk.end, Chunk::End::last);

    const Transfer load = world.done(Movement::host_to_hbm);
    EXPECT_EQ(load.size, 11'000_B);
    EXPECT_EQ(load.id, chunk.load);
    EXPECT_EQ(load.to, pe);
    ASSERT_THAT(world.flying(), SizeIs(1));
    EXPECT_EQ(world.flying()[0].after, After{world.step(pe_group).step.id});
    world.end_step(pe_group);
    EXPECT_EQ(world.buffer(0), 0_B);
    const Transfer send = world.done(Movement::hbm_to_peer_host);
    EXPECT_EQ(send.size, 15'000_B);
    EXPECT_EQ(send.from, pe);
    EXPECT_EQ(send.to, de);

    const Transfer stage = world.done(Movement::host_to_hbm);
    EXPECT_EQ(stage.size, 15'000_B);
    EXPECT_EQ(stage.to, de);
    EXPECT_EQ(world.buffer(1), 0_B);
    ASSERT_THAT(world.step(de_group).joins, SizeIs(1));
    EXPECT_EQ(world.step(de_group).joins[0].context, 150_tok);
    decode_to_the_end(world, request.id);

    EXPECT_EQ(world.hbm(1), 5'000_B);  // what is written stays until it is in host memory
    EXPECT_EQ(world.done(Movement::hbm_to_host).size, 5'000_B);
    EXPECT_EQ(world.hbm(1), 0_B);
    EXPECT_EQ(world.done(Movement::host_to_storage).size, 5'000_B);
    EXPECT_TRUE(world.control().at_rest());
}

// The DE reads: its buffer holds the hits already, so only the 40 misses (4,000 B) come back from
// the PE, and PE memory is not touched.
TEST(RequestLife, DecodeReadPathSendsOnlyMissesBack) {
    // Of one PE node and one DE node the round robin gives the first request to the DE side, the
    // second to the PE side, the third to the DE side.
    ServedOnce world{on_path("round_robin")};
    world.arrive(first_turn(1, 5_tok), 1);
    world.settle();
    const Request request = second_turn(0, 150_tok);
    world.arrive(request, 12);
    EXPECT_EQ(world.assigned().back().path, ReadPath::decode);
    EXPECT_EQ(world.buffer(0), 0_B);

    EXPECT_EQ(world.done(Movement::storage_to_host).to, de);
    const Transfer load = world.done(Movement::host_to_peer_hbm);
    EXPECT_EQ(load.size, 11'000_B);
    EXPECT_EQ(load.from, de);
    EXPECT_EQ(load.to, pe);
    world.end_step(pe_group);
    EXPECT_EQ(world.done(Movement::hbm_to_peer_host).size, 4'000_B);
    EXPECT_EQ(world.done(Movement::host_to_hbm).size, 15'000_B);
    decode_to_the_end(world, request.id);
    world.settle();
    EXPECT_TRUE(world.control().at_rest());
}

TEST(RequestLife, OracleMovesNothingAndStillHits) {
    ControlSettings settings = small_settings();
    settings.movements = ControlSettings::Movements::free;
    ServedOnce world{settings};
    world.arrive(second_turn(0, 150_tok), 2);
    EXPECT_THAT(world.flying(), IsEmpty());
    EXPECT_EQ(world.step(pe_group).chunks[0].cached, 110_tok);
    EXPECT_EQ(world.step(pe_group).chunks[0].load, std::nullopt);
    world.end_step(pe_group);
    EXPECT_THAT(world.flying(), IsEmpty());
    world.end_step(de_group);
    EXPECT_THAT(world.flying(), IsEmpty());
    EXPECT_TRUE(world.control().at_rest());
}

TEST(RequestLife, WholePromptLoadingHoldsPrefillHbmUntilSent) {
    ControlSettings settings = on_path("prefill_only");
    settings.loading = ControlSettings::Loading::whole_prompt;
    ServedOnce world{settings};
    world.arrive(second_turn(0, 150_tok), 2);
    EXPECT_EQ(world.hbm(0), 0_B);
    world.done(Movement::storage_to_host);
    EXPECT_EQ(world.hbm(0), 15'000_B);
    EXPECT_FALSE(world.runs(pe_group)) << "the whole prompt is loaded first";
    EXPECT_EQ(world.done(Movement::host_to_hbm).size, 11'000_B);
    EXPECT_EQ(world.step(pe_group).chunks[0].load, std::nullopt);
    world.end_step(pe_group);
    EXPECT_EQ(world.hbm(0), 15'000_B);
    world.done(Movement::hbm_to_peer_host);
    EXPECT_EQ(world.hbm(0), 0_B);
    world.settle();
    EXPECT_TRUE(world.control().at_rest());
}

TEST(RequestLife, WholePromptOfOneTokenHoldsPrefillHbmUntilSent) {
    ControlSettings settings = small_settings();
    settings.loading = ControlSettings::Loading::whole_prompt;
    ScriptedWorld world{small_facts(small_shape(1, 1)), settings};
    world.fetch_all();
    const Request request = first_turn(0, 100_tok);
    world.arrive(request, 1);
    world.end_step(pe_group);
    EXPECT_EQ(world.outcome(request.id), Outcome::finished);
    EXPECT_EQ(world.hbm(0), 10'000_B);
    world.done(Movement::hbm_to_peer_host);
    EXPECT_EQ(world.hbm(0), 0_B);
    world.settle();
    EXPECT_TRUE(world.control().at_rest());
}

// One pair of query and key costs 200 FLOP at 200 GFLOPS: 1 ns. n tokens behind c others are
// c * n + n (n + 1) / 2 pairs. Within 1,276 ns fit
//   50 behind 0: 1,275;   20 behind 50: 1,210 (21: 1,281);   16 behind 70: 1,256 (17: 1,343);
// then 14 are left behind 86: 1,309 do not fit, and 13 are below the smallest chunk, which is 14
// here: they are taken all the same. Each further chunk loads what was computed before it.
TEST(RequestLife, LongPromptIsCutIntoChunks) {
    ControlSettings settings = small_settings();
    settings.compute_quota = std::chrono::nanoseconds{1276};
    ScriptedWorld world{small_facts(small_shape(1, 1)), settings};
    world.fetch_all();
    const Request request = first_turn(0, 100_tok);
    world.arrive(request, 2);
    struct Part {
        Tokens cached, tokens;
        Bytes load, send;
        bool operator==(const Part&) const = default;
    };
    std::vector<Part> parts;
    while (world.runs(pe_group)) {
        const Chunk chunk = world.step(pe_group).chunks[0];
        Part part{chunk.cached, chunk.tokens, 0_B, 0_B};
        if (chunk.load) part.load = world.done(Movement::host_to_hbm).size;
        for (const StartTransfer& start : world.flying()) {
            if (start.after == After{world.step(pe_group).step.id}) part.send = start.transfer.size;
        }
        parts.push_back(part);
        world.end_step(pe_group);
    }
    EXPECT_THAT(parts, ElementsAre(Part{0_tok, 50_tok, 0_B, 5'000_B},
                                   Part{50_tok, 20_tok, 5'000_B, 2'000_B},
                                   Part{70_tok, 16_tok, 7'000_B, 1'600_B},
                                   Part{86_tok, 14_tok, 8'600_B, 1'400_B}));
    EXPECT_FALSE(world.flies(Movement::host_to_hbm)) << "the prompt is not complete on the DE side";
    world.settle();
    EXPECT_EQ(world.outcome(request.id), Outcome::finished);
    EXPECT_TRUE(world.control().at_rest());
}

// 101 tokens are 10 blocks. They are in the DE buffer once the send is done: no hop from the DE.
TEST(RequestLife, OneTokenFinishesAtPrefillAndIsWrittenFromTheBuffer) {
    ScriptedWorld world{small_facts(small_shape(1, 1))};
    world.fetch_all();
    const Request request = first_turn(0, 100_tok);
    world.arrive(request, 1);
    world.end_step(pe_group);
    EXPECT_EQ(world.outcome(request.id), Outcome::finished);
    EXPECT_EQ(world.hbm(1), 0_B);
    EXPECT_EQ(world.buffer(1), 10'000_B);
    EXPECT_EQ(world.done(Movement::hbm_to_peer_host).size, 10'000_B);
    EXPECT_EQ(world.done(Movement::host_to_storage).size, 10'000_B);
    EXPECT_TRUE(world.control().at_rest());
}

// 111 + 4 prompt tokens and one of output make 116: storage has all 11 whole blocks. Nothing is to
// be written, so the send is of no use; were it reported later, it would meet the slot's next turn.
TEST(RequestLife, OneTokenWithoutNewBlockLeavesNoTransferBehind) {
    ServedOnce world{small_settings()};
    const Request request = second_turn(0, 115_tok);
    world.arrive(request, 1);
    world.done(Movement::storage_to_host);
    world.done(Movement::host_to_hbm);
    world.end_step(pe_group);
    EXPECT_EQ(world.outcome(request.id), Outcome::finished);
    EXPECT_THAT(world.flying(), IsEmpty());
    Request next = second_turn(0, 130_tok);
    next.id.serial = 9;
    next.turn = 2;
    world.arrive(next, 3);
    world.settle();
    EXPECT_EQ(world.outcome(next.id), Outcome::finished);
    EXPECT_TRUE(world.control().at_rest());
}

// The DE has 16 blocks. A (100 + 10 estimated) takes 11, B (150 + 10) wants 16 and blocks the head;
// C (10 + 10) would fit but waits behind it (paper 5.3: head-of-line stop).
TEST(RequestLife, DecodeHbmIsGivenInOrder) {
    ControlFacts facts = small_facts(small_shape(1, 1));
    facts.decode_hbm = 16'000_B;
    ScriptedWorld world{facts};
    world.fetch_all();
    world.arrive(first_turn(0, 100_tok), 5);
    world.arrive(first_turn(1, 150_tok), 5);
    world.arrive(first_turn(2, 10_tok), 5);
    EXPECT_EQ(world.hbm(1), 11'000_B);
    EXPECT_THAT(world.assigned(), SizeIs(1));
    EXPECT_EQ(world.control().memory_use().waiting_for_decode_hbm, 2u);
    world.settle();
    for (std::uint32_t n = 0; n < 3; ++n) {
        EXPECT_EQ(world.outcome(first_turn(n, 1_tok).id), Outcome::finished);
    }
    EXPECT_TRUE(world.control().at_rest());
}

// The DE buffer holds 15 blocks; A takes 10, B wants 15. It gets its PE when that fetches, and
// waits for the buffer until A is staged.
TEST(RequestLife, FullHostBufferHoldsBackTheNext) {
    ControlFacts facts = small_facts(small_shape(1, 1));
    facts.decode_buffer = 15'000_B;
    ScriptedWorld world{facts};
    world.fetch_all();
    world.arrive(first_turn(0, 100_tok), 5);
    world.arrive(first_turn(1, 150_tok), 5);
    world.end_step(pe_group);
    EXPECT_EQ(world.control().memory_use().waiting_for_buffers, 1u);
    world.done(Movement::hbm_to_peer_host);
    EXPECT_THAT(world.assigned(), SizeIs(1));
    world.done(Movement::host_to_hbm);
    EXPECT_THAT(world.assigned(), SizeIs(2));
    world.settle();
    EXPECT_TRUE(world.control().at_rest());
}

/// Two requests of 100 tokens, 11 blocks each with the estimate of 10, joined in one step.
void join_two(ScriptedWorld& world, int output) {
    world.fetch_all();
    world.arrive(first_turn(0, 100_tok), output);
    world.end_step(pe_group);
    world.arrive(first_turn(1, 100_tok), output);
    world.end_step(pe_group);
    while (world.flies(Movement::hbm_to_peer_host)) world.done(Movement::hbm_to_peer_host);
    while (world.flies(Movement::host_to_hbm)) world.done(Movement::host_to_hbm);
}

// Of 23 blocks both hold 11. After 10 steps a sequence has 110 tokens and the next one needs a 12th
// block: the older one takes the last, the younger one gives way. It goes on behind the 12 tokens
// it has (one of prefill, 11 of decode: it joined a step later), and the client gets 30, not more.
TEST(RequestLife, GrowthPreemptsTheYoungestWhichGoesOnLater) {
    ControlFacts facts = small_facts(small_shape(1, 1));
    facts.decode_hbm = 23'000_B;
    ScriptedWorld world{facts};
    join_two(world, 30);
    const RequestId older = first_turn(0, 1_tok).id, younger = first_turn(1, 1_tok).id;
    int steps = 0;
    while (world.cancelled() == 0) {
        world.end_step(de_group);
        ++steps;
    }
    EXPECT_EQ(world.hbm(1), 12'000_B);
    EXPECT_EQ(steps, 11);  // the first with the older one alone
    EXPECT_EQ(world.missing(older), 30 - 1 - 11);
    EXPECT_EQ(world.missing(younger), 30 - 1 - 10);
    world.settle();
    EXPECT_EQ(world.outcome(older), Outcome::finished);
    EXPECT_EQ(world.outcome(younger), Outcome::finished);
    EXPECT_EQ(world.missing(younger), 0);
    EXPECT_TRUE(world.control().at_rest());
}

// 30 blocks, 15 for each (100 + 50 estimated). When the older one has 150 tokens the younger one,
// 10 steps old, gives way and comes back behind 111 tokens: 17 blocks for 111 + 50, the next one
// after 170 - 111 = 59 steps. What its first stay foresaw, a block 50 steps after it joined, is
// void.
TEST(RequestLife, GrowthForeseenInAnEarlierStayIsVoid) {
    ControlFacts facts = small_facts(small_shape(1, 1));
    facts.decode_hbm = 30'000_B;
    ControlSettings settings = small_settings();
    settings.generation_estimate = 50_tok;
    ScriptedWorld world{facts, settings};
    const RequestId younger = first_turn(1, 1_tok).id;
    const auto prefill = [&] {
        world.end_step(pe_group);
        world.done(Movement::hbm_to_peer_host);
        world.done(Movement::host_to_hbm);
    };
    world.fetch_all();
    world.arrive(first_turn(0, 100_tok), 53);
    prefill();
    for (int i = 0; i < 38; ++i) world.end_step(de_group);
    world.arrive(first_turn(1, 100_tok), 80);
    world.end_step(de_group);  // its leader fetches
    prefill();
    while (world.cancelled() == 0) world.end_step(de_group);
    EXPECT_EQ(world.missing(younger), 80 - 11);
    while (world.runs(de_group)) world.end_step(de_group);
    world.done(Movement::hbm_to_host);
    prefill();
    for (int step = 0; step < 68; ++step) {
        EXPECT_EQ(world.hbm(1), step < 59 ? 17'000_B : 18'000_B) << step;
        world.end_step(de_group);
    }
    EXPECT_EQ(world.outcome(younger), Outcome::finished);
    world.settle();
    EXPECT_TRUE(world.control().at_rest());
}

// 7 blocks hold 55 + 15 tokens exactly. With nothing estimated a lone sequence starts with 6, grows
// into its last block and never gives way to itself.
TEST(RequestLife, LoneSequenceThatFitsIsNeverPreempted) {
    ControlFacts facts = small_facts(small_shape(1, 1));
    facts.decode_hbm = 7'000_B;
    ControlSettings settings = small_settings();
    settings.generation_estimate = 0_tok;
    ScriptedWorld world{facts, settings};
    world.fetch_all();
    const Request request = first_turn(0, 55_tok);
    world.arrive(request, 15);
    world.settle();
    EXPECT_EQ(world.outcome(request.id), Outcome::finished);
    EXPECT_EQ(world.cancelled(), 0u);
    EXPECT_THAT(world.assigned(), SizeIs(1));
    EXPECT_TRUE(world.control().at_rest());
}

// The first request's writeback holds 10 of 21 blocks, so the second one, with 11, cannot grow: it
// gives way to itself, waits for the writeback and then goes on.
TEST(RequestLife, PreemptedByAWritebackGoesOnAfterIt) {
    ControlFacts facts = small_facts(small_shape(1, 1));
    facts.decode_hbm = 21'000_B;
    ScriptedWorld world{facts};
    const auto prefill = [&] {
        world.end_step(pe_group);
        world.done(Movement::hbm_to_peer_host);
        world.done(Movement::host_to_hbm);
    };
    world.fetch_all();
    world.arrive(first_turn(0, 90_tok), 11);
    prefill();
    for (int i = 0; i < 10; ++i) world.end_step(de_group);
    world.arrive(first_turn(1, 100_tok), 20);
    prefill();
    for (int i = 0; i < 10; ++i) world.end_step(de_group);
    EXPECT_FALSE(world.runs(de_group));
    EXPECT_EQ(world.hbm(1), 10'000_B);
    world.settle();
    EXPECT_EQ(world.outcome(first_turn(1, 1_tok).id), Outcome::finished);
    EXPECT_EQ(world.missing(first_turn(1, 1_tok).id), 0);
    EXPECT_TRUE(world.control().at_rest());
}

}  // namespace
}  // namespace dualpath
