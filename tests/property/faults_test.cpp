// Random faults on random small clusters: whatever is slow or gone for a while, nothing is lost or
// ended twice, and a run depends on nothing but its seed.
#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "control/policies.h"
#include "sim/sim_world.h"
#include "tests/control/small_cluster.h"
#include "workload/agents.h"

namespace dualpath {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t runs = 100;
#else
constexpr std::uint64_t runs = 1000;
#endif

/// Draws of one named stream.
class Draw {
public:
    Draw(std::uint64_t seed, const char* stream) : rng_{{seed}, stream} {}
    std::uint32_t from(std::uint32_t low, std::uint32_t high) {
        return low + static_cast<std::uint32_t>(rng_.below(high - low + 1));
    }
    bool one_in(std::uint32_t n) { return from(1, n) == 1; }
    double uniform() { return rng_.uniform(); }

private:
    Rng rng_;
};

ClusterShape any_shape(std::uint64_t seed) {
    Draw draw{seed, "test.shape"};
    ClusterShape s{draw.from(1, 2), draw.from(1, 3), draw.from(1, 2)};
    s.prefill_ep = draw.one_in(2) ? 1 : s.gpus_per_node;
    s.decode_ep = draw.one_in(2) ? 1 : s.decode_nodes * s.gpus_per_node;
    return s;
}

ControlSettings any_settings(std::uint64_t seed) {
    Draw draw{seed, "test.settings"};
    ControlSettings s = small_settings();
    s.prefill_policy = prefill_policy_names[draw.from(0, prefill_policy_names.size() - 1)];
    s.decode_policy = decode_policy_names[draw.from(0, decode_policy_names.size() - 1)];
    s.read_path = read_path_names[draw.from(0, read_path_names.size() - 1)];
    if (draw.one_in(4)) s.loading = ControlSettings::Loading::whole_prompt;
    if (draw.one_in(3)) s.batching = ControlSettings::Batching::token_budget;
    s.max_attempts = draw.one_in(2) ? 3 : 1000;
    return s;
}

std::vector<Trajectory> any_trajectories(std::uint64_t seed) {
    Draw draw{seed, "test.trajectories"};
    std::vector<Trajectory> all(draw.from(1, 6));
    for (Trajectory& t : all) {
        for (std::uint32_t turns = draw.from(1, 3); turns > 0; --turns) {
            t.turns.push_back({.append = Tokens{draw.from(1, 300)},
                               .output = Tokens{draw.from(1, 30)},
                               .tool_latency = std::chrono::microseconds{draw.from(0, 300)}});
        }
    }
    return all;
}

/// One run with everything that is checked while it goes on.
class FaultyRun final : public RunObserver {
public:
    explicit FaultyRun(std::uint64_t seed)
        : seed_{seed},
          agents_{any_trajectories(seed), {.agents = 6, .seed = {seed}}},
          layout_{make_layout(any_shape(seed))},
          topology_{layout_, small_capacities()},
          model_{small_compute(1e10, static_cast<int>(layout_.shape.prefill_ep),
                               static_cast<int>(layout_.shape.decode_ep),
                               static_cast<int>(layout_.shape.gpus_per_node))},
          control_{facts(), any_settings(seed), model_},
          world_{layout_,
                 topology_,
                 model_,
                 {.lanes = seed % 3 == 0 ? sim::Network::Lanes::one : sim::Network::Lanes::two,
                  .layers = 2},
                 nullptr} {}

    /// Up to six faults that begin and end within `over` or a little later; they may overlap.
    void plan_faults(Duration over) {
        Draw draw{seed_, "test.faults"};
        std::vector<Fault> faults(draw.from(1, 6));
        for (Fault& fault : faults) {
            const auto part = [&] { return from_seconds(to_seconds(over) * draw.uniform()); };
            fault.from = Instant{part()};
            fault.until = fault.from + part() + Duration{1};
            if (draw.one_in(2)) {
                lose(draw, fault);
                continue;
            }
            for (std::uint32_t n = draw.from(1, 8); n > 0; --n) {
                const auto last = static_cast<std::uint32_t>(topology_.resources().size() - 1);
                const double left = draw.one_in(6) ? stalled_fraction : 0.05 + draw.uniform() / 2;
                fault.slowed.push_back({ResourceId{draw.from(0, last)}, left});
            }
        }
        world_.plan(std::move(faults));
    }

