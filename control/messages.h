// The seam in words: events (what happened) and commands (what to do).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "base/ids.h"
#include "base/units.h"
#include "models/layout.h"
#include "models/movement.h"

namespace dualpath {

/// One turn, submitted. It carries no output length: control must not know it (the oracle
/// boundary).
struct Request {
    RequestId id;
    SessionId session;
    Instant submitted;               ///< when the client sent it; latencies count from here
    std::uint32_t turn = 0;          ///< 0-based position in the trajectory
    Tokens context;                  ///< leading prompt tokens an earlier turn already held
    Tokens prompt;                   ///< context plus what this turn appends
    std::optional<PrefixId> prefix;  ///< leading segment shared with other sessions
    Tokens prefix_tokens;            ///< its length, 0 without a prefix
    Tokens max_output;               ///< the client's limit, far above the true length
};

enum class ReadPath : std::uint8_t { prefill, decode };          ///< whose SNIC loads the hits
enum class TrafficClass : std::uint8_t { inference, kv_cache };  ///< high and low class
enum class Status : std::uint8_t { ok, failed };
enum class Outcome : std::uint8_t { finished, aborted, failed };

/// Layers [first, end) of the model.
struct LayerRange {
    std::uint16_t first = 0, end = 0;
};
using LayerIndex = std::uint16_t;
using Version = std::uint32_t;

/// One move of KV-Cache bytes end to end.
struct Transfer {
    TransferId id;
    Movement movement;
    EngineId from, to;  ///< the engines whose CNIC, or whose node's SNIC, work; may be equal
    Bytes size;
    LayerRange layers;  ///< what the bytes are, in this order
    RequestId request;  ///< whom it serves; a writeback's request may have ended
};

/// What must be reached first. A transfer after a step follows it layer by layer: its layer k may
/// move once the step has computed layer k. After a transfer it waits for that transfer's end.
using After = std::variant<std::monostate, StepId, TransferId>;

/// A piece of one prompt inside a prefill step.
struct Chunk {
    RequestId request;
    EngineId engine;
    Tokens cached;                   ///< tokens before this chunk, their KV is loaded or computed
    Tokens tokens;                   ///< tokens computed now
    Duration attention;              ///< predicted attention time over all layers (compute quota)
    std::optional<TransferId> load;  ///< brings the cached KV; layer k waits for its layer k
    enum class End : std::uint8_t { more, last } end = End::last;  ///< last: yields the first token
};

/// A request that enters the decode batch with this step and stays until it has finished.
struct Join {
    RequestId request;
    EngineId engine;
    Tokens context;  ///< tokens whose KV its HBM holds
};

/// One forward of an expert group. Spans are valid until the next call into control.
struct Step {
    StepId id;
    Role role = Role::prefill;
    std::span<const Chunk> chunks;  ///< prefill
    std::span<const Join> joins;    ///< decode: the batch changes only by what enters and finishes
};

// ---- events: what happened -------------------------------------------------------------------

struct RequestArrived {
    Request request;
};
/// A leader engine asks for work. It does so at start, after each of its engines' steps, and after
/// EngineBack; the expert group may step again once all its fetch groups have asked.
struct GroupFetched {
    FetchGroupId group;
};
struct TransferDone {
    TransferId id;
    Status status = Status::ok;
};
struct LayersDone {
    StepId step;
    LayerIndex through = 0;
    Status status = Status::ok;
};
/// `finished`: requests that produced their last token; valid until the next call into the world.
/// A failed step takes its group's batch with it: all that its HBM held is gone.
struct StepDone {
    StepId step;
    std::span<const RequestId> finished;
    Status status = Status::ok;
};
struct TimerFired {
    TimerId id;
};
/// The client gave up. Unknown or already ended requests are no error: the two may cross.
struct RequestAborted {
    RequestId id;
};
/// The engine is gone, with all that its HBM held. The world has dropped its group's running step
/// and will not report it; control cancels the transfers that touched it.
struct EngineLost {
    EngineId id;
};
struct EngineBack {
    EngineId id;
};
/// New weights: KV-Cache written under the old ones is no longer a hit.
struct WeightsChanged {
    Version version = 0;
};

using Event = std::variant<RequestArrived, GroupFetched, TransferDone, LayersDone, StepDone,
                           TimerFired, RequestAborted, EngineLost, EngineBack, WeightsChanged>;

// ---- commands: what to do --------------------------------------------------------------------

struct StartTransfer {
    Transfer transfer;
    After after;
};
struct StartStep {
    Step step;
    After after;
};
struct SetTimer {
    TimerId id;
    Instant at;
};
/// A cancelled transfer or step is never reported. A cancelled request leaves the decode batch;
/// this is sent between two steps of its group. What the world has dropped itself may be cancelled
/// too.
struct Cancel {
    std::variant<TransferId, StepId, RequestId> what;
};
/// Both engines are chosen and the host buffers are taken: tells the leaders, and the run's
/// records.
struct AssignRequest {
    RequestId id;
    EngineId prefill, decode;
    ReadPath path = ReadPath::prefill;
    Tokens hit;              ///< context that storage holds, in whole blocks: read, not computed
    Instant decode_chosen;   ///< decode HBM was committed
    Instant engines_chosen;  ///< both engines known; since then it waited for host buffers
};
struct RequestFinished {
    RequestId id;
    Outcome outcome = Outcome::finished;
};

using Command =
    std::variant<StartTransfer, StartStep, SetTimer, Cancel, AssignRequest, RequestFinished>;

struct TimedEvent {
    Instant at;
    Event event;
};

}  // namespace dualpath
