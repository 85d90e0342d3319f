// Agents: each replays one trajectory, turn after turn; the next turn follows the last one's end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "control/run.h"
#include "traces/trajectory.h"
#include "workload/settings.h"

namespace dualpath {

/// Where requests come from in simulation and on hardware alike. It alone knows how many tokens
/// each turn really generates.
///
/// With more agents than trajectories, the further ones replay a trajectory drawn at random behind
/// a round of random tokens with one token of output, so that nothing is shared (paper A.3).
class Agents final : public RequestSource {
public:
    /// Throws InputError when no trajectory has a turn within max_len, when `recorded` arrivals are
    /// asked of a trace without them, or `poisson` without a rate.
    Agents(std::vector<Trajectory> trajectories, const WorkloadSettings& settings);

    void begin(std::vector<Arrival>& arrivals) override;
    void on_finished(Instant now, RequestId id, Outcome outcome,
                     std::vector<Arrival>& arrivals) override;

    std::uint32_t agents() const { return static_cast<std::uint32_t>(state_.size()); }
    std::uint32_t agents_done() const { return done_; }
    std::uint32_t agents_failed() const { return failed_; }
    std::uint64_t requests_total() const { return requests_total_; }
    std::uint64_t requests_done() const { return requests_done_; }
    /// Longest prompt plus output of all turns: what the cluster's memory must hold.
    Tokens longest() const { return longest_; }
    /// Trajectories left out because even their first turn exceeds max_len.
    std::size_t skipped() const { return skipped_; }

private:
    struct Agent {
        std::uint32_t trajectory = 0;
        std::uint32_t turn = 0;  ///< the next, the random round counted
        Tokens context;          ///< before that turn
        bool repeats = false;    ///< opens with the random round
    };
    struct Prepared {
        std::vector<Turn> turns;
        std::optional<PrefixId> prefix;
        Tokens prefix_tokens;
        std::optional<Duration> arrival;
    };

    void prepare(Trajectory trajectory, std::map<std::string, PrefixId>& prefixes);
    void add_agent(std::uint32_t trajectory, bool repeats);
    std::uint32_t turns_of(const Agent& agent) const;
    Turn next_turn(const Agent& agent) const;
    Arrival next_arrival(std::uint32_t agent, Instant at);
    Duration gap_after(const Turn& turn) const;

    WorkloadSettings settings_;
    std::vector<Prepared> trajectories_;
    std::vector<Agent> state_;  ///< by agent: also the request's slot and the session
    std::uint32_t next_serial_ = 0, done_ = 0, failed_ = 0;
    std::uint64_t requests_total_ = 0, requests_done_ = 0;
    std::size_t skipped_ = 0;
    Tokens longest_;
};

}  // namespace dualpath