    void go() {
        RunObserver* self = this;
        const RunEnd end =
            run(world_, control_, agents_, {&self, 1}, [&] { return events_ > 100'000; });
        EXPECT_EQ(end, RunEnd::complete);
        EXPECT_TRUE(waiting_.empty());
        EXPECT_EQ(agents_.agents_done(), agents_.agents());
        EXPECT_TRUE(control_.at_rest());
    }

    void on_event(const TimedEvent& event, std::span<const Command> commands) override {
        ++events_;
        digest_ = digest_ * 31 + static_cast<std::uint64_t>(event.at.time_since_epoch().count()) +
                  event.event.index() * 7 + commands.size();
        losses_ += std::holds_alternative<EngineLost>(event.event) ? 1 : 0;
        if (const auto* arrived = std::get_if<RequestArrived>(&event.event)) {
            EXPECT_TRUE(waiting_.insert(arrived->request.id).second);
        }
        for (const Command& command : commands) {
            const auto* done = std::get_if<RequestFinished>(&command);
            if (!done) continue;
            EXPECT_EQ(waiting_.erase(done->id), 1u);
        }
        const sim::FairShare& shares = world_.network().shares();
        if (!shares.settled()) return;
        for (sim::LinkIndex link = 0; link < shares.link_count(); ++link) {
            EXPECT_LE(shares.load(link), shares.capacity(link) * (1 + 1e-9));
        }
    }

    std::uint64_t digest() const { return digest_; }
    std::uint64_t losses() const { return losses_; }
    Duration lasted() const { return world_.now() - Instant{}; }

private:
    /// Room for the longest turn, and a little more.
    ControlFacts facts() const {
        const Bytes longest = small_kv().resident(agents_.longest() + Tokens{10});
        const Bytes some{longest.value * static_cast<std::int64_t>(1 + seed_ % 4)};
        return {layout_, small_kv(), some, some, some, some};
    }

    /// An engine, or a node with all of its engines.
    void lose(Draw& draw, Fault& fault) const {
        const auto last = static_cast<std::uint32_t>(layout_.engines.size() - 1);
        const EngineId first{draw.from(0, last)};
        const bool node = draw.one_in(2);
        for (std::uint32_t i = 0; i < layout_.engines.size(); ++i) {
            const EngineId id{i};
            if (id == first || (node && layout_.node_of(id) == layout_.node_of(first)))
                fault.lost.push_back(id);
        }
    }

    std::uint64_t seed_;
    Agents agents_;
    Layout layout_;
    Topology topology_;
    ComputeModel model_;
    DualPathControl control_;
    sim::SimWorld world_;
    std::set<RequestId> waiting_;
    std::uint64_t events_ = 0, digest_ = 0, losses_ = 0;
};

TEST(FaultLaws, EveryRequestEndsOnceUnderRandomFaults) {
    std::uint64_t losses = 0;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        SCOPED_TRACE(seed);
        FaultyRun quiet{seed}, faulty{seed};
        quiet.go();
        faulty.plan_faults(quiet.lasted());
        faulty.go();
        losses += faulty.losses();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(losses, runs);  // more than one a run: the faults did hit
}

TEST(FaultLaws, TheSameSeedGivesTheSameRun) {
    for (std::uint64_t seed = 1; seed <= runs / 10; ++seed) {
        SCOPED_TRACE(seed);
        FaultyRun one{seed}, two{seed};
        for (FaultyRun* run : {&one, &two}) {
            run->plan_faults(std::chrono::milliseconds{3});
            run->go();
        }
        EXPECT_EQ(one.digest(), two.digest());
    }
}

}  // namespace
}  // namespace dualpath
