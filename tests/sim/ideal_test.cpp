// The ideal scenario in steady state against the paper's bottleneck analysis (its section 4).
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "control/run.h"
#include "scenarios/assembly.h"
#include "sim/sim_world.h"
#include "traces/trajectory_reader.h"
#include "workload/agents.h"

namespace dualpath::sim {
namespace {

/// GB/s, per CNIC or per node.
struct Loads {
    double pe_read, pe_write, de_read, de_write, pe_dram, de_dram;
};
struct Row {
    std::uint32_t prefill_nodes, decode_nodes;
    Loads loads;
    double from_s = 50;  ///< steady since then
};

// Symbols of the paper: B = 50 GB/s of a CNIC, sB = 50 GB/s of a node's SNIC, g = 8 GPUs. All SNICs
// read at full rate, so a PE-DE pair moves T_p = sB / (D g^2) over the prefill read path and
// T_c = sB / (P g^2) over the decode one; u = sB / g = 6.25 GB/s is a node's read rate per CNIC.
//   PE CNIC read  = 2 T_p D g        = 2 u                 (PE-3, PE-5)
//   PE CNIC write = (T_p + T_c) D g  = u (1 + D/P)         (PE-4, DE-5)
//   DE CNIC read  = (T_p + 2 T_c) P g = u (P/D + 2)        (PE-8, DE-3, DE-6)
//   DE CNIC write = (2 T_p + T_c) P g = u (2 P/D + 1)      (PE-7, PE-9, DE-7)
//   PE DRAM = 2 sB        DE DRAM = (3 + 2 P/D) sB
// so that 2P4D: 12.5, 6.25 * 3, 6.25 * 2.5, 6.25 * 2, 100, 4 * 50, and so on.
// 1P7D and 7P2D are the ends of the range: PE CNIC write is 6.25 * 8 = 50 = B there, and here
// DE CNIC write 6.25 * 8 = 50 = B and DE DRAM 10 * 50 = 500 = M at once. At that end the first
// prompts' writeback, 1,728 agents * 0.7 GB over two nodes, has to squeeze through the full DRAM
// and takes until about 100 s.
constexpr Row rows[] = {
    {2, 4, {12.5, 18.75, 15.625, 12.5, 100, 200}},
    {1, 1, {12.5, 12.5, 18.75, 18.75, 100, 250}},
    {2, 1, {12.5, 9.375, 25, 31.25, 100, 350}},
    {1, 7, {12.5, 50, 13.393, 8.036, 100, 164.286}},
    {7, 2, {12.5, 8.036, 34.375, 50, 100, 500}, 100},
};

/// Bytes by kind and role in 30 seconds: the first prompts are computed and written by then.
class SteadyState final : public ResourceObserver {
public:
    SteadyState(std::vector<ResourceColumn> columns, double from_s)
        : columns_{std::move(columns)}, from_s_{from_s} {}
    double to_s() const { return from_s_ + 30; }

    void on_window(Instant from, Instant to, std::span<const ResourceUse> use) override {
        if (to_seconds(from) < from_s_ || to_seconds(to) > to_s()) return;
        seconds_ += to_seconds(to - from);
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            Sum& sum = sums_[{columns_[i].kind, columns_[i].role}];
            sum.bytes += use[i].used;
            ++sum.samples;
        }
        ++windows_;
    }
    /// Mean GB/s of one resource of that kind.
    double mean(const std::string& kind, Role role) const {
        const Sum& sum = sums_.at({kind, role});
        return sum.bytes / (sum.samples / windows_) / seconds_ / 1e9;
    }

private:
    struct Sum {
        double bytes = 0, samples = 0;
    };
    std::vector<ResourceColumn> columns_;
    std::map<std::pair<std::string, Role>, Sum> sums_;
    double from_s_, seconds_ = 0, windows_ = 0;
};

SteadyState steady_state(const Row& row) {
    const Scenario scenario = load_scenario(
        "scenarios/test/ideal.yaml",
        {{fmt::format("cluster.prefill_nodes={}", row.prefill_nodes),
          fmt::format("cluster.decode_nodes={}", row.decode_nodes),
          fmt::format("workload.agents={}", 192 * (row.prefill_nodes + row.decode_nodes))}});
    const Assembly assembly{scenario};
    const Topology topology{assembly.layout, assembly.capacities};
    Agents agents{read_trajectories(scenario.trace.file).trajectories, scenario.workload};
    assembly.require_fits(agents.longest());
    DualPathControl control{assembly.control_facts(), assembly.control, assembly.model};
    SteadyState steady{resource_columns(assembly.layout, topology), row.from_s};
    SimWorld world{assembly.layout,
                   topology,
                   assembly.model,
                   {.layers = static_cast<std::uint16_t>(scenario.llm.layers),
                    .collectives = scenario.collectives},
                   &steady};
    const RunEnd end =
        run(world, control, agents, {}, [&] { return to_seconds(world.now()) > steady.to_s(); });
    EXPECT_EQ(end, RunEnd::stopped) << "the workload lasts longer than the measurement";
    return steady;
}

class Ideal : public testing::TestWithParam<Row> {};

TEST_P(Ideal, LoadsEqualTheClosedForm) {
    const Row& row = GetParam();
    const SteadyState steady = steady_state(row);
    const auto expect = [&](const char* kind, Role role, double load) {
        EXPECT_NEAR(steady.mean(kind, role), load, 0.01 * load)
            << kind << (role == Role::prefill ? " of PEs" : " of DEs");
    };
    expect("cnic_read", Role::prefill, row.loads.pe_read);
    expect("cnic_write", Role::prefill, row.loads.pe_write);
    expect("cnic_read", Role::decode, row.loads.de_read);
    expect("cnic_write", Role::decode, row.loads.de_write);
    expect("dram", Role::prefill, row.loads.pe_dram);
    expect("dram", Role::decode, row.loads.de_dram);
}

/// Sanitizers make a run about ten times slower: two rows tell as much about memory errors.
std::vector<Row> rows_to_run() {
#if defined(__SANITIZE_ADDRESS__)
    return {rows[0], rows[1]};
#else
    return {std::begin(rows), std::end(rows)};
#endif
}

INSTANTIATE_TEST_SUITE_P(Paper, Ideal, testing::ValuesIn(rows_to_run()), [](const auto& row) {
    return fmt::format("{}P{}D", row.param.prefill_nodes, row.param.decode_nodes);
});

}  // namespace
}  // namespace dualpath::sim
