// Writes trajectory/1: JSON lines, one trajectory a line.
#pragma once

#include <iosfwd>
#include <span>

#include "traces/trajectory.h"

namespace dualpath {

/// Writes lines that read_trajectories reads back equal, provided that times are whole nanoseconds
/// (others are rounded to the nearest) and numbers are within the limits of the format. Bytes of a
/// name that are not UTF-8 become U+FFFD.
void write_trajectories(std::ostream& out, std::span<const Trajectory> trajectories);

}  // namespace dualpath
