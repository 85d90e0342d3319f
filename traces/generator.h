// The generator for the paper's Table 2: one natural population, to be cut at any MaxLen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/rng.h"
#include "traces/trajectory.h"

namespace dualpath {

/// Log-normal, rounded to whole numbers and held between `lowest` and `highest`.
struct ClippedLogNormal {
    double median;
    double sigma;  ///< of the natural logarithm
    double lowest;
    double highest;
};

/// How the trajectories of one class come about. Lengths in tokens.
struct TrajectoryClass {
    ClippedLogNormal turns;         ///< turns until the agent stops by itself
    ClippedLogNormal first_prompt;  ///< append of the first turn
    ClippedLogNormal append;        ///< append of a late turn
    ClippedLogNormal output;        ///< output of a late turn
    /// A trajectory has a pace that multiplies all its appends and outputs but the first prompt:
    /// log-uniform from 1 / pace_range to pace_range, spread evenly over the trajectories.
    double pace_range;
    /// Agents read before they write: turn i appends 1 + early_reading * exp(-i / reading_turns)
    /// times as much as a late one and outputs 1 - early_silence * exp(-i / silent_turns) times.
    double early_reading = 0;
    double reading_turns = 1;
    double early_silence = 0;  ///< below 1
    double silent_turns = 1;
};

/// Two classes: early finishers, and trajectories that go on beyond 64K tokens.
struct PopulationParameters {
    double short_share;  ///< of `short_class`, 0 to 1; spread evenly over the trajectories
    TrajectoryClass short_class;
    TrajectoryClass long_class;
};

/// The population that, cut at 32K, 48K and 64K (K = 1,024), has all five columns of Table 2
/// within 5 % for 500 trajectories. How it was found: see the .cpp.
PopulationParameters table2_population();

/// `count` trajectories, uncut, without prefix and with tool latency 0 (the paper's). The first n
/// of them do not depend on `count`.
std::vector<Trajectory> generate(const PopulationParameters& population, std::size_t count,
                                 Seed seed);

/// The distributions in one short paragraph.
std::string describe(const PopulationParameters& population);

}  // namespace dualpath
