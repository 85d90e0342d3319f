// Simulation: one run of a scenario in the simulated world, with all that watches it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/metrics.h"
#include "analysis/run_folder.h"
#include "analysis/run_hash.h"
#include "cli/progress.h"
#include "control/run.h"
#include "scenarios/assembly.h"
#include "sim/sim_world.h"
#include "workload/agents.h"

namespace dualpath::cli {

/// Where a run leaves its files, and which.
struct FolderSettings {
    std::filesystem::path directory;
    bool event_log = true;
};

/// Keeps a reference to the scenario. Nothing is on disk without FolderSettings; with them the
/// folder is made once the scenario is known to be good.
class Simulation {
public:
    /// Throws InputError for what cannot be run, and for a folder that is not ours.
    Simulation(const Scenario& scenario, std::vector<Trajectory> trajectories,
               const std::optional<FolderSettings>& folder);
    Simulation(const Simulation&) = delete;  // its parts know where it is
    Simulation& operator=(const Simulation&) = delete;

    /// Runs to its end, to a signal, or until `enough` (asked every 1024 events; may be empty).
    RunEnd run(Progress& progress, const std::function<bool()>& enough = {});

    nlohmann::ordered_json summary(RunEnd end) const;
    const Metrics& metrics() const { return *metrics_; }
    const Agents& agents() const { return agents_; }
    Instant now() const { return world_->now(); }
    RunFolder& folder() { return *folder_; }  ///< only with FolderSettings

private:
    const Scenario& scenario_;
    Assembly assembly_;
    Agents agents_;
    Topology topology_;
    DualPathControl control_;
    std::vector<ResourceColumn> columns_;
    RunHash hash_;
    std::optional<RunFolder> folder_;
    std::optional<Metrics> metrics_;
    std::optional<ResourceFanOut> windows_;
    std::optional<sim::SimWorld> world_;
};

}  // namespace dualpath::cli
