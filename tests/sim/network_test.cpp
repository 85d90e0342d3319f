// Flows over time: ends, marks and usage worked out by hand.
#include "sim/network.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/reference_max_min.h"

namespace dualpath::sim {
namespace {

using namespace literals;
using Kind = FlowEvent::Kind;

constexpr Instant zero{};
Instant at_seconds(double s) { return Instant{from_seconds(s)}; }

struct Happened {
    Instant at;
    std::uint32_t owner;
    Kind kind;
    bool operator==(const Happened&) const = default;
};
void PrintTo(const Happened& h, std::ostream* out) {
    *out << "{" << h.at.time_since_epoch().count() << " ps, owner " << h.owner
         << (h.kind == Kind::mark ? ", mark}" : ", end}");
}

/// Times by hand are whole picoseconds here; rounding up may add one, and never takes one away.
MATCHER_P(IsRoundedUp, exact, "") {
    return arg.owner == exact.owner && arg.kind == exact.kind && arg.at >= exact.at &&
           arg.at <= exact.at + Duration{1};
}
testing::Matcher<const Happened&> HappensAt(Instant at, std::uint32_t owner, Kind kind) {
    return IsRoundedUp(Happened{at, owner, kind});
}

std::vector<Resource> links(const std::vector<BytesPerSecond>& capacities,
                            ResourceKind kind = ResourceKind::dram) {
    std::vector<Resource> resources;
    for (const auto capacity : capacities) {
        resources.push_back({kind, Role::prefill, capacity, "link"});
    }
    return resources;
}

/// What happens up to `until`, and nothing after it.
std::vector<Happened> run(Network& network, Instant from, Instant until = Instant::max()) {
    std::vector<Happened> happened;
    std::vector<FlowEvent> events;
    for (auto next = network.next(from); next && *next <= until; next = network.next(*next)) {
        events.clear();
        network.advance(*next, events);
        for (const auto& event : events) happened.push_back({*next, event.owner, event.kind});
    }
    return happened;
}

using testing::ElementsAre;

// 50 B at 50 GB/s: 50 / 50e9 s = 1000 ps, to the picosecond.
TEST(Network, WholeResultsStayWhole) {
    Network network{links({50_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, path, 50_B, 1);
    EXPECT_THAT(run(network, zero), ElementsAre(Happened{Instant{Duration{1000}}, 1, Kind::end}));
}

// 1 B at 3 GB/s takes 333.3 ps; it has not moved before 334.
TEST(Network, RoundingIsNeverEarly) {
    Network network{links({3_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, path, 1_B, 1);
    EXPECT_THAT(run(network, zero), ElementsAre(Happened{Instant{Duration{334}}, 1, Kind::end}));
}

// 100 MB/s = 0.01 B in 100 ps. The first flow moves that much alone, its other 9.99 B at half the
// rate take 199,800 ps: it ends at 199,900. The second has 0.01 B left then, another 100 ps.
TEST(Network, SlowFlowsAreNotHurried) {
    Network network{links({BytesPerSecond{100e6}}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, path, 10_B, 1);
    network.next(zero);
    network.start(Instant{Duration{100}}, path, 10_B, 2);
    EXPECT_THAT(run(network, Instant{Duration{100}}),
                ElementsAre(HappensAt(Instant{Duration{199'900}}, 1U, Kind::end),
                            HappensAt(Instant{Duration{200'000}}, 2U, Kind::end)));
}

// Alone, A moves 5 GB of its 10 in 0.5 s. Then both have 5 GB/s: A ends at 1.5 s. B has 5 GB left,
// alone at 10 GB/s: 2.0 s.
TEST(Network, FlowThatJoinsMidwaySlowsTheOther) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, path, 10_GB, 'A');
    EXPECT_THAT(run(network, zero, at_seconds(0.5)), ElementsAre());
    network.start(at_seconds(0.5), path, 10_GB, 'B');
    EXPECT_THAT(run(network, at_seconds(0.5)),
                ElementsAre(HappensAt(at_seconds(1.5), 'A', Kind::end),
                            HappensAt(at_seconds(2.0), 'B', Kind::end)));
}

// The same on two paths that meet on link 0: A also crosses link 1 of 4 GB/s. A: 10 GB at 4 GB/s
// from 0 = 2.5 s. B from 0.5 s at 10 - 4 = 6 GB/s: 12 GB by 2.5 s, its last 3 GB at 10: 2.8 s.
TEST(Network, RestOfALinkGoesToTheFlowThatCanUseIt) {
    Network network{links({10_GBps, 4_GBps}), Network::Lanes::one};
    const PathIndex narrow =
        network.open_path({ResourceId{0}, ResourceId{1}}, TrafficClass::kv_cache);
    const PathIndex wide = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, narrow, 10_GB, 'A');
    EXPECT_THAT(run(network, zero, at_seconds(0.5)), ElementsAre());
    network.start(at_seconds(0.5), wide, 15_GB, 'B');
    EXPECT_THAT(run(network, at_seconds(0.5)),
                ElementsAre(HappensAt(at_seconds(2.5), 'A', Kind::end),
                            HappensAt(at_seconds(2.8), 'B', Kind::end)));
}

// 10 GB at 10 GB/s with a mark at 4 GB: 0.4 s. From then on B shares: 6 GB at 5 GB/s = 1.2 s more;
// B has 2 GB left then.
TEST(Network, MarkComesWhenItsBytesHaveMoved) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, path, 10_GB, 'A', {}, 4_GB);
    EXPECT_THAT(run(network, zero, at_seconds(0.5)),
                ElementsAre(HappensAt(at_seconds(0.4), 'A', Kind::mark)));
    network.start(at_seconds(0.5), path, 7_GB, 'B', {}, 5_GB);
    // A has 5 GB left: ends at 1.5 s, when B's mark at 5 GB is due too; B's 2 GB take 0.2 s.
    EXPECT_THAT(run(network, at_seconds(0.5)),
                ElementsAre(HappensAt(at_seconds(1.5), 'A', Kind::end),
                            HappensAt(at_seconds(1.5), 'B', Kind::mark),
                            HappensAt(at_seconds(1.7), 'B', Kind::end)));
}

// A and B share 10 GB/s for 0.5 s: 2.5 GB each. Cancelled then, A leaves 7.5 GB; B's 7.5 GB go at
// 10 GB/s: 0.5 + 0.75 = 1.25 s.
TEST(Network, CancelGivesTheBytesLeft) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    const FlowIndex a = network.start(zero, path, 10_GB, 'A');
    network.start(zero, path, 10_GB, 'B');
    EXPECT_THAT(run(network, zero, at_seconds(0.5)), ElementsAre());
    EXPECT_EQ(network.cancel(at_seconds(0.5), a), Bytes{7'500'000'000});
    EXPECT_EQ(network.flows_active(), 1);
    EXPECT_THAT(run(network, at_seconds(0.5)),
                ElementsAre(HappensAt(at_seconds(1.25), 'B', Kind::end)));
    EXPECT_NEAR(network.usage(ResourceId{0}, at_seconds(2)).bytes, 12.5e9, 1);
}

// A at its cap of 2 GB/s: 1 GB in 0.5 s. B beside it at 8 GB/s: 4 of 10 GB, the other 6 GB at
// 10 GB/s: 0.5 + 0.6 = 1.1 s.
TEST(Network, CapLimitsOneFlowOfAPath) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, path, 1_GB, 'A', 2_GBps);
    network.start(zero, path, 10_GB, 'B');
    EXPECT_THAT(run(network, zero), ElementsAre(HappensAt(at_seconds(0.5), 'A', Kind::end),
                                                HappensAt(at_seconds(1.1), 'B', Kind::end)));
}

// One after the other, capped flows use the same private class again: 1 GB at 4, 2 and 1 GB/s.
TEST(Network, CapsAreUsedAgain) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    Instant now = at_seconds(1000);  // late: a cap's clock must not count the time before it
    for (const auto cap : {4_GBps, 2_GBps, 1_GBps}) {
        network.start(now, path, 1_GB, 7, cap);
        const Instant end = now + 1_GB / cap;
        EXPECT_THAT(run(network, now), ElementsAre(HappensAt(end, 7U, Kind::end)));
        now = end + Duration{1000};
    }
    EXPECT_EQ(network.shares().link_count(), 2);
}

// 5 of 10 GB at 10 GB/s, then the link halves: 5 GB at 5 GB/s end at 1.5 s.
TEST(Network, CapacityMayChangeMidway) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, path, 10_GB, 'A');
    EXPECT_THAT(run(network, zero, at_seconds(0.5)), ElementsAre());
    network.set_capacity(ResourceId{0}, 5_GBps, at_seconds(0.5));
    EXPECT_THAT(run(network, at_seconds(0.5)),
                ElementsAre(HappensAt(at_seconds(1.5), 'A', Kind::end)));
    EXPECT_EQ(network.capacity(ResourceId{0}), 5_GBps);
    // 10 GB in all, and 1.5 s of 2 at the limit, whatever the limit was.
    const auto usage = network.usage(ResourceId{0}, at_seconds(2));
    EXPECT_NEAR(usage.bytes, 10e9, 1);
    EXPECT_NEAR(usage.at_limit_s, 1.5, 1e-9);
}

// A background of 4 GB/s leaves 6 of 10: 6 GB take 1 s. Usage counts both.
TEST(Network, BackgroundTakesItsPartFirst) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.set_background(ResourceId{0}, 4_GBps, zero);
    network.start(zero, path, 6_GB, 'A');
    EXPECT_THAT(run(network, zero), ElementsAre(HappensAt(at_seconds(1), 'A', Kind::end)));
    EXPECT_NEAR(network.usage(ResourceId{0}, at_seconds(1)).bytes, 10e9, 1);
}

// Two flows on different links end at one instant (10 GB at 10 GB/s, 4 GB at 4 GB/s), and two on
// one link: each instant is one advance.
TEST(Network, EndsAtOneInstantComeTogether) {
    Network network{links({10_GBps, 4_GBps}), Network::Lanes::one};
    const PathIndex first = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    const PathIndex second = network.open_path({ResourceId{1}}, TrafficClass::kv_cache);
    network.start(zero, second, 2_GB, 1);
    network.start(zero, first, 10_GB, 2);
    network.start(zero, second, 2_GB, 3);
    std::vector<FlowEvent> events;
    EXPECT_EQ(network.next(zero), at_seconds(1));
    network.advance(at_seconds(1), events);
    EXPECT_EQ(events.size(), 3);
    EXPECT_EQ(network.next(at_seconds(1)), std::nullopt);
    EXPECT_EQ(network.flows_active(), 0);
}

// Inference at its cap of 30 GB/s: 30 GB in 1 s. KV-Cache moves 20 of 40 GB meanwhile, then 20 GB
// at 50 GB/s: 1.4 s.
TEST(Network, KvCacheGetsWhatInferenceLeavesOnACnic) {
    Network network{links({50_GBps}, ResourceKind::cnic_read), Network::Lanes::two};
    const PathIndex inference = network.open_path({ResourceId{0}}, TrafficClass::inference);
    const PathIndex kv = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, inference, 30_GB, 'I', 30_GBps);
    network.start(zero, kv, 40_GB, 'K');
    EXPECT_THAT(run(network, zero), ElementsAre(HappensAt(at_seconds(1), 'I', Kind::end),
                                                HappensAt(at_seconds(1.4), 'K', Kind::end)));
    EXPECT_NEAR(network.usage(ResourceId{0}, at_seconds(1.4)).bytes, 70e9, 1);
}

// Saturating inference has 49.5 GB/s: 99 GB in 2 s. KV-Cache moves 1 GB of 11 in that time, the
// rest at 50 GB/s: 2.2 s. Without lanes (25 GB/s each) K ends at 0.44 s, I at 0.44 + 88/50 = 2.2 s.
TEST(Network, SaturatingInferenceLeavesOnePercentOnlyWithLanes) {
    Network two{links({50_GBps}, ResourceKind::cnic_tx), Network::Lanes::two};
    Network one{links({50_GBps}, ResourceKind::cnic_tx), Network::Lanes::one};
    for (Network* network : {&two, &one}) {
        const PathIndex inference = network->open_path({ResourceId{0}}, TrafficClass::inference);
        const PathIndex kv = network->open_path({ResourceId{0}}, TrafficClass::kv_cache);
        network->start(zero, inference, 99_GB, 'I');
        network->start(zero, kv, 11_GB, 'K');
    }
    EXPECT_THAT(run(two, zero), ElementsAre(HappensAt(at_seconds(2), 'I', Kind::end),
                                            HappensAt(at_seconds(2.2), 'K', Kind::end)));
    EXPECT_THAT(run(one, zero), ElementsAre(HappensAt(at_seconds(0.44), 'K', Kind::end),
                                            HappensAt(at_seconds(2.2), 'I', Kind::end)));
}

// First second: inference alone on the whole CNIC. Second: KV-Cache alone. Third: both. Fourth:
// nobody. The CNIC was at its limit for three seconds, whichever lane filled it.
TEST(Network, LimitOfACnicCountsBothLanes) {
    Network network{links({50_GBps}, ResourceKind::cnic_read), Network::Lanes::two};
    const PathIndex inference = network.open_path({ResourceId{0}}, TrafficClass::inference);
    const PathIndex kv = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, inference, 50_GB, 'I');
    run(network, zero);
    network.start(at_seconds(1), kv, 50_GB, 'K');
    run(network, at_seconds(1));
    network.start(at_seconds(2), inference, Bytes{49'500'000'000}, 'I');
    network.start(at_seconds(2), kv, Bytes{500'000'000}, 'K');
    run(network, at_seconds(2));
    EXPECT_NEAR(network.usage(ResourceId{0}, at_seconds(4)).at_limit_s, 3, 1e-6);
    EXPECT_NEAR(network.usage(ResourceId{0}, at_seconds(4)).bytes, 150e9, 1);
}

// A class loses its only flow and gets another in the same instant: 10 GB/s all the time.
TEST(Network, PathIsRefilledInTheInstantItEmpties) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, path, 10_GB, 0);
    Instant now{};
    std::vector<FlowEvent> events;
    for (std::uint32_t i = 1; i <= 100; ++i) {
        now = network.next(now).value();
        network.advance(now, events);
        ASSERT_EQ(events.size(), i);
        const FlowIndex short_lived = network.start(now, path, 1_GB, 1000);
        EXPECT_EQ(network.cancel(now, short_lived), 1_GB);
        network.start(now, path, 10_GB, i);
    }
    EXPECT_EQ(now, at_seconds(100));
}

TEST(Network, FlowMayStartAndBeCancelledInOneInstant) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    for (const std::optional<BytesPerSecond> cap :
         {std::optional<BytesPerSecond>{}, std::optional{1_GBps}}) {
        const FlowIndex flow = network.start(zero, path, 1_GB, 1, cap);
        EXPECT_EQ(network.cancel(zero, flow), 1_GB);
    }
    EXPECT_EQ(network.next(zero), std::nullopt);
    EXPECT_EQ(network.flows_active(), 0);
}

// 5,000 flows of 1 MB at one instant share 10 GB/s: all end at 5 GB / 10 GB/s = 0.5 s, in the order
// in which they started.
TEST(Network, ThousandsOfFlowsShareOneInstant) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    for (std::uint32_t i = 0; i < 5000; ++i) network.start(zero, path, 1_MB, i);
    const auto happened = run(network, zero);
    ASSERT_EQ(happened.size(), 5000);
    for (std::uint32_t i = 0; i < 5000; ++i) {
        EXPECT_THAT(happened[i], HappensAt(at_seconds(0.5), i, Kind::end));
    }
}

// 1e15 B at 50 GB/s = 20,000 s with 1 B flows coming and going every 1,000 s: no event is lost to
// the coarse grid of doubles at 1e15 (0.125), and no loop waits for a byte that never moves.
TEST(Network, TinyFlowsPassAHugeOne) {
    Network network{links({50_GBps, 49_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    const PathIndex both =
        network.open_path({ResourceId{0}, ResourceId{1}}, TrafficClass::kv_cache);
    network.start(zero, path, Bytes{1'000'000'000'000'000}, 'H', {}, Bytes{999'999'999'999'999});
    std::vector<Happened> happened;
    Instant now{};
    for (int i = 1; i < 20; ++i) {
        const Instant later = at_seconds(1000.0 * i + 0.123);
        for (const auto& h : run(network, now, later)) happened.push_back(h);
        now = later;
        network.start(now, i % 2 == 0 ? path : both, 1_B, 't');
    }
    for (const auto& h : run(network, now)) happened.push_back(h);
    ASSERT_EQ(happened.size(), 21);
    EXPECT_EQ(happened.back().owner, 'H');
    EXPECT_EQ(happened.back().kind, Kind::end);
    EXPECT_NEAR(to_seconds(happened.back().at), 20'000, 1e-3);
}

// 1e15 B at 1 % of 1 MB/s would take 3,171 years, more than run time can count; once inference has
// ended after 1 s, KV-Cache is cancelled.
TEST(Network, EndBeyondTheEndOfTimeIsNoEvent) {
    Network network{links({BytesPerSecond{1e6}}, ResourceKind::cnic_rx), Network::Lanes::two};
    const PathIndex inference = network.open_path({ResourceId{0}}, TrafficClass::inference);
    const PathIndex kv = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    const FlowIndex endless = network.start(zero, kv, Bytes{1'000'000'000'000'000}, 'K');
    network.start(zero, inference, Bytes{990'000}, 'I');
    EXPECT_THAT(run(network, zero, at_seconds(2)),
                ElementsAre(HappensAt(at_seconds(1), 'I', Kind::end)));
    // 1 s at 0.01 MB/s, 1 s at 1 MB/s.
    EXPECT_EQ(network.cancel(at_seconds(2), endless), Bytes{1'000'000'000'000'000 - 1'010'000});
}

// Slots of ended flows are given out again; the ends still reach their own owners.
TEST(Network, FlowSlotsAreUsedAgain) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path = network.open_path({ResourceId{0}}, TrafficClass::kv_cache);
    const FlowIndex first = network.start(zero, path, 10_GB, 1);
    run(network, zero);
    const FlowIndex second = network.start(at_seconds(1), path, 10_GB, 2);
    EXPECT_EQ(first, second);
    EXPECT_THAT(run(network, at_seconds(1)), ElementsAre(HappensAt(at_seconds(2), 2U, Kind::end)));
    EXPECT_EQ(network.flows_started(), 2);
}

// A route that names a resource twice still loads it once: 10 GB at 10 GB/s.
TEST(Network, RepeatedResourceCountsOnce) {
    Network network{links({10_GBps}), Network::Lanes::one};
    const PathIndex path =
        network.open_path({ResourceId{0}, ResourceId{0}}, TrafficClass::kv_cache);
    network.start(zero, path, 10_GB, 1);
    EXPECT_THAT(run(network, zero), ElementsAre(HappensAt(at_seconds(1), 1U, Kind::end)));
}

}  // namespace
}  // namespace dualpath::sim
