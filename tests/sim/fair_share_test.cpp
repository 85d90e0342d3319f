// Max-min fair rates: small networks solved by hand.
#include "sim/fair_share.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/reference_max_min.h"

namespace dualpath::sim {
namespace {

constexpr Instant start{};
Instant at_seconds(double s) { return Instant{from_seconds(s)}; }

ClassIndex add_flows(FairShare& shares, const std::vector<LinkIndex>& path, int flows = 1) {
    const ClassIndex c = shares.add_class(path);
    for (int i = 0; i < flows; ++i) shares.add_flow(c, start);
    return c;
}

// Two flows meet on link 0 (10); the first also crosses link 1 (4).
// Link 1 fills first at 4, so flow 0 gets 4 and flow 1 the remaining 10 - 4 = 6.
TEST(FairShare, NarrowLinkLeavesTheRestToOthers) {
    FairShare shares;
    const LinkIndex wide = shares.add_link(10), narrow = shares.add_link(4);
    const ClassIndex held_back = add_flows(shares, {wide, narrow});
    const ClassIndex free = add_flows(shares, {wide});
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(held_back), 4);
    EXPECT_DOUBLE_EQ(shares.rate(free), 6);
    EXPECT_DOUBLE_EQ(shares.level(narrow), 4);
    EXPECT_DOUBLE_EQ(shares.level(wide), 6);
    EXPECT_DOUBLE_EQ(shares.load(wide), 10);
}

// Bertsekas & Gallager's chain: one flow crosses links of 10, 6 and 8; each link has one flow of
// its own. The link of 6 fills first, at 3. The others leave 10 - 3 = 7 and 8 - 3 = 5.
TEST(FairShare, LongPathIsHeldBackAtItsFirstBottleneck) {
    FairShare shares;
    const LinkIndex a = shares.add_link(10), b = shares.add_link(6), c = shares.add_link(8);
    const ClassIndex through = add_flows(shares, {a, b, c});
    const ClassIndex on_a = add_flows(shares, {a}), on_b = add_flows(shares, {b}),
                     on_c = add_flows(shares, {c});
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(through), 3);
    EXPECT_DOUBLE_EQ(shares.rate(on_a), 7);
    EXPECT_DOUBLE_EQ(shares.rate(on_b), 3);
    EXPECT_DOUBLE_EQ(shares.rate(on_c), 5);
}

// 12 over 3 flows of one class and 1 of another: 12 / 4 = 3 for each flow, not for each class.
TEST(FairShare, SharesAreByFlowNotByClass) {
    FairShare shares;
    const LinkIndex link = shares.add_link(12);
    const ClassIndex three = add_flows(shares, {link}, 3), one = add_flows(shares, {link}, 1);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(three), 3);
    EXPECT_DOUBLE_EQ(shares.rate(one), 3);
    shares.remove_flow(three, start);  // 12 / 3 = 4
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(three), 4);
    EXPECT_DOUBLE_EQ(shares.rate(one), 4);
}

// A cap of 2 on one of two flows over 10 leaves 8; without its flow the cap can be used again.
TEST(FairShare, CapHoldsBackItsFlowOnly) {
    FairShare shares;
    const LinkIndex link = shares.add_link(10);
    const LinkIndex cap = shares.add_cap(2);
    const ClassIndex capped = add_flows(shares, {link, cap}), free = add_flows(shares, {link});
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(capped), 2);
    EXPECT_DOUBLE_EQ(shares.rate(free), 8);
    shares.remove_flow(capped, start);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(free), 10);
    shares.remove_class(capped);
    shares.remove_cap(cap);
    EXPECT_EQ(shares.add_cap(7), cap);
}

// A cap above the fair share changes nothing: 10 / 2 = 5 < 6.
TEST(FairShare, WideCapDoesNotBind) {
    FairShare shares;
    const LinkIndex link = shares.add_link(10);
    const ClassIndex capped = add_flows(shares, {link, shares.add_cap(6)});
    const ClassIndex free = add_flows(shares, {link});
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(capped), 5);
    EXPECT_DOUBLE_EQ(shares.rate(free), 5);
}

// One flow over three links of the same capacity: 10 on each, and one of them is the bottleneck.
// After its end the same links carry two flows of 5.
TEST(FairShare, EqualLinksShareOneBottleneck) {
    FairShare shares;
    const LinkIndex a = shares.add_link(10), b = shares.add_link(10), last = shares.add_link(10);
    const std::vector<LinkIndex> path{a, b, last};
    const ClassIndex c = add_flows(shares, path);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(c), 10);
    EXPECT_EQ(reference::optimality_violation(shares), "");
    shares.add_flow(c, start);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(c), 5);
    shares.remove_flow(c, start);
    shares.remove_flow(c, start);
    shares.settle(start);
    for (const LinkIndex link : path) EXPECT_EQ(shares.level(link), unlimited);
}

// 20 of 50 are taken: two flows share 30. At a background of 40 they share 10.
TEST(FairShare, BackgroundLoadIsTakenOffFirst) {
    FairShare shares;
    const LinkIndex link = shares.add_link(50);
    shares.set_background(link, 20, start);
    const ClassIndex c = add_flows(shares, {link}, 2);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(c), 15);
    EXPECT_DOUBLE_EQ(shares.load(link), 50);
    shares.set_background(link, 40, start);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(c), 5);
}

