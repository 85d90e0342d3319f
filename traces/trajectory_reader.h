// Reads trajectory/1: JSON lines, one trajectory a line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "traces/trajectory.h"

namespace dualpath {

struct TrajectoryFile {
    std::vector<Trajectory> trajectories;
    std::vector<std::string> warnings;  ///< one per unknown key: "FILE:LINE: key: ..."
};

/// Reads a `.jsonl` or `.jsonl.gz` file of the native format. Times are rounded to the nearest
/// nanosecond. A trajectory without `session_id` gets its line number. The recorded values `obs`,
/// `hash_ids` (with `block_size`, `hash_scope`), `spawn`, `model`, `source` and `meta` are not
/// kept; other unknown keys are not either, with a warning.
/// Throws InputError with file, line and field on the first thing that is wrong; a file without
/// trajectories is wrong, too.
TrajectoryFile read_trajectories(const std::filesystem::path& path);

}  // namespace dualpath
