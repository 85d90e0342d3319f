// How many events and flows per second: the event queue alone, and the network in a closed loop.
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "sim/event_queue.h"
#include "tests/property/comparison_workload.h"

namespace dualpath::sim {
namespace {

/// The hold model: take the first event, schedule another an exponential delay later.
void hold_event_queue(benchmark::State& state) {
    const auto entries = static_cast<std::size_t>(state.range(0));
    Rng random{Seed{1}, "hold"};
    std::vector<Duration> delays(1 << 16);
    for (Duration& delay : delays) delay = from_seconds(random.exponential(1e-3));
    EventQueue<std::uint32_t> queue;
    for (std::uint32_t i = 0; i < entries; ++i) {
        queue.schedule(Instant{} + delays[i % delays.size()], i);
    }
    std::size_t next = 0;
    for (auto _ : state) {
        const auto entry = queue.pop();
        queue.schedule(entry.at + delays[next++ % delays.size()], entry.what);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(hold_event_queue)->Arg(10'000)->Arg(100'000);

/// 20,000 flows over K slots (at least 2 per slot); drawing them and opening paths is not timed.
void complete_flows(benchmark::State& state, ComparisonWorkload::Mix mix) {
    const auto nodes = static_cast<std::uint32_t>(state.range(0));
    const auto slots = static_cast<std::uint32_t>(state.range(1));
    constexpr std::uint32_t flows = 20'000;
    std::uint64_t evaluations = 0;
    for (auto _ : state) {
        state.PauseTiming();
        ComparisonWorkload workload{mix, nodes, slots, flows};
        state.ResumeTiming();
        benchmark::DoNotOptimize(workload.run([](Instant) {}));
        evaluations += workload.network().shares().evaluations();
        state.PauseTiming();  // not timed: giving the memory back
        { const ComparisonWorkload done = std::move(workload); }
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * flows);
    state.counters["evaluations_per_flow"] =
        static_cast<double>(evaluations) / static_cast<double>(state.iterations()) / flows;
}
BENCHMARK_CAPTURE(complete_flows, random_pairs, ComparisonWorkload::Mix::random_pairs)
    ->ArgNames({"nodes", "slots"})
    ->ArgsProduct({{6, 144}, {100, 1'000, 10'000}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(complete_flows, serving, ComparisonWorkload::Mix::serving)
    ->ArgNames({"nodes", "slots"})
    ->ArgsProduct({{6, 144}, {100, 1'000, 10'000}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dualpath::sim
