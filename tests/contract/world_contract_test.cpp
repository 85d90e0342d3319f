// The contract of control/world.h: one suite for every world, simulated or real.
#include <algorithm>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_world.h"
#include "tests/contract/tested_world.h"
#include "tests/control/small_cluster.h"

namespace dualpath {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;

class TestedSimWorld final : public TestedWorld {
public:
    TestedSimWorld(const ClusterShape& shape, sim::Network::Lanes lanes)
        : layout_{make_layout(shape)},
          topology_{layout_, small_capacities()},
          model_{small_compute(1e9, static_cast<int>(shape.prefill_ep),
                               static_cast<int>(shape.decode_ep),
                               static_cast<int>(shape.gpus_per_node))},
          world_{layout_, topology_, model_, {.lanes = lanes, .layers = 2}, nullptr} {}

    World& world() override { return world_; }
    const Layout& layout() const override { return layout_; }
    void schedule(Instant at, const Event& event) override { world_.schedule(at, event); }

private:
    Layout layout_;
    Topology topology_;
    ComputeModel model_;
    sim::SimWorld world_;
};

}  // namespace

std::vector<WorldFactory> world_factories() {
    const auto sim = [](sim::Network::Lanes lanes) {
        return [lanes](const ClusterShape& shape) -> std::unique_ptr<TestedWorld> {
            return std::make_unique<TestedSimWorld>(shape, lanes);
        };
    };
    return {{"SimTwoLanes", WorldFactory::Time::exact, sim(sim::Network::Lanes::two)},
            {"SimOneLane", WorldFactory::Time::exact, sim(sim::Network::Lanes::one)}};
}

namespace {

Instant at_us(int us) { return Instant{std::chrono::microseconds{us}}; }

/// An event kept beyond the next call into the world.
struct Seen {
    Instant at;
    Event event;
    std::vector<RequestId> finished;
};

/// Plays control's part, and keeps all that the world says.
class Script {
public:
    Script(const WorldFactory& factory, const ClusterShape& shape) : tested_{factory.make(shape)} {}

    TestedWorld& tested() { return *tested_; }
    void submit(std::uint32_t slot, int output, Instant at = {}) {
        const Request request{
            .id = {slot, 1}, .session = SessionId{slot}, .prompt = 50_tok, .max_output = 1000_tok};
        tested_->world().submit({at, request, Tokens{output}});
    }
    void command(const Command& c) { tested_->world().execute(c); }

    /// One more event; false when there is none.
    bool next() {
        const auto event = tested_->world().next();
        if (!event) return false;
        seen_.push_back({event->at, event->event, {}});
        if (const auto* step = std::get_if<StepDone>(&event->event)) {
            seen_.back().finished.assign(step->finished.begin(), step->finished.end());
        }
        return true;
    }
    void drain() {
        while (next()) ASSERT_LT(seen_.size(), 10'000u) << "it does not end";
    }
    /// Goes on until that step has ended; who finished in it.
    std::vector<RequestId> finish(StepId id) {
        while (next()) {
            const auto* step = std::get_if<StepDone>(&seen_.back().event);
            if (step && step->step == id) return seen_.back().finished;
        }
        ADD_FAILURE() << "the step is not reported";
        return {};
    }

    const std::vector<Seen>& seen() const { return seen_; }
    /// Positions among the events, in order.
    std::vector<std::size_t> positions(TransferId id) const {
        return where([&](const Event& e) {
            const auto* done = std::get_if<TransferDone>(&e);
            return done && done->id == id;
        });
    }
    std::vector<std::size_t> positions(StepId id) const {
        return where([&](const Event& e) {
            const auto* done = std::get_if<StepDone>(&e);
            return done && done->step == id;
        });
    }
    template <class E>
    std::vector<E> all() const {
        std::vector<E> events;
        for (const Seen& s : seen_) {
            if (const auto* e = std::get_if<E>(&s.event)) events.push_back(*e);
        }
        return events;
    }

private:
    template <class Which>
    std::vector<std::size_t> where(Which which) const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < seen_.size(); ++i) {
            if (which(seen_[i].event)) found.push_back(i);
        }
        return found;
    }
    std::unique_ptr<TestedWorld> tested_;
    std::vector<Seen> seen_;
};