// The link goes from 10 to 4 and to 30: a flow that also crosses a link of 20 gets 4, then 20.
TEST(FairShare, RatesFollowACapacity) {
    FairShare shares;
    const LinkIndex changing = shares.add_link(10), other = shares.add_link(20);
    const ClassIndex c = add_flows(shares, {changing, other});
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(c), 10);
    shares.set_capacity(changing, 4, start);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(c), 4);
    shares.set_capacity(changing, 30, start);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(c), 20);
}

// 10 for one second, then 4 (capped) for two: 10 + 2 * 4 = 18 bytes, and one second at the limit.
TEST(FairShare, UsageIsTheIntegralOfTheLoad) {
    FairShare shares;
    const LinkIndex link = shares.add_link(10);
    const ClassIndex fast = add_flows(shares, {link});
    shares.settle(start);
    shares.remove_flow(fast, at_seconds(1));
    const ClassIndex slow = shares.add_class(std::vector{link, shares.add_cap(4)});
    shares.add_flow(slow, at_seconds(1));
    shares.settle(at_seconds(1));
    const auto usage = shares.usage(link, at_seconds(3));
    EXPECT_DOUBLE_EQ(usage.bytes, 18);
    EXPECT_DOUBLE_EQ(usage.at_limit_s, 1);
}

/// One CNIC of 50 with its two lanes, the low one guaranteed 1 %.
struct Lanes : testing::Test {
    FairShare shares;
    LinkIndex high = shares.add_link(50), low = shares.add_link(50);
    Lanes() { shares.pair_lanes(high, low, 0.01); }
    ClassIndex capped_on_high(double cap) { return add_flows(shares, {high, shares.add_cap(cap)}); }
};

// Inference at 30 on a CNIC of 50 leaves 20 to KV-Cache.
TEST_F(Lanes, LowLaneGetsWhatTheHighOneLeaves) {
    const ClassIndex inference = capped_on_high(30);
    const ClassIndex kv = add_flows(shares, {low}, 2);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(inference), 30);
    EXPECT_DOUBLE_EQ(shares.rate(kv), 10);
}

// Saturating inference gets 99 % of 50 = 49.5 and KV-Cache exactly 1 % = 0.5, however many flows
// either has; without KV-Cache flows inference gets all 50.
TEST_F(Lanes, SaturatedHighLaneLeavesExactlyOnePercent) {
    const ClassIndex inference = add_flows(shares, {high}, 5);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(inference), 10);
    const ClassIndex kv = add_flows(shares, {low}, 2);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(inference) * 5, 49.5);
    EXPECT_DOUBLE_EQ(shares.rate(kv) * 2, 0.5);
    shares.remove_flow(kv, start);
    shares.remove_flow(kv, start);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(inference), 10);
}

// Two inference flows capped at 10 leave 30; when one ends, nothing else changes on the high lane,
// yet KV-Cache has 40.
TEST_F(Lanes, EndOfACappedInferenceFlowGivesItsShareToTheLowLane) {
    const ClassIndex stays = capped_on_high(10), ends = capped_on_high(10);
    const ClassIndex kv = add_flows(shares, {low});
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(kv), 30);
    shares.remove_flow(ends, start);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(stays), 10);
    EXPECT_DOUBLE_EQ(shares.rate(kv), 40);
}

// A background of 20 on the CNIC counts as inference: KV-Cache gets 30, beside a saturating flow
// of 49.5 - 20 = 29.5 it gets 0.5.
TEST_F(Lanes, BackgroundCountsAsHigh) {
    shares.set_background(high, 20, start);
    const ClassIndex kv = add_flows(shares, {low});
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(kv), 30);
    const ClassIndex inference = add_flows(shares, {high});
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(inference), 29.5);
    EXPECT_DOUBLE_EQ(shares.rate(kv), 0.5);
}

// At half the capacity, 25, saturating inference gets 24.75 and KV-Cache 0.25.
TEST_F(Lanes, BothLanesFollowTheCapacity) {
    const ClassIndex inference = add_flows(shares, {high}), kv = add_flows(shares, {low});
    shares.settle(start);
    shares.set_capacity(high, 25, start);
    shares.settle(start);
    EXPECT_DOUBLE_EQ(shares.rate(inference), 24.75);
    EXPECT_DOUBLE_EQ(shares.rate(kv), 0.25);
}

TEST(FairShareDeathTest, ImpossibleRequestsAreBugs) {
    FairShare shares;
    const LinkIndex link = shares.add_link(10);
    const ClassIndex c = shares.add_class(std::vector{link});
    EXPECT_DEATH(shares.add_link(0), "a link carries something");
    EXPECT_DEATH(shares.add_class({}), "a path has 1 to max_path links");
    EXPECT_DEATH(shares.remove_flow(c, start), "a flow ends once");
    EXPECT_DEATH(shares.set_background(link, 10, start), "leaves room for flows");
}

}  // namespace
}  // namespace dualpath::sim
