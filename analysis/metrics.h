// Metrics: what a run achieved, as a pure function of what crossed the seam and was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analysis/backlog.h"
#include "analysis/binding_resource.h"
#include "analysis/distribution.h"
#include "analysis/request_times.h"
#include "analysis/resource_totals.h"
#include "analysis/slo.h"
#include "analysis/steady_state.h"
#include "control/run.h"

namespace dualpath {

enum class Verdict : std::uint8_t {
    stable,      ///< requests are taken up as they come
    backlogged,  ///< 10 % or more of the unfinished requests wait unassigned
    overloaded,  ///< open loop: the backlog grows without bound (analysis/backlog.h)
};

/// Closed: all agents start at once. Open: they arrive whatever the system does.
enum class Loop : std::uint8_t { closed, open };

/// An open loop's requests that arrived between warm-up and drain. Warm-up ends at the steady state
/// (analysis/steady_state.h), or when 10 % of the agents have arrived if there is none before the
/// last agent's arrival; that arrival begins the drain.
struct SteadyPart {
    Instant from, to;
    Latencies latencies;  ///< of requests submitted, trajectories begun, in [from, to]
};

struct MetricsInputs {
    std::vector<ResourceColumn> columns;          ///< of the world's windows
    std::vector<std::uint32_t> engines_by_group;  ///< sizes by ExpertGroupId
    std::function<MemoryUse()> memory;            ///< asked at each window; may be empty
    RequestTimes::Ended ended;                    ///< told of each ended request; may be empty
    Slo slo = parse_slo("paper");
    Loop loop = Loop::closed;
    double snics_per_node = 1;  ///< a column snic_rx is all NICs of its node
};

/// Share of time (windows) for the waits, mean use for the pools; 0 to 1.
struct MemoryMeans {
    double prefill_hbm = 0, decode_hbm = 0, prefill_buffer = 0, decode_buffer = 0;
    double waiting_for_decode_hbm = 0, waiting_for_prefill_hbm = 0, waiting_for_buffers = 0;
};

/// Latencies are over finished requests, in seconds; rates are per second of JCT, the end of the
/// last request. Aborted and failed requests only count as such.
class Metrics final : public RunObserver, public ResourceObserver {
public:
    explicit Metrics(MetricsInputs inputs);
    Metrics(const Metrics&) = delete;  // its parts know where it is
    Metrics& operator=(const Metrics&) = delete;

    void on_event(const TimedEvent& event, std::span<const Command> commands) override;
    void on_window(Instant from, Instant to, std::span<const ResourceUse> use) override;
    /// Called by on_window when MetricsInputs::memory is given; by the owner otherwise.
    void on_memory(Instant from, Instant to, const MemoryUse& use);

    struct Counts {
        std::uint64_t finished = 0, aborted = 0, failed = 0, restarts = 0, met_slo = 0;
        std::uint64_t prefill_path = 0, decode_path = 0;  ///< finished, by read path
        Tokens prompt, context, hit, generated;           ///< of finished requests
    };
    const Counts& counts() const { return counts_; }
    std::uint64_t unfinished() const { return times_.unfinished(); }

    const Distribution& ttft() const { return ttft_; }
    const Distribution& ttst() const { return ttst_; }
    const Distribution& tpot() const { return tpot_; }
    const Distribution& queue() const { return queue_; }
    const Distribution& allocate() const { return allocate_; }
    const Distribution& read() const { return read_; }
    const Distribution& prefill() const { return prefill_; }

    Duration jct() const { return last_end_.time_since_epoch(); }
    /// End of a session's last request so far minus submission of its first.
    Distribution trajectories() const;
    /// Of the sessions that have no request under way.
    std::uint64_t sessions_ended() const;

    const ResourceTotals& resources() const { return resources_; }
    MemoryMeans memory() const;
    /// Max over mean of bytes read per SNIC, over windows of at least 1 (10) s.
    double snic_max_over_avg() const { return all_snics_.max_over_mean(); }
    double snic_max_over_avg(Role role) const { return snics_of(role).max_over_mean(); }
    double snic_max_over_avg_10s() const { return all_snics_10s_.max_over_mean(); }
    /// Bytes per second of one NIC of that role, mean over NICs and run.
    double snic_read_rate(Role role) const;
    /// Max over mean of attention time per engine of a group, mean over prefill steps; 0 without.
    double attention_max_over_avg() const;

    /// Share of unfinished requests that wait for their engines, averaged over time.
    double waiting_share() const;
    Verdict verdict() const;
    const Backlog& backlog() const { return backlog_; }
    const SteadyState& steady_state() const { return steady_state_; }
    /// Nothing for a closed loop, or before anybody has arrived.
    std::optional<SteadyPart> steady() const;
    /// The SLO held against the steady part of an open loop, against all of a closed one.
    std::vector<SloResult> slo_results() const;
    std::vector<BindingCandidate> binding() const;
    const Slo& slo() const { return inputs_.slo; }

private:
    struct Session {
        Instant first, last;
        std::uint32_t under_way = 0;
        bool seen = false;
    };
    struct Sample {  ///< of a finished request
        Instant submitted;
        std::optional<double> ttft, ttst, tpot;
    };
    struct StageSums {  ///< seconds, over finished requests
        double queue = 0, allocate = 0, read_prefill = 0, read_decode = 0, prefill = 0;
        double send = 0, decode = 0;
    };

    void see(const Request& request);
    void see(const Step& step);
    void end(const RequestRecord& record);
    void end_finished(const RequestRecord& record);
    void add_stages(const RequestRecord& record);
    Instant warm_up_end() const;
    Session& session(SessionId id);
    const Imbalance& snics_of(Role role) const {
        return role == Role::prefill ? prefill_snics_ : decode_snics_;
    }

    MetricsInputs inputs_;
    RequestTimes times_;
    ResourceTotals resources_;
    std::vector<std::size_t> prefill_snic_columns_, decode_snic_columns_;
    Imbalance all_snics_, all_snics_10s_, prefill_snics_, decode_snics_;
    std::vector<double> scratch_;

    Counts counts_;
    Distribution ttft_, ttst_, tpot_, queue_, allocate_, read_, prefill_;
    StageSums stages_;
    std::vector<Session> sessions_;  ///< by SessionId
    Instant last_end_{};
    Backlog backlog_;
    SteadyState steady_state_;
    std::vector<Sample> samples_;          ///< open loop: for steady()
    std::vector<Instant> agent_arrivals_;  ///< open loop
    double life_s_ = 0, unassigned_s_ = 0;
    double attention_ratios_ = 0;
    std::uint64_t attention_steps_ = 0;
    MemoryMeans memory_sums_;  ///< times seconds
    double memory_s_ = 0;
};

}  // namespace dualpath
