// The five columns of the paper's Table 2, measured on any set of trajectories.
#pragma once

#include <span>

#include "traces/trajectory.h"

namespace dualpath {

/// Means over trajectories, each of one number per trajectory, in tokens except `turns`. They do
/// not multiply out: a short trajectory weighs as much as a long one.
struct PopulationStatistics {
    double turns = 0;    ///< number of turns
    double append = 0;   ///< mean append of its turns; the first prompt counts as one
    double output = 0;   ///< mean output of its turns (the paper's Gen)
    double total = 0;    ///< final prompt and output
    double context = 0;  ///< mean, over its turns, of the context kept before the append
};

/// Trajectories without turns are left out; all zeros where none has any.
PopulationStatistics statistics(std::span<const Trajectory> trajectories);

}  // namespace dualpath