// One PE and one DE: engines and groups are 0 and 1.
constexpr ClusterShape one_each{1, 1, 1, 1, 1};
constexpr EngineId pe{0}, de{1};
constexpr ExpertGroupId pe_group{0}, de_group{1};

Transfer transfer(std::uint32_t slot, Movement movement, EngineId from, EngineId to,
                  Bytes size = 10'000_B, std::uint32_t serial = 1) {
    return {.id = {slot, serial},
            .movement = movement,
            .from = from,
            .to = to,
            .size = size,
            .layers = {0, 2},
            .request = {0, 1}};
}
Transfer read(std::uint32_t slot) { return transfer(slot, Movement::storage_to_host, pe, pe); }

StepId pe_step(std::uint32_t number) { return {pe_group, number}; }
StepId de_step(std::uint32_t number) { return {de_group, number}; }

Chunk chunk(std::uint32_t slot, std::optional<TransferId> load = {},
            Chunk::End end = Chunk::End::last) {
    return {{slot, 1}, pe, 0_tok, 50_tok, std::chrono::milliseconds{1}, load, end};
}
StartStep prefill(const StepId& id, const std::vector<Chunk>& chunks) {
    return {{.id = id, .role = Role::prefill, .chunks = chunks}, {}};
}
StartStep decode(const StepId& id, const std::vector<Join>& joins = {}) {
    return {{.id = id, .role = Role::decode, .joins = joins}, {}};
}

class WorldContract : public testing::TestWithParam<WorldFactory> {
protected:
    Script script{GetParam(), one_each};

    void expect_time_order() {
        EXPECT_TRUE(std::is_sorted(script.seen().begin(), script.seen().end(),
                                   [](const Seen& a, const Seen& b) { return a.at < b.at; }));
    }
};

TEST_P(WorldContract, EveryLeaderAsksForWorkAtTheStart) {
    Script larger{GetParam(), {2, 1, 2, 4, 1}};
    for (std::uint32_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(larger.next());
        EXPECT_EQ(larger.all<GroupFetched>().back().group, FetchGroupId{i});
    }
    EXPECT_FALSE(larger.next()) << "nothing is left that could happen";
}

/// True of a message that could tell control how long the answer will be.
template <class Message>
concept TellsTheOutput = requires(Message m) {
    m.output;
};
static_assert(TellsTheOutput<Arrival> && !TellsTheOutput<Request>);

// In time order, and at equal times in the order of submission; only the client's limit is told.
TEST_P(WorldContract, ArrivalsCarryNoOutputLength) {
    script.submit(0, 7, at_us(300));
    script.submit(1, 8, at_us(100));
    script.submit(2, 9, at_us(300));
    script.drain();
    expect_time_order();
    std::vector<std::uint32_t> slots;
    for (const RequestArrived& a : script.all<RequestArrived>()) {
        slots.push_back(a.request.id.slot);
        EXPECT_EQ(a.request.max_output, 1000_tok);
    }
    EXPECT_THAT(slots, ElementsAre(1, 0, 2));
}

TEST_P(WorldContract, EachTransferIsReportedOnce) {
    using enum Movement;
    const std::vector<Transfer> transfers{
        transfer(0, storage_to_host, pe, pe),  transfer(1, host_to_hbm, de, de),
        transfer(2, host_to_peer_hbm, de, pe), transfer(3, hbm_to_peer_host, pe, de),
        transfer(4, hbm_to_host, de, de),      transfer(5, host_to_storage, de, de)};
    for (const Transfer& t : transfers) script.command(StartTransfer{t, {}});
    script.drain();
    expect_time_order();
    for (const Transfer& t : transfers) EXPECT_EQ(script.positions(t.id).size(), 1u);
}

