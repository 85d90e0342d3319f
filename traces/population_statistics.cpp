// Means over trajectories of per-trajectory means.
#include "traces/population_statistics.h"

#include <cstddef>

namespace dualpath {
namespace {

PopulationStatistics statistics_of(const Trajectory& trajectory) {
    Tokens append;
    Tokens output;
    Tokens context;
    const auto lengths = turn_lengths(trajectory);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        append += trajectory.turns[i].append;
        output += trajectory.turns[i].output;
        context += lengths[i].kept;
    }
    const auto turns = static_cast<double>(lengths.size());
    return {.turns = turns,
            .append = static_cast<double>(append.value) / turns,
            .output = static_cast<double>(output.value) / turns,
            .total = static_cast<double>(lengths.back().end.value),
            .context = static_cast<double>(context.value) / turns};
}

}  // namespace

PopulationStatistics statistics(std::span<const Trajectory> trajectories) {
    PopulationStatistics sum;
    double count = 0;
    for (const Trajectory& trajectory : trajectories) {
        if (trajectory.turns.empty()) continue;
        const PopulationStatistics one = statistics_of(trajectory);
        sum.turns += one.turns;
        sum.append += one.append;
        sum.output += one.output;
        sum.total += one.total;
        sum.context += one.context;
        ++count;
    }
    if (count == 0) return {};
    return {sum.turns / count, sum.append / count, sum.output / count, sum.total / count,
            sum.context / count};
}

}  // namespace dualpath
