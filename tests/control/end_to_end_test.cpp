// Agents, control and the simulated world together, on random small clusters with random trouble.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "sim/sim_world.h"
#include "tests/control/small_cluster.h"
#include "workload/agents.h"

namespace dualpath {
namespace {

enum class System { basic, layerwise, dual_path, dualpath, whole_dualpath, oracle };

/// All that a run depends on. Sizes of memories are in percent of what the longest turn needs.
struct Case {
    std::uint32_t prefill_nodes, decode_nodes, gpus, prefill_ep, decode_ep;
    System system;
    std::uint32_t agents, trajectories;
    int hbm_percent, decode_hbm_percent, buffer_percent;
    int estimate, quota_us, budget, in_flight, attempts;
    double flops;
    bool lanes, collectives;
    int abort_percent, losses, weights;
    std::uint64_t seed;
};

Case any_case(bool trouble) {
    const auto from = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
    Case c{};
    c.prefill_nodes = static_cast<std::uint32_t>(from(1, 3));
    c.decode_nodes = static_cast<std::uint32_t>(from(1, 3));
    c.gpus = static_cast<std::uint32_t>(from(1, 2));
    c.prefill_ep = *rc::gen::element(1U, c.gpus, c.prefill_nodes * c.gpus);
    c.decode_ep = *rc::gen::element(1U, c.gpus, c.decode_nodes * c.gpus);
    c.system = static_cast<System>(from(0, 5));
    c.agents = static_cast<std::uint32_t>(from(1, 24));
    c.trajectories = static_cast<std::uint32_t>(from(1, 24));
    c.hbm_percent = from(100, 300);
    c.decode_hbm_percent = from(100, 500);
    c.buffer_percent = from(100, 500);
    c.estimate = from(0, 40);
    c.quota_us = *rc::gen::element(1, 10, 100, 100'000);
    c.budget = *rc::gen::element(1, 7, 64, 8192);
    c.in_flight = from(1, 3);
    c.attempts = *rc::gen::element(1, 3, 1000);
    c.flops = *rc::gen::element(1e8, 1e10, 1e13);
    c.lanes = from(0, 1) == 1;
    c.collectives = from(0, 1) == 1;
    if (trouble) {
        c.abort_percent = from(0, 50);
        c.losses = from(0, 6);
        c.weights = from(0, 3);
    }
    c.seed = static_cast<std::uint64_t>(from(1, 1'000'000));
    return c;
}

ControlSettings settings_of(const Case& c) {
    ControlSettings s = small_settings();
    s.read_queue_limit = Tokens{500};
    s.load_limit = Tokens{1500};
    s.generation_estimate = Tokens{c.estimate};
    s.compute_quota = std::chrono::microseconds{c.quota_us};
    s.token_budget = Tokens{c.budget};
    s.storage_transfers_in_flight = c.in_flight;
    s.max_attempts = c.attempts;
    if (c.system == System::oracle) s.movements = ControlSettings::Movements::free;
    if (c.system == System::whole_dualpath) s.loading = ControlSettings::Loading::whole_prompt;
    if (c.system >= System::dualpath) return s;
    s.prefill_policy = s.decode_policy = "round_robin";
    s.batching = ControlSettings::Batching::token_budget;
    s.read_path = c.system == System::dual_path ? "round_robin" : "prefill_only";
    if (c.system == System::basic) s.loading = ControlSettings::Loading::whole_prompt;
    return s;
}

std::vector<Trajectory> trajectories_of(const Case& c) {
    Rng rng{{c.seed}, "test.trajectories"};
    const auto below = [&](int n) {
        return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(n)));
    };
    std::vector<Trajectory> all;
    for (std::uint32_t i = 0; i < c.trajectories; ++i) {
        Trajectory t;
        if (below(3) == 0) t.prefix = {{"system", Tokens{45}}};
        Tokens context = prefix_tokens(t);
        for (std::int64_t turn = 0; turn <= below(4); ++turn) {
            Turn next{.append = Tokens{1 + below(300)}, .output = Tokens{1 + below(60)}};
            if (below(6) == 0) next.output = Tokens{1};
            if (turn > 0 && below(5) == 0) next.keep = Tokens{context.value / 2};
            if (below(3) == 0) next.tool_latency = std::chrono::microseconds{below(500)};
            context = lengths_after(context, next).end;
            t.turns.push_back(next);
        }
        all.push_back(std::move(t));
    }
    return all;
}

/// One run with everything that is checked while it goes on.
class Run final : public RunObserver {
public:
    using Seen = std::tuple<std::int64_t, std::size_t, std::uint32_t, std::uint32_t, std::size_t>;

