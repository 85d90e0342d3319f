// When things go wrong at any stage of a request's life: it ends once, and all is given back.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/control/scripted_world.h"

namespace dualpath {
namespace {

using namespace literals;
using testing::IsEmpty;
using testing::SizeIs;

struct Situation {
    Stage stage;
    ReadPath path;
};

void PrintTo(const Situation& s, std::ostream* out) {
    *out << (s.path == ReadPath::prefill ? "PE path, stage " : "DE path, stage ")
         << static_cast<int>(s.stage);
}

bool needs_whole_prompts(Stage stage) {
    return stage == Stage::waiting_hbm || stage == Stage::loading;
}

/// A world in which one request, the second turn of session 0, stands at a stage. Where somebody
/// must stand in its way, session 1 does.
class Standing : public ScriptedWorld {
public:
    explicit Standing(const Situation& situation)
        : ScriptedWorld{facts(situation.stage), settings(situation)} {
        const Stage stage = situation.stage;
        if (stage == Stage::waiting_decode) {
            fetch(Role::prefill);
            arrive(request, 12);
            return;
        }
        if (stage == Stage::waiting_prefill) {
            fetch(Role::decode);
            arrive(request, 12);
            return;
        }
        fetch_all();
        arrive(first_turn(0, 100_tok), 11);
        settle();
        choose(situation.path);
        drive(stage);
    }

    /// Whatever was kept back so far comes now.
    void go_on() {
        fetch_all();
        settle();
    }

    const Request request = second_turn(0, 150_tok);
    const Request other = first_turn(1, 100_tok);

private:
    static ControlFacts facts(Stage stage) {
        ControlFacts facts = small_facts(small_shape(1, 1));
        if (stage == Stage::allocating) facts.decode_buffer = 16'000_B;  // for one of the two
        if (stage == Stage::waiting_hbm) facts.prefill_hbm = 16'000_B;
        return facts;
    }
    static ControlSettings settings(const Situation& s) {
        ControlSettings settings = small_settings();
        settings.read_path = "round_robin";
        if (needs_whole_prompts(s.stage)) {
            settings.loading = ControlSettings::Loading::whole_prompt;
        }
        return settings;
    }

    /// The round robin reads on the DE side first, then on the PE side, and so on: the first turn
    /// was on the DE side, so one more request makes it the DE side's turn again.
    void choose(ReadPath path) {
        if (path == ReadPath::prefill) return;
        arrive(first_turn(2, 5_tok), 1);
        settle();
    }

    void drive(Stage stage) {
        if (stage == Stage::allocating || stage == Stage::waiting_hbm || stage == Stage::joining) {
            arrive(first_turn(3, 5_tok), 1);  // the other takes a turn of the round robin, too
            settle();
            arrive(other, 12);
            if (stage == Stage::joining) finish_prefill();  // it decodes
        }
        arrive(request, 12);
        if (stage == Stage::joining) end_step(de_group);  // its leader fetches
        if (stage == Stage::ready) arrive(other, 12);     // it is computed at once
        if (stage == Stage::allocating || stage == Stage::waiting_hbm) end_step(pe_group);
        if (stage == Stage::allocating || stage == Stage::reading) return;
        done(Movement::storage_to_host);
        if (stage < Stage::sending) return;
        done(flies(Movement::host_to_hbm) ? Movement::host_to_hbm : Movement::host_to_peer_hbm);
        if (stage == Stage::sending) return end_step(pe_group);
        if (stage == Stage::staging) {
            end_step(pe_group);
            done(Movement::hbm_to_peer_host);
            return;
        }
        finish_prefill();
        if (stage == Stage::decoding) end_step(de_group);
    }