TEST_P(WorldContract, TransferAfterATransferEndsAfterIt) {
    script.command(StartTransfer{transfer(0, Movement::hbm_to_host, de, de, 100'000_B), {}});
    script.command(
        StartTransfer{transfer(1, Movement::host_to_storage, de, de, 1_B), TransferId{0, 1}});
    script.drain();
    EXPECT_LT(script.positions(TransferId{0, 1}).at(0), script.positions(TransferId{1, 1}).at(0));
    script.command(StartTransfer{transfer(2, Movement::host_to_storage, de, de, 1_B),
                                 TransferId{0, 1}});  // long over
    script.drain();
    EXPECT_EQ(script.positions(TransferId{2, 1}).size(), 1u);
}

TEST_P(WorldContract, CancelledTransferIsNeverReported) {
    script.command(StartTransfer{read(0), {}});
    script.command(StartTransfer{read(1), {}});
    script.command(Cancel{TransferId{0, 1}});
    script.drain();
    EXPECT_THAT(script.positions(TransferId{0, 1}), IsEmpty());
    EXPECT_EQ(script.positions(TransferId{1, 1}).size(), 1u);
    script.command(Cancel{TransferId{1, 1}});  // long over: no error
    script.drain();
}

// Equal transfers on one route end at one instant. The second may have happened when the first is
// told; it is not reported all the same.
TEST_P(WorldContract, TransferCancelledAtItsVeryEndIsNeverReported) {
    script.command(StartTransfer{read(0), {}});
    script.command(StartTransfer{read(1), {}});
    while (script.all<TransferDone>().empty()) ASSERT_TRUE(script.next());
    const TransferId told = script.all<TransferDone>()[0].id;
    const TransferId other{1 - told.slot, 1};
    script.command(Cancel{other});
    script.drain();
    EXPECT_THAT(script.positions(other), IsEmpty());
}

TEST_P(WorldContract, SendIsNotDoneBeforeItsStep) {
    script.submit(0, 2);
    script.command(prefill(pe_step(1), {chunk(0)}));
    script.command(
        StartTransfer{transfer(0, Movement::hbm_to_peer_host, pe, de, 100_B), pe_step(1)});
    script.drain();
    EXPECT_LT(script.positions(pe_step(1)).at(0), script.positions(TransferId{0, 1}).at(0));
}

// A transfer is started and cancelled at once; the send that takes over its slot, while its step
// still waits for a load, is not mistaken for it.
TEST_P(WorldContract, SendInAReusedSlotWaitsForItsStep) {
    script.submit(0, 2);
    script.command(StartTransfer{read(0), {}});
    script.command(Cancel{TransferId{0, 1}});
    script.command(StartTransfer{transfer(1, Movement::host_to_hbm, pe, pe, 500'000_B), {}});
    script.command(prefill(pe_step(1), {chunk(0, TransferId{1, 1})}));
    script.command(
        StartTransfer{transfer(0, Movement::hbm_to_peer_host, pe, de, 100_B, 2), pe_step(1)});
    script.drain();
    EXPECT_LT(script.positions(pe_step(1)).at(0), script.positions(TransferId{0, 2}).at(0));
}

// 10 MB at 1 GB/s take 10 ms, the computation 1 ms.
TEST_P(WorldContract, StepIsNotDoneBeforeItsLoads) {
    script.submit(0, 2);
    script.submit(1, 2);
    const auto load = [](std::uint32_t slot, Bytes size) {
        return StartTransfer{transfer(slot, Movement::host_to_hbm, pe, pe, size), {}};
    };
    script.command(load(0, 10'000'000_B));
    script.command(load(1, 1'000_B));
    script.command(prefill(pe_step(1), {chunk(0, TransferId{0, 1}), chunk(1, TransferId{1, 1})}));
    script.drain();
    const std::size_t step = script.positions(pe_step(1)).at(0);
    EXPECT_LT(script.positions(TransferId{0, 1}).at(0), step);
    EXPECT_LT(script.positions(TransferId{1, 1}).at(0), step);
}

TEST_P(WorldContract, StepWaitsForNoLoadThatIsOver) {
    script.submit(0, 2);
    script.command(StartTransfer{transfer(0, Movement::host_to_hbm, pe, pe), {}});
    script.drain();
    script.command(prefill(pe_step(1), {chunk(0, TransferId{0, 1})}));
    script.drain();
    EXPECT_EQ(script.positions(pe_step(1)).size(), 1u);
}

TEST_P(WorldContract, CancelledLoadHoldsNoStepBack) {
    script.submit(0, 2);
    script.command(StartTransfer{transfer(0, Movement::host_to_hbm, pe, pe), {}});
    script.command(prefill(pe_step(1), {chunk(0, TransferId{0, 1})}));
    script.command(Cancel{TransferId{0, 1}});
    script.drain();
    EXPECT_EQ(script.positions(pe_step(1)).size(), 1u);
}

// An expert group of two nodes: both leaders fetch, after the step is told.
TEST_P(WorldContract, EachLeaderFetchesAfterAStep) {
    Script larger{GetParam(), {2, 1, 2, 4, 1}};
    larger.submit(0, 2);
    larger.command(prefill(pe_step(1), {chunk(0)}));
    larger.drain();
    const std::size_t step = larger.positions(pe_step(1)).at(0);
    ASSERT_EQ(larger.seen().size(), step + 3);
    EXPECT_EQ(std::get<GroupFetched>(larger.seen()[step + 1].event).group, FetchGroupId{0});
    EXPECT_EQ(std::get<GroupFetched>(larger.seen()[step + 2].event).group, FetchGroupId{1});
}

TEST_P(WorldContract, CancelledStepIsNeverReported) {
    script.submit(0, 2);
    script.command(prefill(pe_step(1), {chunk(0)}));
    script.command(Cancel{pe_step(1)});
    script.drain();
    EXPECT_THAT(script.positions(pe_step(1)), IsEmpty());
    script.command(prefill(pe_step(2), {chunk(0)}));  // the group is free again
    script.drain();
    EXPECT_EQ(script.positions(pe_step(2)).size(), 1u);
}

TEST_P(WorldContract, TimersFireAtTheirInstant) {
    script.command(SetTimer{TimerId{4}, at_us(200)});
    script.command(SetTimer{TimerId{5}, at_us(100)});
    script.drain();
    std::vector<std::pair<std::uint32_t, Instant>> fired;
    for (const Seen& s : script.seen()) {
        if (const auto* timer = std::get_if<TimerFired>(&s.event))
            fired.emplace_back(timer->id.value, s.at);
    }
    ASSERT_EQ(fired.size(), 2u);
    EXPECT_EQ(fired[0].first, 5u);
    EXPECT_EQ(fired[1].first, 4u);
    EXPECT_GE(fired[0].second, at_us(100));
    EXPECT_GE(fired[1].second, at_us(200));
    if (GetParam().time == WorldFactory::Time::measured) return;
    EXPECT_EQ(fired[0].second, at_us(100));
    EXPECT_EQ(fired[1].second, at_us(200));
}

TEST_P(WorldContract, OnlyTheLastChunkYieldsAToken) {
    script.submit(0, 1);
    script.command(prefill(pe_step(1), {chunk(0, {}, Chunk::End::more)}));
    EXPECT_THAT(script.finish(pe_step(1)), IsEmpty());
    script.command(prefill(pe_step(2), {chunk(0)}));
    EXPECT_THAT(script.finish(pe_step(2)), ElementsAre(RequestId{0, 1}));
}

// 5 tokens: one of the prefill step, four of decode steps.
TEST_P(WorldContract, RequestFinishesWithItsLastToken) {
    script.submit(0, 5);
    script.command(prefill(pe_step(1), {chunk(0)}));
    EXPECT_THAT(script.finish(pe_step(1)), IsEmpty());
    script.command(decode(de_step(1), {{{0, 1}, de, 50_tok}}));
    for (std::uint32_t n = 1; n < 4; ++n) {
        EXPECT_THAT(script.finish(de_step(n)), IsEmpty());
        script.command(decode(de_step(n + 1)));
    }
    EXPECT_THAT(script.finish(de_step(4)), ElementsAre(RequestId{0, 1}));
}

// 10 tokens: one of the prefill, 3 decoded, then it leaves. Back again it owes one to the prefill
// and 5 to decode steps; that its first stay would have ended earlier is forgotten. Another request
// keeps the batch going meanwhile.
TEST_P(WorldContract, RequestThatLeftAndCameBackOwesTheRest) {
    const RequestId request{0, 1};
    script.submit(0, 10);
    script.submit(1, 100);
    script.command(prefill(pe_step(1), {chunk(0), chunk(1)}));
    script.finish(pe_step(1));
    script.command(decode(de_step(1), {{request, de, 50_tok}, {{1, 1}, de, 50_tok}}));
    for (std::uint32_t n = 1; n < 3; ++n) {
        script.finish(de_step(n));
        script.command(decode(de_step(n + 1)));
    }
    script.finish(de_step(3));
    script.command(Cancel{request});
    script.command(prefill(pe_step(2), {chunk(0)}));
    script.command(decode(de_step(4)));
    script.finish(pe_step(2));
    if (script.positions(de_step(4)).empty()) script.finish(de_step(4));
    script.command(decode(de_step(6), {{request, de, 54_tok}}));
    for (std::uint32_t n = 6; n < 10; ++n) {
        EXPECT_THAT(script.finish(de_step(n)), IsEmpty()) << n;
        script.command(decode(de_step(n + 1)));
    }
    EXPECT_THAT(script.finish(de_step(10)), ElementsAre(request));
}

// 6 tokens: one of the prefill, 2 decoded; the third decode step is lost with its engine. The other
// 3 come from the second prefill and two steps of the engine that is back.
TEST_P(WorldContract, LostEngineDropsTheStepButNotWhatItHadProduced) {
    const RequestId request{0, 1};
    script.submit(0, 6);
    script.command(prefill(pe_step(1), {chunk(0)}));
    script.finish(pe_step(1));
    script.command(decode(de_step(1), {{request, de, 50_tok}}));
    script.finish(de_step(1));
    script.command(decode(de_step(2)));
    script.finish(de_step(2));
    const Instant now = script.seen().back().at;
    script.tested().schedule(now, EngineLost{de});
    script.tested().schedule(now + std::chrono::seconds{1}, EngineBack{de});
    script.command(decode(de_step(3)));
    while (script.all<EngineBack>().empty()) ASSERT_TRUE(script.next());
    const std::size_t back = script.seen().size();
    EXPECT_THAT(script.positions(de_step(3)), IsEmpty());
    EXPECT_EQ(script.all<EngineLost>().size(), 1u);
    script.command(prefill(pe_step(2), {chunk(0)}));
    EXPECT_THAT(script.finish(pe_step(2)), IsEmpty());
    ASSERT_GT(script.seen().size(), back);
    EXPECT_EQ(std::get<GroupFetched>(script.seen()[back].event).group, FetchGroupId{1});
    script.command(decode(de_step(5), {{request, de, 53_tok}}));
    EXPECT_THAT(script.finish(de_step(5)), IsEmpty());
    script.command(decode(de_step(6)));
    EXPECT_THAT(script.finish(de_step(6)), ElementsAre(request));
}

TEST_P(WorldContract, WhatALostEngineDroppedMayBeCancelledToo) {
    script.submit(0, 2);
    script.tested().schedule(at_us(1), EngineLost{pe});
    script.command(prefill(pe_step(1), {chunk(0)}));
    script.command(StartTransfer{transfer(0, Movement::hbm_to_peer_host, pe, de), pe_step(1)});
    while (script.all<EngineLost>().empty()) ASSERT_TRUE(script.next());
    script.command(Cancel{TransferId{0, 1}});
    script.command(Cancel{pe_step(1)});
    script.drain();
    EXPECT_THAT(script.all<StepDone>(), IsEmpty());
    EXPECT_THAT(script.all<TransferDone>(), IsEmpty());
}

TEST_P(WorldContract, SameScriptGivesTheSameEvents) {
    if (GetParam().time == WorldFactory::Time::measured) GTEST_SKIP() << "time is measured here";
    const auto play = [&] {
        Script s{GetParam(), one_each};
        s.submit(0, 3, at_us(5));
        s.submit(1, 3, at_us(5));
        for (std::uint32_t i = 0; i < 5; ++i) s.command(StartTransfer{read(i), {}});
        s.command(prefill(pe_step(1), {chunk(0), chunk(1)}));
        s.command(StartTransfer{transfer(7, Movement::hbm_to_peer_host, pe, de), pe_step(1)});
        s.drain();
        std::vector<std::pair<Instant, std::size_t>> events;
        for (const Seen& seen : s.seen()) events.emplace_back(seen.at, seen.event.index());
        return events;
    };
    EXPECT_EQ(play(), play());
}

INSTANTIATE_TEST_SUITE_P(Worlds, WorldContract, testing::ValuesIn(world_factories()),
                         [](const auto& world) { return world.param.name; });

}  // namespace
}  // namespace dualpath
