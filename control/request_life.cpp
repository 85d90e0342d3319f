// The way of one request, hop by hop: buffers, read, prefill, send, decode, writeback.
#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"
#include "control/control_plane.h"

namespace dualpath {
namespace {

TransferOwner request(Slot slot) { return {TransferOwner::Kind::request, slot}; }
TransferOwner writeback(std::uint32_t index) { return {TransferOwner::Kind::writeback, index}; }

}  // namespace

/// Both engines are known now: looks up the hit and chooses the read path.
void DualPathControl::choose_prefill(Slot slot, EngineId id) {
    RequestState& r = state(slot);
    r.prefill = id;
    r.engines_chosen = now_;
    r.weights = weights_;
    r.hit = index_.look_up(r.request);
    r.path = read_path_->choose({.prefill = nodes_[node_of(r.prefill).index()].read_queue,
                                 .decode = nodes_[node_of(r.decode).index()].read_queue});
    r.prefill_load = r.request.prompt;
    engine(id).load += r.prefill_load;
    ++engine(id).requests;
    r.stage = Stage::allocating;
    r.reading = r.hit;  // counts from now on, so that the next choice sees it in the queue
    nodes_[node_of(r.reader()).index()].read_queue += r.reading;
    const NodeId decode = node_of(r.decode), prefill = node_of(r.prefill);
    if (!nodes_[decode.index()].waiting.empty()) {
        wait_for_buffer(decode, slot);  // whoever came earlier goes first
    } else if (r.path == ReadPath::prefill && !nodes_[prefill.index()].waiting.empty()) {
        wait_for_buffer(prefill, slot);
    } else if (const auto lacking = allocate(slot)) {
        wait_for_buffer(*lacking, slot);
    }
}

/// The DE buffer for the whole prompt and, on the prefill path, the PE buffer for the hits: both,
/// and then the read starts, or none, and it says which node lacks room.
std::optional<NodeId> DualPathControl::allocate(Slot slot) {
    RequestState& r = state(slot);
    if (!free_movements()) {
        const Bytes decode = facts_.kv.resident(r.request.prompt);
        const Bytes prefill = r.path == ReadPath::prefill ? facts_.kv.of(r.hit) : Bytes{0};
        if (decode > memory_.buffer(node_of(r.decode)).free()) return node_of(r.decode);
        if (prefill > memory_.buffer(node_of(r.prefill)).free()) return node_of(r.prefill);
        memory_.take_buffers(node_of(r.decode), decode, node_of(r.prefill), prefill);
        r.decode_buffer = decode;
        r.prefill_buffer = prefill;
    }
    commands_->push_back(AssignRequest{r.request.id, r.prefill, r.decode, r.path, r.hit,
                                       r.decode_chosen, r.engines_chosen});
    read(slot);
    return std::nullopt;
}

void DualPathControl::wait_for_buffer(NodeId node, Slot slot) {
    nodes_[node.index()].waiting.push_back(slot);
    ++waiting_for_buffers_;
}

/// Room came free at these nodes: their oldest requests try again, until one still lacks it there.
/// One that now lacks room at its other node waits there.
void DualPathControl::retry_allocations() {
    for (const NodeId node : std::exchange(freed_nodes_, {})) {
        auto& waiting = nodes_[node.index()].waiting;
        nodes_[node.index()].freed = false;
        while (!waiting.empty()) {
            const Slot slot = waiting.front();
            const auto lacking = allocate(slot);
            if (lacking == node) break;
            waiting.pop_front();
            --waiting_for_buffers_;
            if (lacking) wait_for_buffer(*lacking, slot);
        }
    }
}

void DualPathControl::read(Slot slot) {
    RequestState& r = state(slot);
    r.stage = Stage::reading;
    if (r.hit == Tokens{0} || free_movements()) {
        read_done(slot);
        return;
    }
    start_transfer(Movement::storage_to_host, r.reader(), r.reader(), facts_.kv.of(r.hit),
                   Purpose::read, request(slot));
}

void DualPathControl::read_done(Slot slot) {
    RequestState& r = state(slot);
    nodes_[node_of(r.reader()).index()].read_queue -= std::exchange(r.reading, {});
    if (layerwise() || free_movements()) {
        make_ready(slot);
        return;
    }
    r.stage = Stage::waiting_hbm;
    ++waiting_for_prefill_hbm_;
    engine(r.prefill).waiting_hbm.push_back(slot);
    admit_to_hbm(r.prefill);
}

/// Whole-prompt loading: the PE holds all KV of a prompt from its load until it has been sent.
void DualPathControl::admit_to_hbm(EngineId id) {
    auto& waiting = engine(id).waiting_hbm;
    while (!waiting.empty()) {
        const Slot slot = waiting.front();
        RequestState& r = state(slot);
        const Bytes size = facts_.kv.resident(r.request.prompt);
        if (!memory_.hbm(id).take(size)) return;
        waiting.pop_front();
        --waiting_for_prefill_hbm_;
        r.prefill_hbm = size;
        r.stage = Stage::loading;
        if (!start_load(slot)) make_ready(slot);
    }
}

void DualPathControl::make_ready(Slot slot) {
    RequestState& r = state(slot);
    r.stage = Stage::ready;
    engine(r.prefill).ready.push_back(slot);
    notice(place(r.prefill).expert_group);
}

/// Brings the cached KV into the PE's HBM: from its own host memory, or from the DE's. Layerwise,
/// every chunk of a prompt loads it anew, since HBM keeps one layer at a time; a whole prompt is
/// loaded once, before its first chunk.
std::optional<TransferId> DualPathControl::start_load(Slot slot) {
    RequestState& r = state(slot);
    const bool due = layerwise() ? r.stage == Stage::ready : r.stage == Stage::loading;
    const Bytes size = facts_.kv.of(r.cached());
    if (!due || free_movements() || size == Bytes{0}) return std::nullopt;
    const bool local = r.path == ReadPath::prefill;
    return start_transfer(local ? Movement::host_to_hbm : Movement::host_to_peer_hbm,
                          local ? r.prefill : r.decode, r.prefill, size, Purpose::load,
                          request(slot));
}

/// Layer by layer after the step: the chunk's new KV, and on the prefill path the hits with the
/// first chunk (the DE path has them in the DE buffer already).
void DualPathControl::start_send(const Chunk& chunk, StepId step) {
    RequestState& r = state(chunk.request.slot);
    if (free_movements()) return;
    const bool with_hits = r.path == ReadPath::prefill && r.computed == Tokens{0};
    const Bytes size = with_hits ? facts_.kv.of(chunk.cached + chunk.tokens)
                                 : facts_.kv.after(chunk.cached, chunk.tokens);
    ++r.sends;
    start_transfer(Movement::hbm_to_peer_host, r.prefill, r.decode, size, Purpose::send,
                   request(chunk.request.slot), step);
}

void DualPathControl::load_done(Slot slot) {
    RequestState& r = state(slot);
    if (r.stage == Stage::loading) make_ready(slot);
}

/// The last chunk is computed: the request has its first token and leaves the PE.
void DualPathControl::prompt_done(Slot slot, bool finished) {
    RequestState& r = state(slot);
    r.generated += Tokens{1};
    engine(r.prefill).load -= std::exchange(r.prefill_load, {});
    --engine(r.prefill).requests;
    free_buffer(node_of(r.prefill), r.prefill_buffer);
    r.stage = Stage::sending;
    if (finished)
        finish(slot, Outcome::finished);
    else if (r.sends == 0)
        send_done(slot);
}

/// Also called when nothing had to be sent. Decode starts from a complete DE buffer.
void DualPathControl::send_done(Slot slot) {
    RequestState& r = state(slot);
    if (r.stage != Stage::sending || r.sends > 0) return;
    free_prefill_hbm(r.prefill, r.prefill_hbm);
    stage(slot);
}

void DualPathControl::stage(Slot slot) {
    RequestState& r = state(slot);
    if (free_movements()) {
        join(slot);
        return;
    }
    r.stage = Stage::staging;
    start_transfer(Movement::host_to_hbm, r.decode, r.decode, facts_.kv.of(r.request.prompt),
                   Purpose::stage, request(slot));
}

void DualPathControl::join(Slot slot) {
    RequestState& r = state(slot);
    free_buffer(node_of(r.decode), r.decode_buffer);
    r.stage = Stage::joining;
    const ExpertGroupId id = place(r.decode).expert_group;
    group(id).joins.push_back({r.request.id, r.decode, r.request.prompt});
    notice(id);
}

/// Frees what the request holds, hands its new KV to a writeback and tells the client. One that
/// left the very prefill step it finished in has no KV worth writing.
void DualPathControl::finish(Slot slot, Outcome outcome) {
    RequestState& r = state(slot);
    if (outcome == Outcome::finished && r.stage != Stage::prefilling) begin_writeback(slot);
    if (r.sends > 0) cancel_transfers(request(slot));  // nobody waits for that KV
    release(slot);
    r.stage = Stage::ended;
    --unfinished_;
    commands_->push_back(RequestFinished{r.request.id, outcome});
}

// ---- writeback --------------------------------------------------------------------------------

/// All whole blocks that storage does not hold yet: the prompt's misses and what was generated.
/// One transfer per hop. The blocks' HBM stays taken until they are in host memory.
void DualPathControl::begin_writeback(Slot slot) {
    RequestState& r = state(slot);
    const Tokens through = floor_to(r.request.prompt + r.generated, facts_.kv.block());
    if (r.weights != weights_) return;  // computed under older weights: no use to anyone
    if (free_movements()) {
        index_.written(r.request, through);
        return;
    }
    if (through <= r.hit) return;
    if (free_writebacks_.empty()) {
        writebacks_.emplace_back();
        free_writebacks_.push_back(static_cast<std::uint32_t>(writebacks_.size() - 1));
    }
    const std::uint32_t index = free_writebacks_.back();
    free_writebacks_.pop_back();
    writebacks_[index] = {.request = r.request,
                          .engine = r.decode,
                          .from = r.hit,
                          .through = through,
                          .weights = r.weights,
                          .sends = r.sends,
                          .prefill = r.prefill,
                          .active = true};
    Writeback& w = writebacks_[index];
    ++active_writebacks_;
    const Bytes size = facts_.kv.after(w.from, w.through - w.from);
    if (r.stage == Stage::sending) {  // one token: its KV is, or will be, in the DE buffer
        w.buffer = std::exchange(r.decode_buffer, {});
        w.prefill_hbm = std::exchange(r.prefill_hbm, {});
        r.sends = 0;
        for (TransferState& t : transfers_) {
            if (t.active && t.owner == request(slot)) t.owner = writeback(index);
        }
    } else {
        w.hbm = std::min(size, r.decode_hbm);
        r.decode_hbm -= w.hbm;
    }
    continue_writeback(index);
}

/// The next hop of a writeback, as soon as what it needs is there.
void DualPathControl::continue_writeback(std::uint32_t index) {
    Writeback& w = writebacks_[index];
    if (w.sends > 0) return;
    free_prefill_hbm(w.prefill, w.prefill_hbm);
    if (w.buffer > Bytes{0}) {
        persist_to_storage(index);
        return;
    }
    const Bytes size = facts_.kv.after(w.from, w.through - w.from);
    if (memory_.buffer(node_of(w.engine)).take(size)) {
        w.buffer = size;
        persist_to_host(index);
    } else {
        nodes_[node_of(w.engine).index()].waiting_writes.push_back(index);
    }
}

void DualPathControl::persist_to_host(std::uint32_t index) {
    const Writeback& w = writebacks_[index];
    start_transfer(Movement::hbm_to_host, w.engine, w.engine,
                   facts_.kv.after(w.from, w.through - w.from), Purpose::persist_to_host,
                   writeback(index));
}

void DualPathControl::persist_to_storage(std::uint32_t index) {
    Writeback& w = writebacks_[index];
    if (w.hbm > Bytes{0}) {
        memory_.hbm(w.engine).give_back(std::exchange(w.hbm, {}));
        decode_due_ = true;
    }
    start_transfer(Movement::host_to_storage, w.engine, w.engine,
                   facts_.kv.after(w.from, w.through - w.from), Purpose::persist_to_storage,
                   writeback(index));
}

void DualPathControl::end_writeback(std::uint32_t index, bool visible) {
    Writeback& w = writebacks_[index];
    if (w.hbm > Bytes{0}) {
        memory_.hbm(w.engine).give_back(std::exchange(w.hbm, {}));
        decode_due_ = true;
    }
    free_prefill_hbm(w.prefill, w.prefill_hbm);
    free_buffer(node_of(w.engine), w.buffer);
    if (visible && w.weights == weights_) index_.written(w.request, w.through);
    w.active = false;
    --active_writebacks_;
    free_writebacks_.push_back(index);
}

// ---- transfers --------------------------------------------------------------------------------

TransferId DualPathControl::start_transfer(Movement movement, EngineId from, EngineId to,
                                           Bytes size, Purpose purpose, TransferOwner owner,
                                           const After& after) {
    CHECK(size > Bytes{0}, "a transfer moves something");
    if (free_transfers_.empty()) {
        free_transfers_.push_back(static_cast<std::uint32_t>(transfers_.size()));
        transfers_.emplace_back().transfer.id = {free_transfers_.back(), 0};
    }
    TransferState& t = transfers_[free_transfers_.back()];
    free_transfers_.pop_back();
    const TransferId id{t.transfer.id.slot, t.transfer.id.serial + 1};
    const RequestId served = owner.kind == TransferOwner::Kind::request
                                 ? state(owner.index).request.id
                                 : writebacks_[owner.index].request.id;
    t = {{id, movement, from, to, size, {0, facts_.kv.layers()}, served}, purpose, owner, true};
    // Storage transfers queue at the engine whose node's SNIC works, the others at the one they
    // start from.
    engine(from).traffic.submit(t.transfer, after, *commands_);
    return id;
}

/// Frees the transfer's name and lets the next one of its queue start.
void DualPathControl::end_transfer(TransferId id) {
    TransferState& t = transfers_[id.slot];
    t.active = false;
    free_transfers_.push_back(id.slot);
    engine(t.transfer.from).traffic.ended(t.transfer.movement, *commands_);
}

void DualPathControl::on(const TransferDone& event) {
    const TransferState t = transfers_[event.id.slot];
    CHECK(t.active && t.transfer.id == event.id, "a transfer is reported once");
    end_transfer(event.id);
    if (event.status == Status::failed) {
        fail(t);
        return;
    }
    const std::uint32_t owner = t.owner.index;
    switch (t.purpose) {
        case Purpose::read:
            read_done(owner);
            break;
        case Purpose::load:
            load_done(owner);
            break;
        case Purpose::send:
            if (t.owner.kind == TransferOwner::Kind::writeback) {
                --writebacks_[owner].sends;
                continue_writeback(owner);
            } else {
                --state(owner).sends;
                send_done(owner);
            }
            break;
        case Purpose::stage:
            join(owner);
            break;
        case Purpose::persist_to_host:
            persist_to_storage(owner);
            break;
        case Purpose::persist_to_storage:
            end_writeback(owner, true);
            break;
    }
}

/// Gives back what whole-prompt loading held on a PE; the next prompt may have it.
void DualPathControl::free_prefill_hbm(EngineId id, Bytes& size) {
    if (size == Bytes{0}) return;
    memory_.hbm(id).give_back(std::exchange(size, {}));
    admit_to_hbm(id);
}

/// Gives host memory back and wakes who waits for it: first writebacks, which hold HBM meanwhile.
void DualPathControl::free_buffer(NodeId node, Bytes& size) {
    if (size == Bytes{0}) return;
    memory_.buffer(node).give_back(std::exchange(size, {}));
    NodeState& n = nodes_[node.index()];
    if (!n.waiting_writes.empty()) {
        for (const std::uint32_t index : std::exchange(n.waiting_writes, {})) {
            continue_writeback(index);
        }
    }
    wake(node);
}

/// Requests that wait for host memory of this node try again at the end of this event.
void DualPathControl::wake(NodeId node) {
    NodeState& n = nodes_[node.index()];
    if (n.waiting.empty() || n.freed) return;
    n.freed = true;
    freed_nodes_.push_back(node);
}

}  // namespace dualpath
