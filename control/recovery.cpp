// When things go wrong: aborts, lost engines, failed transfers and preemption. All of them end in
// the same two moves: give back what is held, then start again or tell the client.
#include <algorithm>

#include "base/check.h"
#include "control/control_plane.h"

namespace dualpath {

/// Gives back every byte and count the request holds.
void DualPathControl::release(Slot slot) {
    RequestState& r = state(slot);
    if (r.reading > Tokens{0}) {
        nodes_[node_of(r.reader()).index()].read_queue -= std::exchange(r.reading, {});
    }
    if (r.prefill_load > Tokens{0}) {
        engine(r.prefill).load -= std::exchange(r.prefill_load, {});
        --engine(r.prefill).requests;
        prefill_due_ = true;
    }
    free_prefill_hbm(r.prefill, r.prefill_hbm);
    if (r.prefill_buffer > Bytes{0}) free_buffer(node_of(r.prefill), r.prefill_buffer);
    if (r.decode_buffer > Bytes{0}) free_buffer(node_of(r.decode), r.decode_buffer);
    if (r.decode_load > Tokens{0}) {
        fetch_groups_[place(r.decode).fetch_group.index()].load -= r.decode_load;
        engine(r.decode).load -= std::exchange(r.decode_load, {});
        --engine(r.decode).requests;
        memory_.hbm(r.decode).give_back(std::exchange(r.decode_hbm, {}));
        decode_due_ = true;
    }
}

/// Back to the head of the queue. What it generated so far is part of its prompt from now on.
void DualPathControl::restart(Slot slot, Attempt attempt) {
    RequestState& r = state(slot);
    cancel_transfers({TransferOwner::Kind::request, slot});
    remove_from_queues(slot);
    release(slot);
    if (attempt == Attempt::counts && ++r.attempts >= settings_.max_attempts) {
        finish(slot, Outcome::failed);
        return;
    }
    Request request = r.request;
    request.prompt += r.generated;
    r = {.request = request,
         .stage = Stage::waiting_decode,
         .attempts = r.attempts,
         .lost_at = r.lost_at,
         .weights = weights_};
    decode_queue_.push_front(slot);
    decode_due_ = true;
}

void DualPathControl::abort(Slot slot) {
    cancel_transfers({TransferOwner::Kind::request, slot});
    remove_from_queues(slot);
    finish(slot, Outcome::aborted);
}

/// Is the request in a step that runs now?
bool DualPathControl::computing(const RequestState& r) {
    if (r.stage == Stage::prefilling) return true;
    return r.stage == Stage::decoding &&
           group(place(r.decode).expert_group).phase == ExpertGroupState::Phase::running;
}

/// At once, or at the end of the step the request is in.
void DualPathControl::leave(Slot slot, Leaving how) {
    RequestState& r = state(slot);
    if (computing(r)) {
        const EngineId at = r.stage == Stage::prefilling ? r.prefill : r.decode;
        if (r.leaving == Leaving::no) group(place(at).expert_group).leaving.push_back(slot);
        if (r.leaving != Leaving::aborted) r.leaving = how;
        return;
    }
    if (r.stage == Stage::decoding) leave_batch(slot);
    if (how == Leaving::aborted)
        abort(slot);
    else
        restart(slot);
}

/// Between two steps: out of the decode batch.
void DualPathControl::leave_batch(Slot slot) {
    RequestState& r = state(slot);
    ExpertGroupState& g = group(place(r.decode).expert_group);
    r.generated += Tokens{g.step - r.join_step};
    --g.members;
    commands_->push_back(Cancel{r.request.id});
}

void DualPathControl::preempt_youngest(EngineId id) {
    std::optional<Slot> youngest;
    for (Slot slot = 0; slot < requests_.size(); ++slot) {
        const RequestState& r = state(slot);
        if (r.stage != Stage::decoding || r.decode != id) continue;
        if (!youngest || r.join_step >= state(*youngest).join_step) youngest = slot;
    }
    CHECK(youngest, "HBM is held by somebody");
    leave_batch(*youngest);
    restart(*youngest, Attempt::again);  // giving way is no failure
}

void DualPathControl::on(const RequestAborted& event) {
    const Slot slot = event.id.slot;
    if (slot >= requests_.size() || state(slot).stage == Stage::ended) return;
    if (state(slot).request.id != event.id) return;  // ended before the client gave up
    leave(slot, Leaving::aborted);
}

void DualPathControl::on(const EngineLost& event) {
    CHECK(!engine(event.id).lost, "an engine is lost once");
    engine(event.id).lost = true;
    const ExpertGroupId id = place(event.id).expert_group;
    if (group(id).lost_engines++ > 0) return;
    if (group(id).phase != ExpertGroupState::Phase::running) unfetch(id);
    ++group(id).step;  // the running step's number, or the next one's, is not used again
    group(id).phase = ExpertGroupState::Phase::lost;
    lose_group(id);
}

void DualPathControl::on(const EngineBack& event) {
    CHECK(engine(event.id).lost, "only a lost engine comes back");
    engine(event.id).lost = false;
    const ExpertGroupId id = place(event.id).expert_group;
    if (--group(id).lost_engines > 0) return;
    group(id).phase = ExpertGroupState::Phase::boundary;
    group(id).not_fetched = facts_.layout.fetch_groups_of[id.index()];
}

/// Its leaders no longer wait for work on its behalf.
void DualPathControl::unfetch(ExpertGroupId id) {
    const auto& pending = group(id).not_fetched;
    for (const FetchGroupId fetch : facts_.layout.fetch_groups_of[id.index()]) {
        if (std::find(pending.begin(), pending.end(), fetch) != pending.end()) continue;
        if (--fetch_groups_[fetch.index()].waiting > 0) continue;
        --(facts_.layout.role_of(id) == Role::prefill ? open_prefill_ : open_decode_);
    }
}

/// All that the group's HBM held is gone: its requests start again elsewhere, its writebacks end.
void DualPathControl::lose_group(ExpertGroupId id) {
    ExpertGroupState& g = group(id);
    g.chunks.clear();
    g.entering.clear();
    g.growth.clear();
    g.leaving.clear();
    g.members = 0;
    for (std::uint32_t i = 0; i < writebacks_.size(); ++i) {
        const Writeback& w = writebacks_[i];
        const bool fed = w.sends > 0 && place(w.prefill).expert_group == id;
        if (!w.active || !(fed || place(w.engine).expert_group == id)) continue;
        cancel_transfers({TransferOwner::Kind::writeback, i});
        std::erase(nodes_[node_of(w.engine).index()].waiting_writes, i);
        end_writeback(i, false);
    }
    for (Slot slot = 0; slot < requests_.size(); ++slot) {
        RequestState& r = state(slot);
        const bool on_decode = r.decode_load > Tokens{0} && place(r.decode).expert_group == id;
        const bool on_prefill =
            (r.prefill_load > Tokens{0} || r.sends > 0) && place(r.prefill).expert_group == id;
        if (r.stage == Stage::ended || !(on_decode || on_prefill)) continue;
        if (r.stage == Stage::prefilling && !on_prefill) {
            cancel_transfers({TransferOwner::Kind::request, slot});
            leave(slot, Leaving::restarted);  // its PE is alive and computes it now
        } else if (r.leaving == Leaving::aborted) {
            abort(slot);
        } else {
            if (r.stage == Stage::decoding) r.generated += Tokens{g.step - 1 - r.join_step};
            // A node goes engine by engine at one instant, and a request may move on to the next of
            // them: that is one mishap.
            const bool same = std::exchange(r.lost_at, now_) == now_;
            restart(slot, same ? Attempt::again : Attempt::counts);
        }
    }
    for (const FetchGroupId fetch : facts_.layout.fetch_groups_of[id.index()]) {
        FetchGroupState& f = fetch_groups_[fetch.index()];
        for (const Slot slot : std::exchange(f.queue, {})) {
            f.load -= state(slot).request.prompt;
            decode_queue_.push_back(slot);
            --private_queued_;
        }
    }
    decode_due_ = true;
}

void DualPathControl::fail(const TransferState& t) {
    if (t.owner.kind == TransferOwner::Kind::request) {
        if (t.purpose == Purpose::send) --state(t.owner.index).sends;
        leave(t.owner.index, Leaving::restarted);
    } else {
        cancel_transfers(t.owner);
        end_writeback(t.owner.index, false);
    }
}

void DualPathControl::cancel_transfers(TransferOwner owner) {
    for (TransferState& t : transfers_) {
        if (!t.active || t.owner != owner) continue;
        t.active = false;
        free_transfers_.push_back(t.transfer.id.slot);
        TrafficManager& traffic = engine(t.transfer.from).traffic;
        if (traffic.withdraw(t.transfer)) continue;
        commands_->push_back(Cancel{t.transfer.id});
        traffic.ended(t.transfer.movement, *commands_);
    }
}

void DualPathControl::remove_from_queues(Slot slot) {
    const RequestState& r = state(slot);
    switch (r.stage) {
        case Stage::waiting_decode:
            std::erase(decode_queue_, slot);
            for (FetchGroupState& fetch : fetch_groups_) {
                if (std::erase(fetch.queue, slot) == 0) continue;
                fetch.load -= r.request.prompt;
                --private_queued_;
            }
            break;
        case Stage::waiting_prefill:
            std::erase(prefill_queue_, slot);
            break;
        case Stage::allocating:
            for (const EngineId id : {r.decode, r.prefill}) {
                if (std::erase(nodes_[node_of(id).index()].waiting, slot) == 0) continue;
                --waiting_for_buffers_;
                wake(node_of(id));  // it may have been the only one that did not fit
            }
            break;
        case Stage::waiting_hbm:
            std::erase(engine(r.prefill).waiting_hbm, slot);
            --waiting_for_prefill_hbm_;
            break;
        case Stage::ready:
            std::erase(engine(r.prefill).ready, slot);
            break;
        case Stage::joining:
            std::erase_if(group(place(r.decode).expert_group).joins,
                          [&](const Join& join) { return join.request.slot == slot; });
            break;
        default:
            break;
    }
}

void DualPathControl::on(const WeightsChanged& event) {
    CHECK(event.version > weights_, "versions rise");
    weights_ = event.version;
    index_.clear();
}

// ---- for the run's records and the tests ------------------------------------------------------

MemoryUse DualPathControl::memory_use() const {
    Bytes used[4]{}, all[4]{};
    const auto add = [&](std::size_t i, const MemoryPool& pool) {
        used[i] += pool.used();
        all[i] += pool.capacity();
    };
    for (const EngineId id : prefill_engines_) add(0, memory_.hbm(id));
    for (const EngineId id : decode_engines_) add(1, memory_.hbm(id));
    for (std::uint32_t i = 0; i < facts_.layout.nodes.size(); ++i) {
        add(facts_.layout.nodes[i] == Role::prefill ? 2 : 3, memory_.buffer(NodeId{i}));
    }
    const auto share = [&](std::size_t i) { return all[i] > Bytes{0} ? used[i] / all[i] : 0.0; };
    return {share(0),
            share(1),
            share(2),
            share(3),
            decode_queue_.size() + private_queued_,
            waiting_for_prefill_hbm_,
            waiting_for_buffers_};
}

bool DualPathControl::at_rest() const {
    const MemoryUse use = memory_use();
    const auto idle = [](const EngineState& e) {
        return e.load == Tokens{0} && e.requests == 0 && e.ready.empty() && e.waiting_hbm.empty();
    };
    return unfinished_ == 0 && active_writebacks_ == 0 && private_queued_ == 0 &&
           decode_queue_.empty() && prefill_queue_.empty() && waiting_for_buffers_ == 0 &&
           waiting_for_prefill_hbm_ == 0 && free_transfers_.size() == transfers_.size() &&
           use.prefill_hbm == 0 && use.decode_hbm == 0 && use.prefill_buffer == 0 &&
           use.decode_buffer == 0 && std::all_of(engines_.begin(), engines_.end(), idle) &&
           std::all_of(fetch_groups_.begin(), fetch_groups_.end(),
                       [](const FetchGroupState& f) { return f.load == Tokens{0}; }) &&
           std::all_of(nodes_.begin(), nodes_.end(), [](const NodeState& n) {
               return n.read_queue == Tokens{0} && n.waiting_writes.empty();
           });
}

}  // namespace dualpath
