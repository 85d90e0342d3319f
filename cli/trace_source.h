// Trajectories for a scenario: read from its trace file, or generated.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "traces/trajectory.h"

namespace dualpath::cli {

struct LoadedTrace {
    std::vector<Trajectory> trajectories;
    std::vector<std::string> notes;  ///< what a person should know: warnings, distributions
};

/// Throws InputError with the file and line of what is wrong.
LoadedTrace load_trace(const Scenario& scenario);

}  // namespace dualpath::cli