    explicit Run(const Case& c)
        : case_{c},
          agents_{trajectories_of(c), {.agents = c.agents, .seed = {c.seed}}},
          layout_{
              make_layout({c.prefill_nodes, c.decode_nodes, c.gpus, c.prefill_ep, c.decode_ep})},
          topology_{layout_, small_capacities()},
          model_{small_compute(c.flops, static_cast<int>(c.prefill_ep),
                               static_cast<int>(c.decode_ep), static_cast<int>(c.gpus))},
          control_{facts(), settings_of(c), model_},
          world_{layout_,
                 topology_,
                 model_,
                 {.lanes = c.lanes ? sim::Network::Lanes::two : sim::Network::Lanes::one,
                  .layers = 2,
                  .control_latency = std::chrono::microseconds{c.seed % 3},
                  .storage_latency = std::chrono::microseconds{c.seed % 5},
                  .collectives = c.collectives},
                 nullptr},
          aborts_{{c.seed}, "test.aborts"} {}

    /// Engines lost and back, new weights, within the time a quiet run takes.
    void plan_trouble(Duration over) {
        Rng rng{{case_.seed}, "test.trouble"};
        const auto instant = [&](double from, double to) {
            return Instant{from_seconds(to_seconds(over) * (from + (to - from) * rng.uniform()))};
        };
        std::map<std::uint32_t, Instant> back;
        for (int i = 0; i < case_.losses; ++i) {
            const EngineId id{static_cast<std::uint32_t>(rng.below(layout_.engines.size()))};
            const Instant lost = instant(0, 1), again = lost + (instant(0.001, 0.3) - Instant{});
            if (lost <= back[id.value]) continue;
            back[id.value] = again;
            world_.schedule(lost, EngineLost{id});
            world_.schedule(again, EngineBack{id});
        }
        std::vector<Instant> changes;
        for (int i = 0; i < case_.weights; ++i) changes.push_back(instant(0, 1));
        std::sort(changes.begin(), changes.end());
        for (std::size_t i = 0; i < changes.size(); ++i) {
            world_.schedule(changes[i], WeightsChanged{static_cast<Version>(i + 1)});
        }
    }

    void go() {
        RunObserver* self = this;
        const RunEnd end = run(world_, control_, agents_, {&self, 1}, [&] {
            check_capacities();
            return seen_.size() > 200'000;
        });
        RC_ASSERT(end == RunEnd::complete);
        RC_ASSERT(waiting_.empty());
        RC_ASSERT(agents_.agents_done() == agents_.agents());
        RC_ASSERT(control_.unfinished() == 0u);
        RC_ASSERT(control_.at_rest());
    }

    void on_event(const TimedEvent& event, std::span<const Command> commands) override {
        seen_.push_back(digest(event, commands.size()));
        if (const auto* arrived = std::get_if<RequestArrived>(&event.event)) {
            const RequestId id = arrived->request.id;
            RC_ASSERT(waiting_.insert(id).second);
            if (static_cast<int>(aborts_.below(100)) < case_.abort_percent) {
                const double after = 3e-3 * aborts_.uniform() * aborts_.uniform();
                world_.schedule(event.at + from_seconds(after), RequestAborted{id});
            }
        }
        for (const Command& command : commands) {
            if (const auto* done = std::get_if<RequestFinished>(&command)) {
                RC_ASSERT(waiting_.erase(done->id) == 1u);
                ++outcomes_[static_cast<std::size_t>(done->outcome)];
            } else if (const auto* start = std::get_if<StartTransfer>(&command)) {
                commanded_[static_cast<std::size_t>(start->transfer.movement)] +=
                    static_cast<double>(start->transfer.size.value);
                ++transfers_;
                sizes_[start->transfer.id] = static_cast<double>(start->transfer.size.value);
            } else if (const auto* cancel = std::get_if<Cancel>(&command)) {
                const auto* transfer = std::get_if<TransferId>(&cancel->what);
                if (transfer) cancelled_ += sizes_.at(*transfer);
            }
        }
        for (std::uint32_t i = 0; i < layout_.engines.size(); ++i) {
            check_pool(control_.memory().hbm(EngineId{i}));
        }
        for (std::uint32_t i = 0; i < layout_.nodes.size(); ++i) {
            check_pool(control_.memory().buffer(NodeId{i}));
        }
    }

    const std::vector<Seen>& seen() const { return seen_; }
    const std::array<int, 3>& outcomes() const { return outcomes_; }
    double transfers() const { return transfers_; }
    double cancelled() const { return cancelled_; }  ///< bytes
    double commanded(Movement m) const { return commanded_[static_cast<std::size_t>(m)]; }
    Duration lasted() const { return world_.now() - Instant{}; }

