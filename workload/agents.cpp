// Agents: each replays one trajectory, turn after turn; the next turn follows the last one's end.
#include "workload/agents.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/input_error.h"

namespace dualpath {
namespace {

Tokens scaled(Tokens n, double factor) {
    return Tokens{std::llround(static_cast<double>(n.value) * factor)};
}

}  // namespace

Agents::Agents(std::vector<Trajectory> trajectories, const WorkloadSettings& settings)
    : settings_{settings} {
    std::map<std::string, PrefixId> prefixes;
    for (Trajectory& trajectory : trajectories) prepare(std::move(trajectory), prefixes);
    if (trajectories_.empty()) {
        throw InputError{Place{.field = "workload.max_len"},
                         fmt::format("none of {} trajectories has a turn within {} tokens",
                                     skipped_, settings_.max_len.value_or(Tokens{0}).value),
                         "a longer max_len, or another trace"};
    }
    if (settings_.arrivals == WorkloadSettings::Arrivals::poisson &&
        settings_.agents_per_second <= 0) {
        throw InputError{Place{.field = "workload.agents_per_second"},
                         "poisson arrivals need a rate", "a number above 0"};
    }
    const bool all_recorded = std::all_of(trajectories_.begin(), trajectories_.end(),
                                          [](const Prepared& t) { return t.arrival.has_value(); });
    if (settings_.arrivals == WorkloadSettings::Arrivals::recorded && !all_recorded) {
        throw InputError{Place{.field = "workload.arrivals"},
                         "the trace has no recorded arrival times", "closed, poisson"};
    }
    Rng resample{settings_.seed, "workload.resample"};
    const auto known = static_cast<std::uint32_t>(trajectories_.size());
    for (std::uint32_t i = 0; i < settings_.agents; ++i) {
        const bool repeats = i >= known;
        add_agent(repeats ? static_cast<std::uint32_t>(resample.below(known)) : i, repeats);
    }
}

/// Scales and cuts a trajectory and gives its prefix a number; equal prefixes get the same one.
void Agents::prepare(Trajectory trajectory, std::map<std::string, PrefixId>& prefixes) {
    for (Turn& turn : trajectory.turns) {
        turn.append = scaled(turn.append, settings_.append_scale);
        turn.output = std::max(scaled(turn.output, settings_.generation_scale), Tokens{1});
        if (settings_.append_scale != 1 || settings_.generation_scale != 1) turn.keep.reset();
    }
    if (settings_.max_len) trajectory = cut_to(std::move(trajectory), *settings_.max_len);
    if (trajectory.turns.empty()) {
        ++skipped_;
        return;
    }
    Prepared prepared{.prefix_tokens = prefix_tokens(trajectory), .arrival = trajectory.arrival};
    if (!trajectory.prefix.empty()) {
        std::string name;
        for (const PrefixSegment& part : trajectory.prefix) {
            name += fmt::format("{}:{}/", part.group, part.tokens.value);
        }
        const PrefixId next{static_cast<std::uint32_t>(prefixes.size())};
        prepared.prefix = prefixes.try_emplace(name, next).first->second;
    }
    prepared.turns = std::move(trajectory.turns);
    trajectories_.push_back(std::move(prepared));
}

void Agents::add_agent(std::uint32_t trajectory, bool repeats) {
    state_.push_back({.trajectory = trajectory, .repeats = repeats});
    Agent walk = state_.back();
    const std::uint32_t turns = turns_of(walk);
    requests_total_ += turns;
    if (!repeats) walk.context = trajectories_[trajectory].prefix_tokens;
    for (; walk.turn < turns; ++walk.turn) {
        const TurnLengths lengths = lengths_after(walk.context, next_turn(walk));
        longest_ = std::max(longest_, lengths.end);
        walk.context = lengths.end;
    }
}

std::uint32_t Agents::turns_of(const Agent& agent) const {
    return static_cast<std::uint32_t>(trajectories_[agent.trajectory].turns.size()) +
           (agent.repeats ? 1 : 0);
}

/// The random round, or a turn of the trajectory. Behind a random round the shared prefix is no
/// prefix any more: it is appended with the first turn.
Turn Agents::next_turn(const Agent& agent) const {
    const Prepared& trajectory = trajectories_[agent.trajectory];
    if (!agent.repeats) return trajectory.turns[agent.turn];
    if (agent.turn == 0) {
        return {settings_.random_round, Tokens{1}, Duration{0}, std::nullopt};
    }
    Turn turn = trajectory.turns[agent.turn - 1];
    const Tokens shift = settings_.random_round + Tokens{1};
    if (agent.turn == 1) {
        turn.append += turn.keep.value_or(trajectory.prefix_tokens);
        turn.keep.reset();
    } else if (turn.keep) {
        *turn.keep += shift;
    }
    return turn;
}

Duration Agents::gap_after(const Turn& turn) const {
    return settings_.tool_latency.value_or(turn.tool_latency.value_or(Duration{0})) +
           settings_.client_latency;
}

Arrival Agents::next_arrival(std::uint32_t index, Instant at) {
    Agent& agent = state_[index];
    const Prepared& trajectory = trajectories_[agent.trajectory];
    const Turn turn = next_turn(agent);
    const bool shares = !agent.repeats && agent.turn == 0 && trajectory.prefix.has_value();
    const TurnLengths lengths = lengths_after(agent.context, turn);
    Request request{.id = {index, next_serial_++},
                    .session = SessionId{index},
                    .submitted = at,
                    .turn = agent.turn,
                    .context = lengths.kept,
                    .prompt = std::max(lengths.prompt, Tokens{1}),  // an empty one still opens
                    .max_output = settings_.max_output};
    if (shares) {
        request.prefix = trajectory.prefix;
        request.prefix_tokens = trajectory.prefix_tokens;
    }
    agent.context = lengths.end;
    ++agent.turn;
    return {at, request, turn.output};
}

void Agents::begin(std::vector<Arrival>& arrivals) {
    Rng gaps{settings_.seed, "workload.arrivals"};
    Instant at{};
    for (std::uint32_t i = 0; i < agents(); ++i) {
        Agent& agent = state_[i];
        const Prepared& trajectory = trajectories_[agent.trajectory];
        if (!agent.repeats) agent.context = trajectory.prefix_tokens;
        switch (settings_.arrivals) {
            case WorkloadSettings::Arrivals::closed:
                break;
            case WorkloadSettings::Arrivals::poisson:
                at += from_seconds(gaps.exponential(1.0 / settings_.agents_per_second));
                break;
            case WorkloadSettings::Arrivals::recorded:
                at = Instant{*trajectory.arrival};
                break;
        }
        arrivals.push_back(next_arrival(i, at));
    }
}

void Agents::on_finished(Instant now, RequestId id, Outcome outcome,
                         std::vector<Arrival>& arrivals) {
    Agent& agent = state_[id.slot];
    ++requests_done_;
    if (outcome != Outcome::finished) ++failed_;  // an agent without an answer gives up
    if (outcome != Outcome::finished || agent.turn == turns_of(agent)) {
        ++done_;
        return;
    }
    Agent last = agent;
    --last.turn;
    arrivals.push_back(next_arrival(id.slot, now + gap_after(next_turn(last))));
}

}  // namespace dualpath
