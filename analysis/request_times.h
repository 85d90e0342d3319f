// RequestTimes: when each request reached its stages, read off the seam.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "control/run.h"

namespace dualpath {

/// The four parts of TTFT: contiguous, so that they add up exactly.
struct TtftParts {
    Duration queue;     ///< submitted to both engines chosen
    Duration allocate;  ///< to host buffers taken
    Duration read;      ///< to the hits read from storage
    Duration prefill;   ///< to the first token
};

/// One request that has ended. A restarted request has the stages of its last attempt, so that what
/// earlier ones took is in `queue`. A stage that was not reached is empty.
struct RequestRecord {
    Request request;
    std::optional<Instant> decode_chosen, engines_chosen, allocated;
    std::optional<Instant> read_done;  ///< `allocated` when nothing was read
    std::optional<Instant> first_token, second_token;
    Instant end;
    Tokens hit;
    Tokens generated;  ///< over all attempts
    EngineId prefill, decode;
    ReadPath path = ReadPath::prefill;
    Outcome outcome = Outcome::finished;
    std::uint32_t attempts = 0;  ///< times it was assigned

    std::optional<Duration> ttft() const;
    std::optional<Duration> ttst() const;  ///< second token - first token
    /// Seconds per token after the second: (end - second token) / (generated - 2), for more than 2.
    std::optional<double> tpot_s() const;
    std::optional<TtftParts> ttft_parts() const;
};

/// Follows requests by RequestId: slot for speed, serial so that a late word about an ended one is
/// ignored.
class RequestTimes final : public RunObserver {
public:
    using Ended = std::function<void(const RequestRecord&)>;

    /// `engines_by_group`: sizes of the expert groups; their engines are numbered consecutively.
    /// `ended` is called at each RequestFinished, in the order of the run.
    /// `first_token`, which may be empty, at each first token of an attempt, with all known so far.
    RequestTimes(const std::vector<std::uint32_t>& engines_by_group, Ended ended,
                 Ended first_token = {});

    void on_event(const TimedEvent& event, std::span<const Command> commands) override;

    std::size_t unfinished() const { return unfinished_; }
    /// Unfinished requests that never had a first token.
    std::size_t waiting() const { return waiting_; }

private:
    struct Active {
        RequestRecord record;
        bool open = false;
        bool waiting = false;                   ///< never had a first token
        bool computing = false;                 ///< a chunk has started: reads are over
        std::optional<ExpertGroupId> decoding;  ///< in this group's batch
        std::uint64_t join_steps = 0;           ///< the group's steps when it joined
        bool has_first = false;                 ///< this attempt yielded the first token
        Tokens before;                          ///< tokens of earlier attempts
    };
    struct Group {
        std::vector<RequestId> last_chunks, joins;  ///< of the running step
        std::uint64_t steps = 0;                    ///< done
    };
    struct Read {
        TransferId transfer;
        RequestId request;
    };

    void see(const RequestArrived& event);
    void see(const TransferDone& event);
    void see(const StepDone& event);
    void see(const EngineLost& event);
    void see(const AssignRequest& command);
    void see(const StartTransfer& command);
    void see(const StartStep& command);
    void see(const Cancel& command);
    void see(const RequestFinished& command);

    Active* find(RequestId id);
    Group& group(ExpertGroupId id);
    void lose(ExpertGroupId id);
    void end_attempt(Active& active);
    Tokens generated(const Active& active);
    void wait_no_longer(Active& active);

    Ended ended_, first_token_;
    Instant now_{};
    std::vector<ExpertGroupId> group_of_;     ///< by EngineId
    std::vector<Active> active_;              ///< by RequestId::slot
    std::vector<Group> groups_;               ///< by ExpertGroupId
    std::vector<std::optional<Read>> reads_;  ///< by TransferId::slot: under way
    std::size_t unfinished_ = 0, waiting_ = 0;
};

}  // namespace dualpath
