// When things happen in the simulated world, worked out by hand.
#include "sim/sim_world.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/control/small_cluster.h"

namespace dualpath::sim {
namespace {

using namespace literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::Each;
using testing::Ge;

constexpr EngineId pe{0}, de{1};
constexpr ExpertGroupId pe_group{0}, de_group{1};

Transfer transfer(std::uint32_t slot, Movement movement, Bytes size) {
    const bool on_decode =
        movement == Movement::hbm_to_host || movement == Movement::host_to_storage;
    const EngineId from = on_decode ? de : pe;
    const EngineId to = movement == Movement::hbm_to_peer_host ? de : from;
    return {.id = {slot, 1},
            .movement = movement,
            .from = from,
            .to = to,
            .size = size,
            .layers = {0, 2},
            .request = {0, 1}};
}

/// GPU use and bytes of every window, by column.
class Windows final : public ResourceObserver {
public:
    void on_window(Instant, Instant, std::span<const ResourceUse> use) override {
        used.emplace_back();
        for (const ResourceUse& u : use) used.back().push_back(u.used);
    }
    std::vector<double> of(std::size_t column) const {
        std::vector<double> values;
        for (const auto& window : used) values.push_back(window[column]);
        return values;
    }
    double sum(std::size_t column) const {
        double total = 0;
        for (const auto& window : used) total += window[column];
        return total;
    }
    std::vector<std::vector<double>> used;
};

/// One PE and one DE, every NIC 1 GB/s: a kilobyte is a microsecond. Two layers.
class SmallWorld : public testing::Test {
protected:
    SmallWorld() : world{make({.layers = 2, .window = milliseconds{1}})} {}
    SimWorld make(const SimSettings& settings) {
        return {layout, topology, model, settings, &windows};
    }
    static Instant when_done(SimWorld& w, const auto& which) {
        while (const auto event = w.next()) {
            if (which(event->event)) return event->at;
        }
        ADD_FAILURE() << "it is not reported";
        return {};
    }
    static Instant when_done(SimWorld& w, TransferId id) {
        return when_done(w, [&](const Event& e) {
            const auto* done = std::get_if<TransferDone>(&e);
            return done && done->id == id;
        });
    }
    static Instant when_done(SimWorld& w, StepId id) {
        return when_done(w, [&](const Event& e) {
            const auto* done = std::get_if<StepDone>(&e);
            return done && done->step == id;
        });
    }
    /// 50 tokens with 1 ms of attention.
    void start_step(std::optional<TransferId> load = {}) {
        const Request request{.id = {0, 1}, .prompt = 50_tok};
        world.submit({Instant{}, request, 5_tok});
        chunks = {{{0, 1}, pe, 0_tok, 50_tok, milliseconds{1}, load, Chunk::End::last}};
        world.execute(
            StartStep{{.id = {pe_group, 1}, .role = Role::prefill, .chunks = chunks}, {}});
    }
    /// Attention and twice the rest of a layer.
    Duration compute() const {
        return Duration{milliseconds{1}} + 2 * model.prefill_shared_layer(50_tok, 50_tok);
    }

