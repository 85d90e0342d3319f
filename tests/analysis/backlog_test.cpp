// Backlog: queues that settle, wait or grow, scripted second by second.
#include "analysis/backlog.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "tests/analysis/seam_feed.h"

namespace dualpath {
namespace {

/// An agent each second for `seconds`, and `waiting` requests then.
Backlog told(int seconds, const std::function<int(int)>& waiting) {
    Backlog backlog;
    for (int t = 0; t <= seconds; ++t) {
        backlog.arrived(at_s(t), Backlog::Turn::first);
        backlog.waiting(at_s(t), static_cast<std::uint64_t>(waiting(t)));
    }
    return backlog;
}

// Half of what arrives is served: 0.5 t wait at t. Over 100..200 s that rises from 50 to 100, by
// 50 %, and 100 waiting at 1 request/s is a wait of 100 s.
TEST(Backlog, GrowsWhenMoreArriveThanAreServed) {
    EXPECT_TRUE(told(200, [](int t) { return t / 2; }).growing());
}

TEST(Backlog, ThatIsLongButConstantDoesNotGrow) {
    EXPECT_FALSE(told(200, [](int t) { return 100 + t % 2; }).growing());
}

// 100 (1 - exp(-t / 40)): 91.8 at 100, 99.3 at 200. A significant slope, but a rise of 8 %.
TEST(Backlog, ThatSettlesDoesNotGrow) {
    const auto settling = [](int t) { return static_cast<int>(100 * (1 - std::exp(-t / 40.0))); };
    EXPECT_FALSE(told(200, settling).growing());
}

// 0.02 t: 4 at the end, at 1 request/s a wait of 4 s.
TEST(Backlog, OfAFewSecondsIsNone) {
    EXPECT_FALSE(told(200, [](int t) { return t / 50; }).growing());
}

// Arrivals end at 200 s; that the queue shrinks afterwards says nothing.
TEST(Backlog, IsJudgedWhileAgentsArrive) {
    Backlog backlog = told(200, [](int t) { return t / 2; });
    for (int t = 201; t < 400; ++t) {
        backlog.waiting(at_s(t), static_cast<std::uint64_t>(std::max(0, 300 - t)));
    }
    EXPECT_TRUE(backlog.growing());
    EXPECT_EQ(backlog.last_agent(), at_s(200));
}

// 20,000 s are more than 8192 samples: thinned out, same answer.
TEST(Backlog, OfALongRunKeepsItsShape) {
    EXPECT_TRUE(told(20'000, [](int t) { return t / 2; }).growing());
    EXPECT_FALSE(told(20'000, [](int) { return 10'000; }).growing());
}

TEST(Backlog, OfTooShortARunIsNotJudged) {
    EXPECT_FALSE(told(12, [](int t) { return 100 * t; }).growing());
    EXPECT_FALSE(Backlog{}.growing());
}

}  // namespace
}  // namespace dualpath