    /// Bytes that crossed all resources of a kind, of one role.
    double carried(ResourceKind kind, std::optional<Role> role = {}) const {
        double bytes = 0;
        for (std::uint32_t i = 0; i < topology_.resources().size(); ++i) {
            const Resource& r = topology_.resources()[i];
            if (r.kind != kind || (role && r.role != *role)) continue;
            bytes += world_.network().usage(ResourceId{i}, world_.now()).bytes;
        }
        return bytes;
    }

private:
    /// As scenarios/assembly requires: each memory holds the longest turn.
    ControlFacts facts() const {
        const KvSize kv = small_kv();
        const Bytes longest = kv.resident(agents_.longest() + Tokens{case_.estimate});
        const auto percent = [&](int p) { return Bytes{longest.value * p / 100}; };
        return {layout_,
                kv,
                percent(case_.hbm_percent),
                percent(case_.decode_hbm_percent),
                percent(case_.buffer_percent),
                percent(case_.buffer_percent)};
    }

    static void check_pool(const MemoryPool& pool) {
        RC_ASSERT(pool.used() >= Bytes{0});
        RC_ASSERT(pool.used() <= pool.capacity());
    }

    void check_capacities() const {
        const sim::FairShare& shares = world_.network().shares();
        if (!shares.settled()) return;
        for (sim::LinkIndex link = 0; link < shares.link_count(); ++link) {
            RC_ASSERT(shares.load(link) <= shares.capacity(link) * (1 + 1e-9));
        }
    }

    static Seen digest(const TimedEvent& event, std::size_t commands) {
        std::uint32_t a = 0, b = 0;
        if (const auto* done = std::get_if<TransferDone>(&event.event)) {
            a = done->id.slot;
            b = done->id.serial;
        } else if (const auto* step = std::get_if<StepDone>(&event.event)) {
            a = step->step.group.value;
            b = static_cast<std::uint32_t>(step->finished.size());
        }
        return {event.at.time_since_epoch().count(), event.event.index(), a, b, commands};
    }

    Case case_;
    Agents agents_;
    Layout layout_;
    Topology topology_;
    ComputeModel model_;
    DualPathControl control_;
    sim::SimWorld world_;
    Rng aborts_;
    std::vector<Seen> seen_;
    std::set<RequestId> waiting_;
    std::array<int, 3> outcomes_{};
    std::array<double, 6> commanded_{};
    std::map<TransferId, double> sizes_;
    double transfers_ = 0, cancelled_ = 0;
};

/// How long the run takes when nothing goes wrong.
Duration quiet_duration(Case c) {
    c.abort_percent = c.losses = c.weights = 0;
    Run run{c};
    run.go();
    return run.lasted();
}

RC_GTEST_PROP(EndToEnd, EveryRequestEndsOnceAndEverythingIsGivenBack, ()) {
    Run run{any_case(false)};
    run.go();
    RC_ASSERT(run.outcomes()[static_cast<std::size_t>(Outcome::aborted)] == 0);
}

RC_GTEST_PROP(EndToEnd, EveryRequestEndsOnceWhateverGoesWrong, ()) {
    const Case c = any_case(true);
    Run run{c};
    run.plan_trouble(quiet_duration(c));
    run.go();
}

RC_GTEST_PROP(EndToEnd, TwoRunsAreTheSameEventForEvent, ()) {
    const Case c = any_case(true);
    const Duration quiet = quiet_duration(c);
    Run one{c}, two{c};
    one.plan_trouble(quiet);
    two.plan_trouble(quiet);
    one.go();
    two.go();
    RC_ASSERT(one.seen() == two.seen());
}

// Each movement crosses resources that it shares with at most one other, so their sums tell all
// six apart: storage links; the GPU ports out of PEs and DEs; the ports into DEs (stage) and PEs;
// and what leaves DE memory over PCIe beyond the stage is what the PEs pull. A transfer may be off
// by a byte, for its end falls on a picosecond, and one that is cancelled (the send of a one-token
// output that fills no new block) has moved a part of its bytes.
RC_GTEST_PROP(EndToEnd, LinksCarryTheBytesThatWereCommanded, ()) {
    Case c = any_case(false);
    c.decode_hbm_percent = 100'000;
    Run run{c};
    run.go();
    using enum ResourceKind;
    const auto same = [&](double carried, double commanded) {
        const double rounding = 1e-6 * commanded + run.transfers();
        RC_ASSERT(carried <= commanded + rounding);
        RC_ASSERT(carried >= commanded - run.cancelled() - rounding);
    };
    const double into_peer = run.commanded(Movement::host_to_peer_hbm);
    const double loads = run.commanded(Movement::host_to_hbm);
    const double staged = run.carried(gpu_in, Role::decode);
    same(run.carried(storage_read), run.commanded(Movement::storage_to_host));
    same(run.carried(storage_write), run.commanded(Movement::host_to_storage));
    same(run.carried(gpu_out, Role::prefill), run.commanded(Movement::hbm_to_peer_host));
    same(run.carried(gpu_out, Role::decode), run.commanded(Movement::hbm_to_host));
    same(run.carried(gpu_in, Role::prefill) + staged, loads + into_peer);
    same(run.carried(pcie_in, Role::decode) - staged, into_peer);
}

}  // namespace
}  // namespace dualpath