    Layout layout{make_layout(small_shape(1, 1))};
    Topology topology{layout, small_capacities()};
    ComputeModel model{small_compute(1e9)};
    Windows windows;
    SimWorld world;
    std::vector<Chunk> chunks;
};

TEST_F(SmallWorld, ReadTakesItsLatencyAndItsLineTime) {
    SimWorld slow = make({.layers = 2, .storage_latency = microseconds{7}});
    slow.execute(StartTransfer{transfer(0, Movement::storage_to_host, 10'000_B), {}});
    EXPECT_EQ(when_done(slow, TransferId{0, 1}), Instant{microseconds{17}});
}

TEST_F(SmallWorld, RequestReachesControlAfterItsLatency) {
    SimWorld slow = make({.layers = 2, .control_latency = microseconds{3}});
    slow.submit({Instant{microseconds{5}}, {.id = {0, 1}, .prompt = 1_tok}, 1_tok});
    const auto arrived = [](const Event& e) { return std::holds_alternative<RequestArrived>(e); };
    EXPECT_EQ(when_done(slow, arrived), Instant{microseconds{8}});
}

TEST_F(SmallWorld, StepWithoutLoadsTakesItsComputeTime) {
    start_step();
    EXPECT_EQ(when_done(world, StepId{pe_group, 1}), Instant{compute()});
}

// 10 MB take 10 ms. The first of two layers is there after 5 ms, where computing starts; the last
// layer is computed after the last byte: 10 ms and half of the compute time.
TEST_F(SmallWorld, StepEndsOneLayerAfterItsLastLoad) {
    world.execute(StartTransfer{transfer(0, Movement::host_to_hbm, 10'000'000_B), {}});
    start_step(TransferId{0, 1});
    EXPECT_EQ(when_done(world, StepId{pe_group, 1}), Instant{milliseconds{10}} + compute() / 2);
}

// The same load of 1 MB, 1 ms: computing starts at 0.5 ms and is what takes longer.
TEST_F(SmallWorld, ShortLoadIsHiddenBehindTheComputation) {
    world.execute(StartTransfer{transfer(0, Movement::host_to_hbm, 1'000'000_B), {}});
    start_step(TransferId{0, 1});
    EXPECT_EQ(when_done(world, StepId{pe_group, 1}), Instant{microseconds{500}} + compute());
}

// The first of two layers of 10 kB leaves while the second is computed; the rest, 5 kB, after the
// step: 5 us.
TEST_F(SmallWorld, LastLayerOfASendFollowsTheStep) {
    start_step();
    world.execute(
        StartTransfer{transfer(0, Movement::hbm_to_peer_host, 10'000_B), StepId{pe_group, 1}});
    const Instant end = when_done(world, StepId{pe_group, 1});
    const Duration after = when_done(world, TransferId{0, 1}) - end;
    EXPECT_NEAR(to_seconds(after), 5e-6, 1e-9);
}

// 10 MB do not get faster than the line: 10 ms from the start of the step on.
TEST_F(SmallWorld, LongSendFlowsOnAfterTheStep) {
    start_step();
    world.execute(
        StartTransfer{transfer(0, Movement::hbm_to_peer_host, 10'000'000_B), StepId{pe_group, 1}});
    EXPECT_NEAR(to_seconds(when_done(world, TransferId{0, 1})), 10e-3, 1e-9);
}

// A step that waits for its load computes no more than its work, in no window less than nothing.
TEST_F(SmallWorld, GpuUseOfAStepThatWaitsIsItsWork) {
    world.execute(StartTransfer{transfer(0, Movement::host_to_hbm, 10'000'000_B), {}});
    start_step(TransferId{0, 1});
    while (world.next()) {
    }
    world.close_windows();
    const std::size_t gpu = topology.resources().size() + pe.index();
    EXPECT_NEAR(windows.sum(gpu), to_seconds(compute()), 1e-12);
    EXPECT_THAT(windows.of(gpu), Each(Ge(0.0)));
}

TEST_F(SmallWorld, WindowsAddUpToTheBytesMoved) {
    world.execute(StartTransfer{transfer(0, Movement::storage_to_host, 3'500'000_B), {}});
    while (world.next()) {
    }
    world.close_windows();
    EXPECT_EQ(windows.used.size(), 4u);  // 3.5 ms
    EXPECT_NEAR(windows.sum(topology.node_resource(NodeId{0}, ResourceKind::snic_rx).index()),
                3'500'000, 1);
}

TEST_F(SmallWorld, ResourcesAreNamedAsInTheTopologyAndThenTheGpus) {
    const auto columns = resource_columns(layout, topology);
    ASSERT_EQ(columns.size(), topology.resources().size() + 2);
    EXPECT_EQ(columns[columns.size() - 2].name, "prefill0.0.gpu");
    EXPECT_EQ(columns.back().name, "decode0.0.gpu");
    EXPECT_EQ(columns.back().kind, "gpu");
    EXPECT_EQ(columns.back().role, Role::decode);
}

// Two nodes of one GPU decode as one group, so its all-to-all crosses the CNICs. The batch is left
// by its only sequence between two steps: from then on the CNIC carries nothing.
TEST(SimWorldCollectives, EmptyBatchLeavesTheNetworkAlone) {
    const Layout layout = make_layout({1, 2, 1, 1, 2});
    const Topology topology{layout, small_capacities()};
    const ComputeModel model{small_compute(1e15, 1, 2, 1)};  // mostly all-to-all
    SimWorld world{layout, topology, model, {.layers = 2}, nullptr};
    world.submit({Instant{}, {.id = {0, 1}, .prompt = 50_tok}, 9_tok});
    const std::vector<Join> joins{{{0, 1}, de, 50_tok}};
    world.execute(StartStep{{.id = {de_group, 1}, .role = Role::decode, .joins = joins}, {}});
    const ResourceId cnic = topology.engine_resource(de, ResourceKind::cnic_tx);
    while (const auto event = world.next()) {
        if (std::holds_alternative<StepDone>(event->event)) break;
    }
    const double carried = world.network().usage(cnic, world.now()).bytes;
    EXPECT_GT(carried, 0);
    world.execute(Cancel{RequestId{0, 1}});
    world.execute(SetTimer{TimerId{1}, world.now() + milliseconds{5}});
    while (world.next()) {
    }
    EXPECT_EQ(world.network().usage(cnic, world.now()).bytes, carried);
}

}  // namespace
}  // namespace dualpath::sim
