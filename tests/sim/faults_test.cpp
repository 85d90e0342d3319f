// What faults do to the simulated world, worked out by hand.
#include "sim/faults.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_world.h"
#include "tests/control/small_cluster.h"

namespace dualpath::sim {
namespace {

using namespace literals;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::DoubleNear;
using testing::ElementsAre;

constexpr EngineId pe{0}, de{1};
constexpr ExpertGroupId pe_group{0};

/// Bytes that one resource carried in each window.
class Windows final : public ResourceObserver {
public:
    explicit Windows(ResourceId resource) : resource_{resource} {}
    void on_window(Instant, Instant, std::span<const ResourceUse> use) override {
        used.push_back(use[resource_.index()].used);
    }
    std::vector<double> used;

private:
    ResourceId resource_;
};

/// An event as text with its instant in microseconds: "3 lost 1".
std::string told(const TimedEvent& event) {
    const auto us = std::to_string(event.at.time_since_epoch() / microseconds{1});
    if (const auto* lost = std::get_if<EngineLost>(&event.event))
        return us + " lost " + std::to_string(lost->id.value);
    if (const auto* back = std::get_if<EngineBack>(&event.event))
        return us + " back " + std::to_string(back->id.value);
    if (const auto* fetched = std::get_if<GroupFetched>(&event.event))
        return us + " fetched " + std::to_string(fetched->group.value);
    return us + (std::holds_alternative<StepDone>(event.event) ? " step" : " other");
}

/// One PE and one DE, every NIC 1 GB/s: a kilobyte is a microsecond.
class FaultyWorld : public testing::Test {
protected:
    Fault slow_snic(double fraction, Duration from, std::optional<Duration> until = {}) const {
        return slow(topology.node_resource(NodeId{0}, ResourceKind::snic_rx), fraction, from,
                    until);
    }
    static Fault slow(ResourceId resource, double fraction, Duration from,
                      std::optional<Duration> until = {}) {
        Fault fault{.from = Instant{from}, .slowed = {{resource, fraction}}};
        if (until) fault.until = Instant{*until};
        return fault;
    }
    static Fault lose(EngineId engine, Duration from, Duration until) {
        return {.from = Instant{from}, .until = Instant{until}, .lost = {engine}};
    }
    /// When a read of this size ends that starts at 0, under these faults.
    Instant end_of_read(Bytes size, std::vector<Fault> faults) {
        world.plan(std::move(faults));
        start_read(size);
        while (const auto event = world.next()) {
            if (std::holds_alternative<TransferDone>(event->event)) return event->at;
        }
        ADD_FAILURE() << "it does not end";
        return {};
    }
    void start_read(Bytes size) {
        world.execute(StartTransfer{{.id = {0, 1},
                                     .movement = Movement::storage_to_host,
                                     .from = pe,
                                     .to = pe,
                                     .size = size,
                                     .layers = {0, 2},
                                     .request = {0, 1}},
                                    {}});
    }
    /// A request that waits for ever keeps the run going.
    void wait_for_somebody() { world.submit({Instant{}, {.id = {0, 1}, .prompt = 1_tok}, 1_tok}); }
    /// All that happens from here on but arrivals and first fetches.
    std::vector<std::string> rest() {
        std::vector<std::string> all;
        while (const auto event = world.next()) {
            const std::string text = told(*event);
            if (!text.starts_with("0 ")) all.push_back(text);
        }
        return all;
    }