    void finish_prefill() {
        end_step(pe_group);
        done(Movement::hbm_to_peer_host);
        done(Movement::host_to_hbm);
    }
};

class AtEveryStage : public testing::TestWithParam<Situation> {
protected:
    static void expect_all_ended(const Standing& world) {
        EXPECT_TRUE(world.outcome(world.request.id)) << "the request ends";
        EXPECT_EQ(world.control().unfinished(), 0u);
        EXPECT_TRUE(world.control().at_rest());
        EXPECT_THAT(world.flying(), IsEmpty());
    }
};

TEST_P(AtEveryStage, AbortedRequestEndsAborted) {
    Standing world{GetParam()};
    world.tell(RequestAborted{world.request.id});
    world.go_on();
    EXPECT_EQ(world.outcome(world.request.id), Outcome::aborted);
    expect_all_ended(world);
    world.tell(RequestAborted{world.request.id});  // too late: no error
}

TEST_P(AtEveryStage, LostPrefillEngineOnlyDelays) {
    Standing world{GetParam()};
    world.lose(pe);
    world.settle();
    world.bring_back(pe);
    world.go_on();
    EXPECT_EQ(world.outcome(world.request.id), Outcome::finished);
    EXPECT_EQ(world.missing(world.request.id), 0);
    expect_all_ended(world);
}

TEST_P(AtEveryStage, LostDecodeEngineOnlyDelays) {
    Standing world{GetParam()};
    world.lose(de);
    world.settle();
    world.bring_back(de);
    world.go_on();
    EXPECT_EQ(world.outcome(world.request.id), Outcome::finished);
    EXPECT_EQ(world.missing(world.request.id), 0);
    expect_all_ended(world);
}

TEST_P(AtEveryStage, LostEngineMayComeBackBeforeTheOtherStepEnds) {
    Standing world{GetParam()};
    world.lose(de);
    world.bring_back(de);
    world.lose(pe);
    world.bring_back(pe);
    world.go_on();
    EXPECT_EQ(world.outcome(world.request.id), Outcome::finished);
    EXPECT_EQ(world.missing(world.request.id), 0);
    expect_all_ended(world);
}

TEST_P(AtEveryStage, AbortDuringALossEndsAborted) {
    Standing world{GetParam()};
    world.lose(de);
    world.tell(RequestAborted{world.request.id});
    world.lose(pe);
    world.bring_back(pe);
    world.bring_back(de);
    world.go_on();
    EXPECT_EQ(world.outcome(world.request.id), Outcome::aborted);
    expect_all_ended(world);
}

TEST_P(AtEveryStage, FailedStepsRestart) {
    Standing world{GetParam()};
    if (world.runs(pe_group)) world.end_step(pe_group, Status::failed);
    if (world.runs(de_group)) world.end_step(de_group, Status::failed);
    world.go_on();
    EXPECT_EQ(world.outcome(world.request.id), Outcome::finished);
    EXPECT_EQ(world.missing(world.request.id), 0);
    expect_all_ended(world);
}

TEST_P(AtEveryStage, NewWeightsChangeNothingForIt) {
    Standing world{GetParam()};
    world.tell(WeightsChanged{1});
    world.go_on();
    EXPECT_EQ(world.outcome(world.request.id), Outcome::finished);
    expect_all_ended(world);
}

// Whatever movement is under way fails; the request is tried again from the start.
TEST_P(AtEveryStage, FailedTransfersRestart) {
    Standing world{GetParam()};
    while (!world.flying().empty()) {
        const StartTransfer start = world.flying().front();
        world.done(start.transfer.movement, Status::failed);
        if (world.runs(pe_group)) world.end_step(pe_group);
        if (world.assigned().size() > 5) break;
    }
    world.go_on();
    EXPECT_TRUE(world.outcome(world.request.id));
    expect_all_ended(world);
}

std::vector<Situation> situations() {
    std::vector<Situation> all;
    for (const ReadPath path : {ReadPath::prefill, ReadPath::decode}) {
        for (auto stage = static_cast<int>(Stage::waiting_decode);
             stage <= static_cast<int>(Stage::decoding); ++stage) {
            all.push_back({static_cast<Stage>(stage), path});
        }
    }
    return all;
}

std::string name_of(const testing::TestParamInfo<Situation>& info) {
    constexpr std::array names{"Ended",      "WaitingDecode", "WaitingPrefill", "Allocating",
                               "Reading",    "WaitingHbm",    "Loading",        "Ready",
                               "Prefilling", "Sending",       "Staging",        "Joining",
                               "Decoding"};
    return std::string{names[static_cast<std::size_t>(info.param.stage)]} +
           (info.param.path == ReadPath::prefill ? "OnPePath" : "OnDePath");
}

INSTANTIATE_TEST_SUITE_P(Recovery, AtEveryStage, testing::ValuesIn(situations()), name_of);

/// Each hop once: fails the movement at that time and says how often the request was assigned.
class FailedHop : public testing::TestWithParam<Movement> {};

TEST_P(FailedHop, IsTriedAgainAndEndsWell) {
    Standing world{{Stage::reading, GetParam() == Movement::host_to_peer_hbm ? ReadPath::decode
                                                                             : ReadPath::prefill}};
    const std::size_t assigned = world.assigned().size();
    while (!world.flies(GetParam())) {
        ASSERT_FALSE(world.outcome(world.request.id));
        if (world.runs(pe_group) && world.flying().size() == 1) {
            world.end_step(pe_group);
        } else {
            world.done(world.flying().front().transfer.movement);
        }
    }
    if (GetParam() == Movement::hbm_to_peer_host && world.runs(pe_group)) {
        world.done(Movement::host_to_hbm);
        world.end_step(pe_group);
    }
    world.done(GetParam(), Status::failed);
    world.settle();
    EXPECT_THAT(world.assigned(), SizeIs(assigned + 1));
    EXPECT_EQ(world.outcome(world.request.id), Outcome::finished);
    EXPECT_EQ(world.missing(world.request.id), 0);
    EXPECT_TRUE(world.control().at_rest());
}

INSTANTIATE_TEST_SUITE_P(Recovery, FailedHop,
                         testing::Values(Movement::storage_to_host, Movement::host_to_hbm,
                                         Movement::host_to_peer_hbm, Movement::hbm_to_peer_host));

/// A first turn of 100 tokens and 11 of output that has finished; its writeback is under way.
void serve_up_to_writeback(ScriptedWorld& world) {
    world.fetch_all();
    world.arrive(first_turn(0, 100_tok), 11);
    world.end_step(pe_group);
    world.done(Movement::hbm_to_peer_host);
    world.done(Movement::host_to_hbm);
    while (world.runs(de_group)) world.end_step(de_group);
}

Tokens hit_of_second_turn(ScriptedWorld& world) {
    const Request next = second_turn(0, 150_tok);
    world.arrive(next, 2);
    world.settle();
    EXPECT_EQ(world.outcome(next.id), Outcome::finished);
    EXPECT_TRUE(world.control().at_rest());
    return world.assigned().back().hit;
}

TEST(Recovery, FailedWritebackIsNoHit) {
    for (const Movement hop : {Movement::hbm_to_host, Movement::host_to_storage}) {
        ScriptedWorld world{small_facts(small_shape(1, 1))};
        serve_up_to_writeback(world);
        if (hop == Movement::host_to_storage) world.done(Movement::hbm_to_host);
        world.done(hop, Status::failed);
        EXPECT_TRUE(world.control().at_rest());
        EXPECT_EQ(hit_of_second_turn(world), 0_tok);
    }
}

// The writeback holds 11 of 16 blocks; the next request wants 11 and waits. The failure frees them.
TEST(Recovery, FailedWritebackWakesWhoWaitsForItsHbm) {
    ControlFacts facts = small_facts(small_shape(1, 1));
    facts.decode_hbm = 16'000_B;
    ScriptedWorld world{facts};
    serve_up_to_writeback(world);
    world.arrive(first_turn(1, 100_tok), 2);
    EXPECT_FALSE(world.runs(pe_group));
    world.done(Movement::hbm_to_host, Status::failed);
    EXPECT_TRUE(world.runs(pe_group));
    world.settle();
    EXPECT_TRUE(world.control().at_rest());
}

TEST(Recovery, LostDecodeEngineEndsItsWritebacks) {
    ScriptedWorld world{small_facts(small_shape(1, 1))};
    serve_up_to_writeback(world);
    world.lose(de);
    EXPECT_THAT(world.flying(), IsEmpty());
    EXPECT_TRUE(world.control().at_rest());
    world.bring_back(de);
    EXPECT_EQ(hit_of_second_turn(world), 0_tok);
}

// A one-token output has ended, but its KV still comes from the PE.
TEST(Recovery, LostPrefillEngineEndsTheWritebacksItFeeds) {
    ScriptedWorld world{small_facts(small_shape(1, 1))};
    world.fetch_all();
    world.arrive(first_turn(0, 100_tok), 1);
    world.end_step(pe_group);
    EXPECT_TRUE(world.flies(Movement::hbm_to_peer_host));
    world.lose(pe);
    EXPECT_THAT(world.flying(), IsEmpty());
    EXPECT_TRUE(world.control().at_rest());
}

// beta is 100 tokens, so the PE takes nothing beside the first prompt, which waits for its read.
// Nothing else is under way: the abort itself must give the second one its PE.
TEST(Recovery, AbortLetsTheNextHaveThePe) {
    ControlSettings settings = small_settings();
    settings.load_limit = 100_tok;
    ScriptedWorld world{small_facts(small_shape(1, 1)), settings};
    serve_up_to_writeback(world);
    world.settle();
    world.arrive(second_turn(0, 150_tok), 2);
    world.arrive(first_turn(1, 50_tok), 2);
    EXPECT_FALSE(world.runs(pe_group));
    world.tell(RequestAborted{second_turn(0, 1_tok).id});
    EXPECT_TRUE(world.runs(pe_group));
    world.settle();
    EXPECT_TRUE(world.control().at_rest());
}

// The DE is lost while the PE computes: what touches the DE is cancelled at once, for no world
// could finish it, and the token that the step still yields counts.
TEST(Recovery, LostDecodeEngineReleasesTheStepThatWaitsForIt) {
    Standing world{{Stage::prefilling, ReadPath::decode}};
    EXPECT_TRUE(world.flies(Movement::host_to_peer_hbm));
    world.lose(de);
    EXPECT_THAT(world.flying(), IsEmpty());
    world.end_step(pe_group);
    world.bring_back(de);
    world.settle();
    EXPECT_EQ(world.missing(world.request.id), 0);
    EXPECT_TRUE(world.control().at_rest());
}

// Its only token comes from the very step in which it was to be started again.
TEST(Recovery, RequestThatFinishesWhileItLeavesIsFinished) {
    ScriptedWorld world{small_facts(small_shape(1, 1))};
    world.fetch_all();
    const Request request = first_turn(0, 100_tok);
    world.arrive(request, 1);
    world.lose(de);
    world.end_step(pe_group);
    EXPECT_EQ(world.outcome(request.id), Outcome::finished);
    EXPECT_EQ(world.missing(request.id), 0);
    EXPECT_TRUE(world.control().at_rest());
}

TEST(Recovery, RequestFailsAfterItsLastAttempt) {
    Standing world{{Stage::reading, ReadPath::prefill}};
    for (int attempt = 1; attempt <= 3; ++attempt) {
        EXPECT_FALSE(world.outcome(world.request.id));
        world.done(Movement::storage_to_host, Status::failed);
    }
    EXPECT_EQ(world.outcome(world.request.id), Outcome::failed);
    EXPECT_TRUE(world.control().at_rest());
}

// One prefill and one decode node of two engines. The request moves from the first PE to the second
// before it hears that this is gone too: one attempt of two, so it waits. A later loss is the
// second.
TEST(Recovery, NodeLostAtOneInstantIsOneMishap) {
    ControlSettings settings = small_settings();
    settings.prefill_policy = settings.decode_policy = "least_loaded";
    settings.max_attempts = 2;
    ScriptedWorld world{small_facts(small_shape(1, 1, 2)), settings};
    world.fetch_all();
    const Request request = first_turn(0, 50_tok);
    world.arrive(request, 5);
    ASSERT_TRUE(world.runs(ExpertGroupId{0}));
    world.lose(EngineId{0});
    world.lose(EngineId{1}, Duration{0});
    EXPECT_EQ(world.assigned().size(), 2u) << "it was on both PEs";
    EXPECT_EQ(world.outcome(request.id), std::nullopt);
    world.bring_back(EngineId{0});
    ASSERT_TRUE(world.runs(ExpertGroupId{0}));
    world.lose(EngineId{0});
    EXPECT_EQ(world.outcome(request.id), Outcome::failed);
}

TEST(Recovery, OldWeightsAreNoHit) {
    ScriptedWorld world{small_facts(small_shape(1, 1))};
    serve_up_to_writeback(world);
    world.tell(WeightsChanged{1});  // the write ends under new weights
    world.settle();
    EXPECT_EQ(hit_of_second_turn(world), 0_tok);
}

// It arrived under the old weights but was computed under the new ones: 11 blocks are a hit.
TEST(Recovery, RequestThatWaitedComputesWithTheNewWeights) {
    ScriptedWorld world{small_facts(small_shape(1, 1))};
    world.arrive(first_turn(0, 100_tok), 11);
    world.tell(WeightsChanged{1});
    world.fetch_all();
    world.settle();
    EXPECT_EQ(hit_of_second_turn(world), 110_tok);
}

TEST(Recovery, AllEnginesLostStillServesWhenTheyAreBack) {
    ScriptedWorld world{small_facts(small_shape(1, 1))};
    world.lose(pe);
    world.lose(de);
    world.arrive(first_turn(0, 100_tok), 3);
    world.tell(GroupFetched{FetchGroupId{1}});  // a late word of the lost engine's leader
    EXPECT_THAT(world.assigned(), IsEmpty());
    world.bring_back(de);
    world.bring_back(pe);
    world.settle();
    EXPECT_EQ(world.outcome(first_turn(0, 1_tok).id), Outcome::finished);
    EXPECT_TRUE(world.control().at_rest());
}

}  // namespace
}  // namespace dualpath
