// Hashes of the seam: every field counts.
#include "analysis/run_hash.h"

#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "tests/analysis/seam_feed.h"

namespace dualpath {
namespace {

std::uint64_t hash_of(const Command& command) {
    WordHash hash;
    hash_command(hash, command);
    return hash.value();
}

/// Each change makes another command than all others.
template <class C>
void expect_all_differ(const C& plain, const std::vector<std::function<void(C&)>>& changes) {
    std::set<std::uint64_t> seen{hash_of(plain)};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        C changed = plain;
        changes[i](changed);
        EXPECT_TRUE(seen.insert(hash_of(changed)).second) << "change " << i;
    }
}

TEST(CommandHash, SeesEveryFieldOfATransfer) {
    expect_all_differ<StartTransfer>(
        {},
        {[](auto& c) { c.transfer.id.slot = 1; }, [](auto& c) { c.transfer.id.serial = 1; },
         [](auto& c) { c.transfer.movement = Movement::host_to_hbm; },
         [](auto& c) { c.transfer.from.value = 1; }, [](auto& c) { c.transfer.to.value = 1; },
         [](auto& c) { c.transfer.size.value = 1; }, [](auto& c) { c.transfer.layers.first = 1; },
         [](auto& c) { c.transfer.layers.end = 1; }, [](auto& c) { c.transfer.request.serial = 1; },
         [](auto& c) { c.after = StepId{}; },
         [](auto& c) {
             c.after = StepId{{1}, 0};
         },
         [](auto& c) { c.after = TransferId{}; }});
}

TEST(CommandHash, SeesEveryFieldOfAStep) {
    static std::vector<Chunk> chunks(1);
    static std::vector<Join> joins(1);
    const auto with = [](auto change) {
        return [change](StartStep& c) {
            chunks.assign(1, {});
            change(chunks[0]);
            c.step.chunks = chunks;
        };
    };
    const auto with_join = [](auto change) {
        return [change](StartStep& c) {
            joins.assign(1, {});
            change(joins[0]);
            c.step.joins = joins;
        };
    };
    expect_all_differ<StartStep>(
        {},
        {[](auto& c) { c.step.id.group.value = 1; }, [](auto& c) { c.step.id.number = 1; },
         [](auto& c) { c.step.role = Role::decode; }, [](auto& c) { c.after = TransferId{}; },
         with([](Chunk&) {}), with([](Chunk& c) { c.request.slot = 1; }),
         with([](Chunk& c) { c.request.serial = 1; }), with([](Chunk& c) { c.engine = {1}; }),
         with([](Chunk& c) { c.cached = {1}; }), with([](Chunk& c) { c.tokens = {1}; }),
         with([](Chunk& c) { c.attention = Duration{1}; }),
         with([](Chunk& c) { c.load = TransferId{}; }),
         with([](Chunk& c) { c.end = Chunk::End::more; }), with_join([](Join&) {}),
         with_join([](Join& j) { j.request.slot = 1; }),
         with_join([](Join& j) { j.request.serial = 1; }),
         with_join([](Join& j) { j.engine = {1}; }), with_join([](Join& j) { j.context = {1}; })});
}

TEST(CommandHash, SeesEveryFieldOfTheOthers) {
    expect_all_differ<AssignRequest>(
        {}, {[](auto& c) { c.id.slot = 1; }, [](auto& c) { c.id.serial = 1; },
             [](auto& c) { c.prefill.value = 1; }, [](auto& c) { c.decode.value = 1; },
             [](auto& c) { c.path = ReadPath::decode; }, [](auto& c) { c.hit.value = 1; },
             [](auto& c) { c.decode_chosen += Duration{1}; },
             [](auto& c) { c.engines_chosen += Duration{1}; }});
    expect_all_differ<SetTimer>(
        {}, {[](auto& c) { c.id.value = 1; }, [](auto& c) { c.at += Duration{1}; }});
    expect_all_differ<Cancel>(
        {}, {[](auto& c) {
                 c.what = TransferId{1, 0};
             },
             [](auto& c) { c.what = StepId{}; }, [](auto& c) { c.what = RequestId{}; }});
    expect_all_differ<RequestFinished>(
        {}, {[](auto& c) { c.id.slot = 1; }, [](auto& c) { c.id.serial = 1; },
             [](auto& c) { c.outcome = Outcome::failed; }});
}

TEST(RunHash, IsFixedForAllTime) {
    RunHash hash;
    SeamFeed feed{&hash};
    EXPECT_EQ(hash.hex(), "cbf29ce484222325");
    tell_one_turn(feed, {0, 1}, {0}, 0);
    EXPECT_EQ(hash.events(), 9U);
    EXPECT_EQ(hash.commands(), 7U);
    EXPECT_EQ(hash.hex(), "d3211a5dc7745020");
}

TEST(RunHash, SeesAnEventsInstantAndOrder) {
    const auto run = [](double first, double second) {
        RunHash hash;
        SeamFeed feed{&hash};
        feed.tell(first, GroupFetched{{0}});
        feed.tell(second, GroupFetched{{1}});
        return hash.value();
    };
    EXPECT_EQ(run(1, 2), run(1, 2));
    EXPECT_NE(run(1, 2), run(1, 3));
    EXPECT_NE(run(1, 2), run(2, 1));
}

}  // namespace
}  // namespace dualpath
