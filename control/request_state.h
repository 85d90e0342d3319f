// What control remembers of a request, an engine and a group while they are at work.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "control/messages.h"
#include "control/traffic_manager.h"

namespace dualpath {

/// Where a request stands on its way. A prompt cut into chunks returns from `prefilling` to
/// `ready`.
enum class Stage : std::uint8_t {
    ended,            ///< the slot is free
    waiting_decode,   ///< for a DE with the HBM
    waiting_prefill,  ///< for a PE
    allocating,       ///< for host buffers
    reading,          ///< storage to host
    waiting_hbm,      ///< for HBM of the PE (whole-prompt loading only)
    loading,          ///< host to HBM of the PE (whole-prompt loading only)
    ready,            ///< for the next forward of its PE
    prefilling,
    sending,  ///< prefilled; the last KV is on its way to the DE buffer
    staging,  ///< DE buffer to DE HBM
    joining,  ///< for the next forward of its DE
    decoding,
};

/// What becomes of a request at the end of the step it is in: a running step is not interrupted.
enum class Leaving : std::uint8_t { no, aborted, restarted };

/// A request's slot in control, used again after it ended.
using Slot = std::uint32_t;

struct RequestState {
    Request request;
    Stage stage = Stage::ended;
    ReadPath path = ReadPath::prefill;
    Leaving leaving = Leaving::no;
    EngineId prefill, decode;
    Tokens hit;       ///< read, not computed
    Tokens computed;  ///< of the rest
    Tokens generated;
    Instant decode_chosen, engines_chosen;
    std::uint32_t sends = 0;  ///< transfers to the DE buffer not yet done
    std::uint32_t join_step = 0;
    int attempts = 0;
    std::optional<Instant> lost_at;    ///< when an engine it was on was last lost
    Version weights = 0;               ///< its KV belongs to these
    Tokens prefill_load, decode_load;  ///< what it counts in tok_e of its PE and DE now
    Tokens reading;                    ///< what it counts in its reader's read_q now
    Bytes decode_hbm, decode_buffer, prefill_buffer, prefill_hbm;  ///< held now

    Tokens cached() const { return hit + computed; }
    EngineId reader() const { return path == ReadPath::prefill ? prefill : decode; }
    Tokens remaining() const { return request.prompt - cached(); }
};

enum class Purpose : std::uint8_t { read, load, send, stage, persist_to_host, persist_to_storage };

/// Whom a transfer serves: a request by slot, or a writeback by index.
struct TransferOwner {
    enum class Kind : std::uint8_t { request, writeback } kind = Kind::request;
    std::uint32_t index = 0;
    bool operator==(const TransferOwner&) const = default;
};

struct TransferState {
    Transfer transfer;
    Purpose purpose = Purpose::read;
    TransferOwner owner;
    bool active = false;
};

/// New KV of an ended request on its way to storage. It outlives the request, whose slot the
/// agent's next turn may already use.
struct Writeback {
    Request request;
    EngineId engine;
    Tokens from, through;  ///< whole blocks to write: [from, through)
    Bytes hbm, buffer;     ///< held until the hop that frees them
    Version weights = 0;
    // Of a one-token output, whose prompt KV may still be on its way to the DE buffer:
    std::uint32_t sends = 0;
    EngineId prefill;
    Bytes prefill_hbm;  ///< whole-prompt loading: held until it has been sent
    bool active = false;
};

struct EngineState {
    Tokens load;                 ///< tok_e
    std::uint32_t requests = 0;  ///< seq_e
    bool lost = false;
    std::deque<Slot> ready;        ///< PE: prompts for the next forward, first come first served
    std::deque<Slot> waiting_hbm;  ///< PE, whole-prompt loading: prompts that wait for room
    TrafficManager traffic;
};

/// When a sequence will need one more block of HBM, if it is still the one that joined then.
struct Growth {
    std::uint32_t step;
    Slot slot;
    std::uint32_t joined;
    bool operator<(const Growth& other) const {  // heaps keep the largest on top
        return step != other.step ? step > other.step : slot > other.slot;
    }
};

struct ExpertGroupState {
    enum class Phase : std::uint8_t {
        running,   ///< a step is under way
        boundary,  ///< between steps: some of its leaders have not asked for work yet
        idle,      ///< all have asked; starts as soon as there is work
        lost,      ///< an engine is gone
    } phase = Phase::boundary;
    std::uint32_t step = 0;                 ///< number of the running, or else the next, step
    std::vector<FetchGroupId> not_fetched;  ///< leaders that have not asked since the last step
    std::vector<Chunk> chunks;              ///< of the running prefill step
    std::vector<Join> joins;                ///< of the next decode step
    std::vector<Join> entering;             ///< of the running decode step
    std::vector<Slot> leaving;              ///< see RequestState::leaving
    std::vector<Growth> growth;             ///< heap
    std::uint32_t members = 0;              ///< decode batch
    std::uint32_t lost_engines = 0;
    bool noticed = false;  ///< already among the groups that may start
};

struct FetchGroupState {
    std::uint32_t waiting = 0;  ///< of its expert groups, those whose leader waits for work
    Tokens load;                ///< DE: sum of tok_e, the private queue included
    std::deque<Slot> queue;     ///< DE: the private queue
};

struct NodeState {
    Tokens read_queue;         ///< read_q: tokens waiting to be read, or being read
    std::deque<Slot> waiting;  ///< requests that lack host memory here, oldest first
    std::vector<std::uint32_t> waiting_writes;  ///< writebacks that lack it, oldest first
    bool freed = false;  ///< already among the nodes whose requests try again
};

}  // namespace dualpath
