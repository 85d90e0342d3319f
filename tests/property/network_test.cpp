// Laws of flows over time on random networks: bytes, ends, marks, fairness and repeatability.
#include "sim/network.h"

#include <map>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/property/comparison_workload.h"
#include "tests/sim/reference_max_min.h"

namespace dualpath::sim {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint32_t stress = 1;
#else
constexpr std::uint32_t stress = 5;
#endif

struct Action {
    enum Kind { start, start_capped, start_marked, cancel, capacity, background, wait } kind;
    std::size_t target;  ///< a path, a flow or a resource, modulo how many there are
    std::int64_t amount;
};

struct Story {
    std::vector<Resource> resources;
    std::vector<std::pair<Route, TrafficClass>> paths;
    std::vector<Action> actions;
};

rc::Gen<Action> some_action() {
    return rc::gen::apply(
        [](int kind, std::size_t target, std::int64_t amount) {
            constexpr std::array kinds{Action::start,        Action::start,  Action::start,
                                       Action::start_marked, Action::cancel, Action::start_capped,
                                       Action::wait,         Action::wait,   Action::capacity,
                                       Action::background};
            return Action{kinds[static_cast<std::size_t>(kind)], target, amount};
        },
        rc::gen::inRange(0, 10), rc::gen::inRange<std::size_t>(0, 1000),
        rc::gen::element<std::int64_t>(1, 2, 1000, 4096, 1'000'000, 1'000'000, 10'000'000,
                                       123'456'789, 1'000'000'000, 1'000'000'000'000));
}

/// CNICs with lanes at even places; a resource without lanes at an odd place 1 or 5 is crossed by
/// inference only, at 3 or 7 by KV-Cache only.
Story some_story() {
    Story story;
    const auto resources = *rc::gen::inRange<std::uint32_t>(1, 8);
    for (std::uint32_t i = 0; i < resources; ++i) {
        const double capacity = *rc::gen::element(50e9, 50e9, 25e9, 300e9, 50e9 * (1 + 1e-12), 1e9);
        story.resources.push_back({i % 2 == 0 ? ResourceKind::cnic_read : ResourceKind::dram,
                                   Role::prefill,
                                   {capacity},
                                   "resource"});
    }
    const auto paths = *rc::gen::inRange<std::size_t>(1, 9);
    for (std::size_t p = 0; p < paths; ++p) {
        const auto traffic = *rc::gen::element(TrafficClass::inference, TrafficClass::kv_cache);
        const auto crosses =
            *rc::gen::container<std::vector<bool>>(resources, rc::gen::arbitrary<bool>());
        Route route;
        for (std::uint32_t i = 0; i < resources; ++i) {
            const bool may = i % 2 == 0 || (i % 4 == 1) == (traffic == TrafficClass::inference);
            if (crosses[i] && may) route.push_back(ResourceId{i});
        }
        if (!route.empty()) story.paths.push_back({route, traffic});
    }
    story.actions = *rc::gen::container<std::vector<Action>>(some_action());
    return story;
}

/// Plays a story to its end and keeps the books that the laws are about.
class Player {
public:
    using Happened = std::tuple<std::int64_t, std::uint32_t, FlowEvent::Kind>;

    explicit Player(const Story& story)
        : story_{story}, network_{story.resources, Network::Lanes::two} {
        for (const auto& [route, traffic] : story.paths) {
            paths_.push_back(network_.open_path(route, traffic));
        }
        for (const Resource& resource : story.resources) built_.push_back(resource.capacity);
        background_.resize(story.resources.size(), 0);
        background_bytes_.resize(story.resources.size(), 0);
    }

    void play() {
        for (const Action& action : story_.actions) act(action);
        pass_until(Instant::max());
    }

    const std::vector<Happened>& happened() const { return happened_; }

    void every_flow_ended_once() const {
        RC_ASSERT(network_.flows_active() == 0);
        for (const FlowBooks& flow : flows_) RC_ASSERT(flow.ends + flow.cancels == 1);
    }

    void every_mark_came_before_its_end() const {
        for (const FlowBooks& flow : flows_) {
            if (flow.ends == 1) RC_ASSERT(flow.marks == (flow.has_mark ? 1 : 0));
            RC_ASSERT(!flow.marked_late);
        }
    }

    /// What the resources carried is what the flows moved, to 1e-6, or a byte per flow.
    void bytes_are_conserved() const {
        for (std::uint32_t r = 0; r < story_.resources.size(); ++r) {
            double moved = background_bytes_[r], slack = 1;
            for (const FlowBooks& flow : flows_) {
                const Route& route = story_.paths[flow.path].first;
                if (std::find(route.begin(), route.end(), ResourceId{r}) == route.end()) continue;
                moved += static_cast<double>(flow.moved.value);
                slack += 1;
            }
            const double carried = network_.usage(ResourceId{r}, now_).bytes;
            RC_ASSERT(std::abs(carried - moved) <= 1e-6 * moved + slack);
        }
    }

    /// No flow ended before its bytes could have moved at the highest rate its path ever had.
    void no_flow_was_early() const {
        for (const FlowBooks& flow : flows_) {
            if (flow.ends == 0) continue;
            const Duration least = flow.moved / BytesPerSecond{flow.fastest};
            RC_ASSERT(flow.ended - flow.started >= least - Duration{1});
        }
    }

private:
    struct FlowBooks {
        std::size_t path;
        FlowIndex index;
        Bytes moved;  ///< its size, less what a cancel gave back
        bool has_mark;
        double fastest;
        Instant started, ended{};
        int marks = 0, ends = 0, cancels = 0;
        bool marked_late = false;
    };

    void act(const Action& action) {
        const std::size_t resource = action.target % story_.resources.size();
        const ResourceId id{static_cast<std::uint32_t>(resource)};
        switch (action.kind) {
            case Action::start:
                return start(action, {}, {});
            case Action::start_capped:
                return start(action, BytesPerSecond{built_[resource].value * 0.3}, {});
            case Action::start_marked:
                return start(
                    action, {},
                    action.amount > 1 ? std::optional{Bytes{action.amount / 2}} : std::nullopt);
            case Action::cancel:
                return cancel(action.target);
            case Action::capacity:  // never above what was built, and above any background
                return network_.set_capacity(
                    id, BytesPerSecond{built_[resource].value / (action.amount % 2 == 0 ? 1 : 2)},
                    now_);
            case Action::background:
                book_background();
                background_[resource] = action.amount % 2 == 0 ? 0 : built_[resource].value / 4;
                return network_.set_background(id, BytesPerSecond{background_[resource]}, now_);
            case Action::wait:
                return pass_until(now_ + Duration{action.amount * 1000});
        }
    }

    void start(const Action& action, std::optional<BytesPerSecond> cap, std::optional<Bytes> mark) {
        if (paths_.empty()) return;
        const std::size_t path = action.target % paths_.size();
        double fastest = cap ? cap->value : unlimited;
        for (const ResourceId r : story_.paths[path].first) {
            fastest = std::min(fastest, built_[r.index()].value);
        }
        const auto owner = static_cast<std::uint32_t>(flows_.size());
        const FlowIndex index =
            network_.start(now_, paths_[path], Bytes{action.amount}, owner, cap, mark);
        flows_.push_back({path, index, Bytes{action.amount}, mark.has_value(), fastest, now_});
    }

    void cancel(std::size_t target) {
        if (flows_.empty()) return;
        FlowBooks& flow = flows_[target % flows_.size()];
        if (flow.ends + flow.cancels > 0) return;
        const Bytes left = network_.cancel(now_, flow.index);
        RC_ASSERT(left.value >= 0);
        RC_ASSERT(left <= flow.moved);
        flow.moved -= left;
        ++flow.cancels;
    }

    void book_background() {
        for (std::size_t r = 0; r < background_.size(); ++r) {
            background_bytes_[r] += background_[r] * to_seconds(now_ - booked_);
        }
        booked_ = now_;
    }

    void pass_until(Instant until) {
        std::vector<FlowEvent> events;
        for (auto next = network_.next(now_);; next = network_.next(now_)) {
            RC_ASSERT(reference::optimality_violation(network_.shares()) == "");
            if (!next || *next > until) break;
            RC_ASSERT(*next >= now_);
            RC_ASSERT(*next < Instant::max());  // nobody starves
            now_ = *next;
            events.clear();
            network_.advance(now_, events);
            RC_ASSERT(!events.empty());
            for (const FlowEvent& event : events) book(event);
        }
        if (until < Instant::max()) now_ = until;
        book_background();
    }

    void book(const FlowEvent& event) {
        happened_.emplace_back(now_.time_since_epoch().count(), event.owner, event.kind);
        FlowBooks& flow = flows_[event.owner];
        if (event.kind == FlowEvent::Kind::mark) {
            ++flow.marks;
            flow.marked_late = flow.ends > 0 || flow.cancels > 0;
        } else {
            ++flow.ends;
            flow.ended = now_;
        }
    }

    Story story_;
    Network network_;
    std::vector<PathIndex> paths_;
    std::vector<BytesPerSecond> built_;
    std::vector<double> background_, background_bytes_;
    std::vector<FlowBooks> flows_;
    std::vector<Happened> happened_;
    Instant now_{}, booked_{};
};

// The player asserts after each instant that the rates are feasible and max-min fair, and that the
// next event is neither in the past nor at the end of time: the low lane never starves.
RC_GTEST_PROP(NetworkLaws, EveryFlowEndsOnceAtFairRates, ()) {
    Player player{some_story()};
    player.play();
    player.every_flow_ended_once();
}

RC_GTEST_PROP(NetworkLaws, MarksComeBeforeEnds, ()) {
    Player player{some_story()};
    player.play();
    player.every_mark_came_before_its_end();
}

RC_GTEST_PROP(NetworkLaws, BytesAreConserved, ()) {
    Player player{some_story()};
    player.play();
    player.bytes_are_conserved();
}

RC_GTEST_PROP(NetworkLaws, NoFlowIsEarly, ()) {
    Player player{some_story()};
    player.play();
    player.no_flow_was_early();
}

RC_GTEST_PROP(NetworkLaws, SameStoryGivesTheSameEventsToTheBit, ()) {
    const Story story = some_story();
    Player first{story}, second{story};
    first.play();
    second.play();
    RC_ASSERT(first.happened() == second.happened());
}

// ---- the SimGrid comparison workload ----------------------------------------------------------

struct Closed {
    ComparisonWorkload::Mix mix;
    std::uint32_t nodes, slots, flows;
};
struct ClosedLoop : testing::TestWithParam<Closed> {};

TEST_P(ClosedLoop, StaysFairAndEndsEveryFlow) {
    const auto [mix, nodes, slots, flows] = GetParam();
    ComparisonWorkload workload{mix, nodes, slots, flows};
    std::uint64_t instants = 0;
    workload.run([&](Instant) {
        if (instants++ % 200 != 0) return;
        ASSERT_EQ(reference::optimality_violation(workload.network().shares()), "");
    });
    EXPECT_EQ(workload.network().flows_active(), 0);
    EXPECT_EQ(workload.network().flows_started(), flows / slots * slots);
}

TEST_P(ClosedLoop, GivesTheSameMakespanToTheBit) {
    const auto [mix, nodes, slots, flows] = GetParam();
    ComparisonWorkload first{mix, nodes, slots, flows}, second{mix, nodes, slots, flows};
    EXPECT_EQ(first.run([](Instant) {}), second.run([](Instant) {}));
}

using Mix = ComparisonWorkload::Mix;
INSTANTIATE_TEST_SUITE_P(Workloads, ClosedLoop,
                         testing::Values(Closed{Mix::random_pairs, 6, 100, 2'000 * stress},
                                         Closed{Mix::random_pairs, 12, 1'000, 4'000 * stress},
                                         Closed{Mix::serving, 6, 100, 2'000 * stress},
                                         Closed{Mix::serving, 12, 1'000, 4'000 * stress}),
                         [](const auto& each) {
                             return (each.param.mix == Mix::serving ? "Serving" : "RandomPairs") +
                                    std::to_string(each.param.nodes) + "Nodes" +
                                    std::to_string(each.param.slots) + "Slots";
                         });

}  // namespace
}  // namespace dualpath::sim