    Layout layout{make_layout(small_shape(1, 1))};
    Topology topology{layout, small_capacities()};
    ComputeModel model{small_compute(1e9)};
    Windows windows{topology.node_resource(NodeId{0}, ResourceKind::snic_rx)};
    SimWorld world{layout, topology, model, {.layers = 2, .window = milliseconds{1}}, &windows};
};

// 10 kB at 0.5 GB/s.
TEST_F(FaultyWorld, SnicAtHalfRateDoublesTheTimeOfARead) {
    EXPECT_EQ(end_of_read(10'000_B, {slow_snic(0.5, {})}), Instant{microseconds{20}});
}

// 3 kB in the first 6 us, the other 7 kB at 1 GB/s: 6 + 7.
TEST_F(FaultyWorld, FaultLiftedInTheMiddleGivesTheFullRateBack) {
    EXPECT_EQ(end_of_read(10'000_B, {slow_snic(0.5, {}, microseconds{6})}),
              Instant{microseconds{13}});
}

// 4 kB in 4 us, the other 6 kB at 0.5 GB/s: 4 + 12.
TEST_F(FaultyWorld, FaultThatBeginsInTheMiddleSlowsTheRest) {
    EXPECT_EQ(end_of_read(10'000_B, {slow_snic(0.5, microseconds{4})}), Instant{microseconds{16}});
}

// 0 to 2 us at 0.5 GB/s, 1 kB; to 6 at 0.25, 1 kB; to 10 at 0.5, 2 kB; then 6 kB at 1: 10 + 6.
TEST_F(FaultyWorld, OfOverlappingFaultsTheSmallestFractionCounts) {
    EXPECT_EQ(end_of_read(10'000_B, {slow_snic(0.5, {}, microseconds{10}),
                                     slow_snic(0.25, microseconds{2}, microseconds{6})}),
              Instant{microseconds{16}});
}

// Half until 8 us, 4 kB, though one of the two ends at 4; then 6 kB: 8 + 6.
TEST_F(FaultyWorld, OneOfTwoEqualFaultsMayEnd) {
    EXPECT_EQ(end_of_read(10'000_B, {slow_snic(0.5, {}, microseconds{4}),
                                     slow_snic(0.5, microseconds{2}, microseconds{8})}),
              Instant{microseconds{14}});
}

// 1 GB/s stalled is 1 kB/s: 1 kB in the second that the stall lasts, 9 kB in 9 us after it.
TEST_F(FaultyWorld, StalledStorageLetsNothingThroughThatMatters) {
    EXPECT_EQ(end_of_read(10'000_B, {slow(ResourceId{0}, stalled_fraction, {}, seconds{1})}),
              Instant{seconds{1} + microseconds{9}});
}

// A fault at the border of two windows belongs to the second: 1 MB in 1 ms, then 0.5 MB in each.
TEST_F(FaultyWorld, WindowsShowTheRateOnEitherSideOfAFault) {
    end_of_read(2'000'000_B, {slow_snic(0.5, milliseconds{1})});
    world.close_windows();
    EXPECT_THAT(windows.used,
                ElementsAre(DoubleNear(1e6, 1), DoubleNear(5e5, 1), DoubleNear(5e5, 1)));
}

TEST_F(FaultyWorld, LostEngineComesBackAndItsLeaderFetches) {
    world.plan({lose(de, microseconds{1}, microseconds{5})});
    wait_for_somebody();
    EXPECT_THAT(rest(), ElementsAre("1 lost 1", "5 back 1", "5 fetched 1"));
}

TEST_F(FaultyWorld, EngineIsLostOnceAndBackWithTheEndOfTheLastFault) {
    world.plan({lose(de, microseconds{1}, microseconds{5}),
                lose(de, microseconds{2}, microseconds{9}),
                lose(de, microseconds{3}, microseconds{4})});
    wait_for_somebody();
    EXPECT_THAT(rest(), ElementsAre("1 lost 1", "9 back 1", "9 fetched 1"));
}

TEST_F(FaultyWorld, FaultThatBeginsAsAnotherEndsTakesOver) {
    world.plan(
        {lose(de, microseconds{5}, microseconds{9}), lose(de, microseconds{1}, microseconds{5})});
    wait_for_somebody();
    EXPECT_THAT(rest(), ElementsAre("1 lost 1", "9 back 1", "9 fetched 1"));
}

// The step has been computed by then: it is reported, and then the engine is gone.
TEST_F(FaultyWorld, EngineLostAtTheEndOfItsStepLosesNoStep) {
    wait_for_somebody();
    const Duration compute = milliseconds{1} + 2 * model.prefill_shared_layer(50_tok, 50_tok);
    const std::vector<Chunk> chunks{{{0, 1}, pe, 0_tok, 50_tok, milliseconds{1}, {}}};
    world.plan({lose(pe, compute, compute + Duration{microseconds{9}})});
    world.execute(StartStep{{.id = {pe_group, 1}, .role = Role::prefill, .chunks = chunks}, {}});
    std::vector<Event> at_end;
    while (const auto event = world.next()) {
        if (event->at == Instant{compute}) at_end.push_back(event->event);
    }
    ASSERT_EQ(at_end.size(), 3u);
    EXPECT_TRUE(std::holds_alternative<StepDone>(at_end[0]));
    EXPECT_TRUE(std::holds_alternative<GroupFetched>(at_end[1]));
    EXPECT_TRUE(std::holds_alternative<EngineLost>(at_end[2]));
}

// Lost a picosecond earlier the step is never reported.
TEST_F(FaultyWorld, EngineLostBeforeTheEndOfItsStepTakesItAlong) {
    wait_for_somebody();
    const Duration compute = milliseconds{1} + 2 * model.prefill_shared_layer(50_tok, 50_tok);
    const std::vector<Chunk> chunks{{{0, 1}, pe, 0_tok, 50_tok, milliseconds{1}, {}}};
    world.plan({{.from = Instant{compute - Duration{1}}, .lost = {pe}}});
    world.execute(StartStep{{.id = {pe_group, 1}, .role = Role::prefill, .chunks = chunks}, {}});
    while (const auto event = world.next()) {
        EXPECT_FALSE(std::holds_alternative<StepDone>(event->event));
    }
}

TEST_F(FaultyWorld, FaultsAheadKeepNoRunGoingThatIsDone) {
    world.plan({lose(de, hours{1}, hours{2}), slow_snic(0.5, hours{3})});
    wait_for_somebody();
    while (const auto event = world.next()) {
        if (std::holds_alternative<RequestArrived>(event->event)) {
            world.execute(RequestFinished{{0, 1}});
        }
    }
    EXPECT_EQ(world.now(), Instant{});
}

/// A collective of 0.8 GB/s on a link of 1 GB/s, and one flow of 100 kB.
class CollectiveOnASlowLink : public testing::Test {
protected:
    Instant end() {
        std::vector<FlowEvent> events;
        const auto at = network.next(Instant{});
        network.advance(*at, events);
        return *at;
    }
    static constexpr ResourceId link{0};
    Network network{{{ResourceKind::cnic_tx, Role::prefill, {1e9}, "link"}}, Network::Lanes::two};
};

// At half rate the collective may take 0.9 * 0.5 = 0.45 GB/s; the flow gets 0.05: 2 ms.
TEST_F(CollectiveOnASlowLink, LeavesATenthOfThePresentCapacity) {
    network.set_background(link, {0.8e9}, Instant{});
    network.set_capacity(link, {0.5e9}, Instant{});
    network.start(Instant{}, network.open_path({link}, TrafficClass::kv_cache), 100'000_B, 0);
    EXPECT_NEAR(to_seconds(end()), 2e-3, 1e-11);
}

// As wanted again: the flow gets 0.2 GB/s, 0.5 ms.
TEST_F(CollectiveOnASlowLink, TakesWhatItWantsOnceTheFaultIsLifted) {
    network.set_capacity(link, {0.5e9}, Instant{});
    network.set_background(link, {0.8e9}, Instant{});
    network.set_capacity(link, {1e9}, Instant{});
    network.start(Instant{}, network.open_path({link}, TrafficClass::kv_cache), 100'000_B, 0);
    EXPECT_NEAR(to_seconds(end()), 0.5e-3, 1e-11);
}

}  // namespace
}  // namespace dualpath::sim
