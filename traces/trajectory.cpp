// Lengths along a trajectory, and cutting it at a maximum length.
#include "traces/trajectory.h"

#include <algorithm>
#include <utility>

namespace dualpath {

Tokens prefix_tokens(const Trajectory& trajectory) {
    Tokens sum;
    for (const PrefixSegment& segment : trajectory.prefix) sum += segment.tokens;
    return sum;
}

std::vector<TurnLengths> turn_lengths(const Trajectory& trajectory) {
    std::vector<TurnLengths> lengths;
    lengths.reserve(trajectory.turns.size());
    Tokens context = prefix_tokens(trajectory);
    for (const Turn& turn : trajectory.turns) {
        lengths.push_back(lengths_after(context, turn));
        context = lengths.back().end;
    }
    return lengths;
}

Tokens total_tokens(const Trajectory& trajectory) {
    const auto lengths = turn_lengths(trajectory);
    return lengths.empty() ? Tokens{} : lengths.back().end;
}

Trajectory cut_to(Trajectory trajectory, Tokens max_len) {
    const auto lengths = turn_lengths(trajectory);
    const auto too_long =
        std::ranges::find_if(lengths, [&](const TurnLengths& turn) { return turn.end > max_len; });
    trajectory.turns.resize(static_cast<std::size_t>(too_long - lengths.begin()));
    return trajectory;
}

}  // namespace dualpath
