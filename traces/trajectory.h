// A trajectory: one agent's whole conversation, as token counts turn by turn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace dualpath {

/// One request of a trajectory.
struct Turn {
    Tokens append;  ///< new in the prompt: neither prefix nor earlier context
    Tokens output;  ///< generated; 0 is prefill only
    /// From the end of this turn to the submission of the next; nullopt is unknown, 0 immediate.
    std::optional<Duration> tool_latency;
    /// Leading tokens of the context that survive into this prompt; nullopt is all of them. Less
    /// marks a context that shrank: compaction, or reasoning that was stripped.
    std::optional<Tokens> keep;

    bool operator==(const Turn&) const = default;
};

/// A leading part of the first prompt (system prompt, tools, task); equal groups share their KV.
struct PrefixSegment {
    std::string group;
    Tokens tokens;

    bool operator==(const PrefixSegment&) const = default;
};

struct Trajectory {
    std::string session_id;
    std::optional<Duration> arrival;  ///< since the start of the trace; nullopt: when admitted
    std::vector<PrefixSegment> prefix;
    std::vector<Turn> turns;
    std::optional<std::string> group;   ///< trajectories of one RL prompt share a group
    std::optional<std::string> parent;  ///< session that spawned this sub-agent
    std::optional<std::string> join;    ///< "wait" or "background": whether the parent waits

    bool operator==(const Trajectory&) const = default;
};

/// The lengths of one turn. The context before a turn is the previous prompt and output, or the
/// prefix before the first; what is kept of it opens the prompt.
struct TurnLengths {
    Tokens kept;    ///< context that the prompt starts with
    Tokens prompt;  ///< kept + append
    Tokens end;     ///< prompt + output: the context before the next turn

    bool operator==(const TurnLengths&) const = default;
};

/// Lengths of a turn that finds `context` tokens of earlier conversation.
constexpr TurnLengths lengths_after(Tokens context, const Turn& turn) {
    const Tokens kept = turn.keep.value_or(context);
    const Tokens prompt = kept + turn.append;
    return {.kept = kept, .prompt = prompt, .end = prompt + turn.output};
}

/// Tokens of all prefix segments: the context before the first turn.
Tokens prefix_tokens(const Trajectory& trajectory);

/// Lengths of every turn, in order.
std::vector<TurnLengths> turn_lengths(const Trajectory& trajectory);

/// Final prompt and output; 0 without turns.
Tokens total_tokens(const Trajectory& trajectory);

/// The trajectory up to, and without, the first turn whose prompt and output exceed `max_len`
/// together. May have no turns left.
Trajectory cut_to(Trajectory trajectory, Tokens max_len);

}  // namespace dualpath
