// The event queue: a total order by (instant, ticket), against the standard library's stable sort.
#include "sim/event_queue.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dualpath::sim {
namespace {

Instant at_ps(std::int64_t ps) { return Instant{Duration{ps}}; }

TEST(EventQueue, EarlierInstantComesFirst) {
    EventQueue<int> queue;
    queue.schedule(at_ps(30), 3);
    queue.schedule(at_ps(10), 1);
    queue.schedule(at_ps(20), 2);
    EXPECT_EQ(queue.top().what, 1);
    EXPECT_EQ(queue.pop().what, 1);
    EXPECT_EQ(queue.pop().what, 2);
    EXPECT_EQ(queue.pop().what, 3);
    EXPECT_TRUE(queue.empty());
}

// 1,000 events at one instant: the only order left is the order of scheduling.
TEST(EventQueue, EqualInstantsKeepTheOrderOfScheduling) {
    EventQueue<int> queue;
    for (int i = 0; i < 1000; ++i) queue.schedule(at_ps(7), i);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(queue.pop().what, i);
}

// The second event at 5 ps is scheduled after the first was popped: it still waits behind 5 ps'
// other event, which has the lower ticket, and before 6 ps.
TEST(EventQueue, ScheduledWhilePoppingStandsBehindItsEquals) {
    EventQueue<char> queue;
    queue.schedule(at_ps(5), 'a');
    queue.schedule(at_ps(5), 'b');
    queue.schedule(at_ps(6), 'd');
    EXPECT_EQ(queue.pop().what, 'a');
    queue.schedule(at_ps(5), 'c');
    EXPECT_EQ(queue.pop().what, 'b');
    EXPECT_EQ(queue.pop().what, 'c');
    EXPECT_EQ(queue.pop().what, 'd');
}

TEST(EventQueueDeathTest, NothingComesOutOfAnEmptyQueue) {
    EventQueue<int> queue;
    EXPECT_DEATH(queue.pop(), "only what was scheduled can happen");
}

RC_GTEST_PROP(EventQueue, PopsLikeAStableSort, ()) {
    const auto instants = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 50));
    EventQueue<std::size_t> queue;
    std::vector<std::size_t> expected(instants.size());
    for (std::size_t i = 0; i < instants.size(); ++i) {
        queue.schedule(at_ps(instants[i]), i);
        expected[i] = i;
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::size_t a, std::size_t b) { return instants[a] < instants[b]; });
    RC_ASSERT(queue.size() == instants.size());
    for (const std::size_t i : expected) RC_ASSERT(queue.pop().what == i);
    RC_ASSERT(queue.empty());
}

// Pushes and pops mixed, as in a run: each pop gives the least (instant, ticket) present.
RC_GTEST_PROP(EventQueue, AlwaysPopsTheLeastPresent, ()) {
    const auto moves = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-10, 20));
    EventQueue<std::uint64_t> queue;
    std::vector<std::pair<int, std::uint64_t>> present;
    std::uint64_t ticket = 0;
    for (const int move : moves) {
        if (move >= 0) {
            queue.schedule(at_ps(move), ticket);
            present.emplace_back(move, ticket++);
        } else if (!present.empty()) {
            const auto least = std::min_element(present.begin(), present.end());
            const auto popped = queue.pop();
            RC_ASSERT(popped.at == at_ps(least->first));
            RC_ASSERT(popped.what == least->second);
            present.erase(least);
        }
    }
}

}  // namespace
}  // namespace dualpath::sim
