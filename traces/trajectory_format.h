// What the reader and the writer of trajectory/1 agree on: its name, its limits, its clock.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace dualpath {

inline constexpr const char* kTrajectorySchema = "trajectory/1";

/// Anything above is a mistake (a byte count, a hash), not a token count.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;

/// 11.6 days. Below it a double in seconds still tells neighbouring nanoseconds apart.
inline constexpr double kLongestSeconds = 1e6;

/// Rounded to the nearest nanosecond, so that the decimal text of a file is met exactly.
inline Duration trajectory_time(double seconds) {
    return std::chrono::nanoseconds{std::llround(seconds * 1e9)};
}

/// The inverse of trajectory_time for whole nanoseconds up to kLongestSeconds.
inline double trajectory_seconds(Duration time) {
    return static_cast<double>(std::chrono::round<std::chrono::nanoseconds>(time).count()) / 1e9;
}

}  // namespace dualpath
