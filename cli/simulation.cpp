// Simulation: one run of a scenario in the simulated world, with all that watches it.
#include "cli/simulation.h"

#include <fmt/format.h>

#include "analysis/summary.h"
#include "cli/signals.h"

namespace dualpath::cli {
namespace {

std::vector<std::uint32_t> group_sizes(const Layout& layout) {
    std::vector<std::uint32_t> sizes;
    for (const auto& engines : layout.expert_groups) {
        sizes.push_back(static_cast<std::uint32_t>(engines.size()));
    }
    return sizes;
}

sim::SimSettings sim_settings(const Scenario& s) {
    return {.lanes = s.qos ? sim::Network::Lanes::two : sim::Network::Lanes::one,
            .layers = static_cast<std::uint16_t>(s.llm.layers),
            .control_latency = s.control_latency,
            .storage_latency = s.storage.latency,
            .collectives = s.collectives};
}

Loop loop_of(const Scenario& s) {
    return s.workload.arrivals == WorkloadSettings::Arrivals::closed ? Loop::closed : Loop::open;
}

}  // namespace

Simulation::Simulation(const Scenario& scenario, std::vector<Trajectory> trajectories,
                       const std::optional<FolderSettings>& folder)
    : scenario_{scenario},
      assembly_{scenario},
      agents_{std::move(trajectories), scenario.workload},
      topology_{assembly_.layout, assembly_.capacities},
      control_{assembly_.control_facts(), assembly_.control, assembly_.model},
      columns_{sim::resource_columns(assembly_.layout, topology_)} {
    assembly_.require_fits(agents_.longest());
    MetricsInputs inputs{.columns = columns_,
                         .engines_by_group = group_sizes(assembly_.layout),
                         .memory = [this] { return control_.memory_use(); },
                         .slo = parse_slo(scenario.slo.text, scenario.slo.place),
                         .loop = loop_of(scenario),
                         .snics_per_node = 1.0 * scenario.node.snic_count};
    if (folder) {
        check_run_folder(folder->directory);
        folder_.emplace(RunFolderInputs{folder->directory, scenario.text, scenario.calibration_text,
                                        columns_, folder->event_log});
        inputs.ended = [this](const RequestRecord& record) { folder_->add(record); };
    }
    metrics_.emplace(std::move(inputs));
    std::vector<ResourceObserver*> watching{&*metrics_};
    if (folder_) watching.push_back(&*folder_);
    windows_.emplace(watching);
    world_.emplace(assembly_.layout, topology_, assembly_.model, sim_settings(scenario),
                   &*windows_);
    world_->plan(scenario.faults);
}

RunEnd Simulation::run(Progress& progress, const std::function<bool()>& enough) {
    std::vector<RunObserver*> observers{&hash_, &*metrics_};
    if (folder_ && folder_->event_log()) observers.push_back(folder_->event_log());
    std::uint64_t events = 0;
    const RunEnd end = dualpath::run(*world_, control_, agents_, observers, [&] {
        if (++events % 1024 != 0) return false;
        if (progress.due()) {
            progress.show({world_->now(), agents_.agents_done(), agents_.agents(),
                           agents_.requests_done(), agents_.requests_total()});
            if (folder_) folder_->checkpoint(summary(RunEnd::stopped));
        }
        return stop_requested() || (enough && enough());
    });
    world_->close_windows();
    progress.finish();
    return end;
}

nlohmann::ordered_json Simulation::summary(RunEnd end) const {
    return dualpath::summary(*metrics_, {.scenario = scenario_.name,
                                         .scenario_hash = fmt::format("{:016x}", scenario_.hash),
                                         .seed = scenario_.seed.value,
                                         .version = DUALPATH_VERSION,
                                         .calibration = scenario_.calibration.name,
                                         .system = scenario_.system,
                                         .agents = agents_.agents(),
                                         .events = hash_.events(),
                                         .flows = world_->network().flows_started(),
                                         .events_hash = hash_.hex(),
                                         .complete = end == RunEnd::complete});
}

}  // namespace dualpath::cli
