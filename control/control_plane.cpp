// The shared brain: events in, fetches and scheduling, steps out.
#include "control/control_plane.h"

#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"

namespace dualpath {
namespace {

std::vector<Bytes> per_engine(const ControlFacts& facts) {
    std::vector<Bytes> sizes;
    for (const EnginePlace& e : facts.layout.engines) {
        sizes.push_back(e.role == Role::prefill ? facts.prefill_hbm : facts.decode_hbm);
    }
    return sizes;
}

std::vector<Bytes> per_node(const ControlFacts& facts) {
    std::vector<Bytes> sizes;
    for (const Role role : facts.layout.nodes) {
        sizes.push_back(role == Role::prefill ? facts.prefill_buffer : facts.decode_buffer);
    }
    return sizes;
}

}  // namespace

DualPathControl::DualPathControl(ControlFacts facts, ControlSettings settings,
                                 const ComputeModel& model)
    : facts_{std::move(facts)},
      settings_{std::move(settings)},
      planner_{settings_, model},
      prefill_policy_{make_prefill_policy(settings_)},
      decode_policy_{make_decode_policy(settings_)},
      read_path_{make_read_path(settings_, facts_.layout.shape)},
      index_{facts_.kv.block()},
      memory_{per_engine(facts_), per_node(facts_)} {
    const Layout& layout = facts_.layout;
    for (std::uint32_t i = 0; i < layout.engines.size(); ++i) {
        engines_.push_back({.traffic = TrafficManager{settings_.storage_transfers_in_flight}});
        (layout.engines[i].role == Role::prefill ? prefill_engines_ : decode_engines_)
            .push_back(EngineId{i});
    }
    groups_.resize(layout.expert_groups.size());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        groups_[i].not_fetched = layout.fetch_groups_of[i];
    }
    fetch_groups_.resize(layout.fetch_groups.size());
    nodes_.resize(layout.nodes.size());
}

void DualPathControl::handle(Instant now, const Event& event, std::vector<Command>& commands) {
    CHECK(now >= now_, "the clock never goes back");
    now_ = now;
    commands_ = &commands;
    std::visit([this](const auto& e) { on(e); }, event);
    pump();
}

/// After every event: hands out work as far as resources allow. A step that starts may preempt, and
/// what that frees is handed out too: no later event need come.
void DualPathControl::pump() {
    do {
        if (std::exchange(decode_due_, false)) serve_decode();
        if (std::exchange(prefill_due_, false)) serve_prefill();
        if (!freed_nodes_.empty()) retry_allocations();
        start_noticed();
    } while (decode_due_ || prefill_due_ || !freed_nodes_.empty());
}

void DualPathControl::on(const RequestArrived& event) {
    const Slot slot = event.request.id.slot;
    if (requests_.size() <= slot) requests_.resize(slot + 1);
    CHECK(state(slot).stage == Stage::ended, "a slot holds one request at a time");
    state(slot) = {.request = event.request, .stage = Stage::waiting_decode, .weights = weights_};
    decode_queue_.push_back(slot);
    decode_due_ = true;
    ++unfinished_;
}

void DualPathControl::on(const GroupFetched& event) {
    FetchGroupState& fetch = fetch_groups_[event.group.index()];
    const Role role = facts_.layout.role_of(event.group);
    (role == Role::prefill ? prefill_due_ : decode_due_) = true;
    for (const ExpertGroupId id : facts_.layout.expert_groups_of[event.group.index()]) {
        auto& pending = group(id).not_fetched;
        const auto at = std::find(pending.begin(), pending.end(), event.group);
        if (group(id).phase != ExpertGroupState::Phase::boundary || at == pending.end()) continue;
        pending.erase(at);
        if (fetch.waiting++ == 0) ++(role == Role::prefill ? open_prefill_ : open_decode_);
        if (!pending.empty()) continue;
        group(id).phase = ExpertGroupState::Phase::idle;
        notice(id);
    }
}

void DualPathControl::on(const LayersDone& event) {
    CHECK(group(event.step.group).step == event.step.number, "layers belong to the running step");
}

void DualPathControl::on(const TimerFired&) { CHECK(false, "control sets no timer yet"); }

void DualPathControl::on(const StepDone& event) {
    ExpertGroupState& g = group(event.step.group);
    CHECK(g.phase == ExpertGroupState::Phase::running && g.step == event.step.number,
          "a step is reported once, while it runs");
    g.phase = ExpertGroupState::Phase::boundary;
    g.not_fetched = facts_.layout.fetch_groups_of[event.step.group.index()];
    ++g.step;
    if (event.status == Status::failed) {
        lose_group(event.step.group);
        return;
    }
    if (facts_.layout.role_of(event.step.group) == Role::prefill)
        prefill_done(g, event);
    else
        decode_done(g, event);
    for (const Slot slot : std::exchange(g.leaving, {})) {
        const Leaving how = std::exchange(state(slot).leaving, Leaving::no);
        if (state(slot).stage == Stage::ended || how == Leaving::no) continue;
        if (state(slot).stage == Stage::decoding) leave_batch(slot);
        if (how == Leaving::aborted)
            abort(slot);
        else
            restart(slot);
    }
}

void DualPathControl::prefill_done(ExpertGroupState& g, const StepDone& event) {
    const std::vector<Chunk> chunks = std::exchange(g.chunks, {});
    for (const Chunk& chunk : chunks) {
        const Slot slot = chunk.request.slot;
        RequestState& r = state(slot);
        r.computed += chunk.tokens;
        const bool finished = std::find(event.finished.begin(), event.finished.end(),
                                        chunk.request) != event.finished.end();
        if (r.leaving != Leaving::no) {
            if (chunk.end == Chunk::End::last) r.generated += Tokens{1};  // the client has it
            if (finished) finish(slot, Outcome::finished);
            continue;
        }
        if (chunk.end == Chunk::End::more) {
            r.stage = Stage::ready;  // goes on in the next forward, before those that came later
            engine(r.prefill).ready.push_front(slot);
            notice(place(r.prefill).expert_group);
            continue;
        }
        prompt_done(slot, finished);
    }
}

void DualPathControl::decode_done(ExpertGroupState& g, const StepDone& event) {
    g.entering.clear();
    for (const RequestId id : event.finished) {
        RequestState& r = state(id.slot);
        CHECK(r.request.id == id && r.stage == Stage::decoding, "only a decoding request finishes");
        r.generated += Tokens{event.step.number - r.join_step + 1};
        --g.members;
        finish(id.slot, Outcome::finished);
    }
    if (g.members > 0) notice(event.step.group);
}

// ---- decode engines ---------------------------------------------------------------------------

/// A DE group that fetches first drains the global queue to all groups, then serves its own.
void DualPathControl::serve_decode() {
    if (decode_policy_->scope() == DecodePolicy::Scope::all_engines) {
        if (!decode_queue_.empty()) assign_decode(decode_engines_, decode_queue_);
        return;
    }
    if (open_decode_ == 0) return;
    if (!decode_queue_.empty()) drain_to_groups();
    if (private_queued_ == 0) return;
    for (std::size_t i = 0; i < fetch_groups_.size(); ++i) {
        FetchGroupState& fetch = fetch_groups_[i];
        if (fetch.waiting == 0 || fetch.queue.empty()) continue;
        const std::size_t before = fetch.queue.size();
        assign_decode(facts_.layout.fetch_groups[i], fetch.queue);
        private_queued_ -= before - fetch.queue.size();
    }
}

/// Each request goes to the DE group with the fewest tokens, those in its queue included.
void DualPathControl::drain_to_groups() {
    const auto alive = [&](std::size_t i) {
        const auto& groups = facts_.layout.expert_groups_of[i];
        return std::any_of(groups.begin(), groups.end(), [&](ExpertGroupId id) {
            return group(id).phase != ExpertGroupState::Phase::lost;
        });
    };
    while (!decode_queue_.empty()) {
        FetchGroupState* best = nullptr;
        for (std::size_t i = 0; i < fetch_groups_.size(); ++i) {
            if (facts_.layout.nodes[i] != Role::decode || !alive(i)) continue;
            if (!best || fetch_groups_[i].load < best->load) best = &fetch_groups_[i];
        }
        if (!best) return;  // every decode engine is lost: wait for one to come back
        const Slot slot = decode_queue_.front();
        decode_queue_.pop_front();
        best->queue.push_back(slot);
        best->load += state(slot).request.prompt;
        ++private_queued_;
    }
}

/// Lets the policy assign the head of a queue to these engines.
void DualPathControl::assign_decode(const std::vector<EngineId>& engines, std::deque<Slot>& queue) {
    decode_candidates_.clear();
    Bytes room{};
    for (const EngineId id : engines) {
        const EngineState& e = engine(id);
        const bool lost = group(place(id).expert_group).phase == ExpertGroupState::Phase::lost;
        const Bytes free = lost ? Bytes{0} : memory_.hbm(id).free();
        decode_candidates_.push_back({id, e.load, e.requests, free});
        room += free;
    }
    demands_.clear();
    for (const Slot slot : queue) {
        const Tokens length = state(slot).request.prompt + settings_.generation_estimate;
        demands_.push_back({length, facts_.kv.resident(length)});
        room -= demands_.back().hbm;
        if (room < Bytes{0}) break;  // more cannot fit
    }
    chosen_.clear();
    decode_policy_->assign(decode_candidates_, demands_, chosen_);
    for (const std::size_t at : chosen_) {
        const Slot slot = queue.front();
        queue.pop_front();
        commit_decode(slot, engines[at]);
    }
}

/// HBM for prompt and estimated generation counts as used from now on.
void DualPathControl::commit_decode(Slot slot, EngineId id) {
    RequestState& r = state(slot);
    r.decode = id;
    r.decode_load = r.request.prompt + settings_.generation_estimate;
    r.decode_hbm = facts_.kv.resident(r.decode_load);
    CHECK(memory_.hbm(id).take(r.decode_hbm), "the policy assigns only what fits");
    engine(id).load += r.decode_load;
    ++engine(id).requests;
    r.decode_chosen = now_;
    r.stage = Stage::waiting_prefill;
    FetchGroupState& fetch = fetch_groups_[place(id).fetch_group.index()];
    if (decode_policy_->scope() == DecodePolicy::Scope::fetching_group)
        fetch.load -= r.request.prompt;
    fetch.load += r.decode_load;
    prefill_queue_.push_back(slot);
    prefill_due_ = true;
}

// ---- prefill engines --------------------------------------------------------------------------

/// Groups that wait for work at the same instant are served as one, so that none of them takes all.
void DualPathControl::serve_prefill() {
    if (prefill_queue_.empty()) return;
    if (prefill_policy_->scope() == PrefillPolicy::Scope::all_engines) {
        assign_prefill(prefill_engines_);
        return;
    }
    if (open_prefill_ == 0) return;
    fetching_.clear();
    for (std::size_t i = 0; i < fetch_groups_.size(); ++i) {
        if (fetch_groups_[i].waiting == 0 || facts_.layout.nodes[i] != Role::prefill) continue;
        const auto& engines = facts_.layout.fetch_groups[i];
        fetching_.insert(fetching_.end(), engines.begin(), engines.end());
    }
    assign_prefill(fetching_);
}

/// First come first served until the policy says stop.
void DualPathControl::assign_prefill(const std::vector<EngineId>& engines) {
    prefill_candidates_.clear();
    for (const EngineId id : engines) {
        if (group(place(id).expert_group).phase == ExpertGroupState::Phase::lost) continue;
        prefill_candidates_.push_back(
            {id, engine(id).load, nodes_[node_of(id).index()].read_queue});
    }
    while (!prefill_queue_.empty()) {
        const auto at = prefill_policy_->choose(prefill_candidates_);
        if (!at) return;
        PrefillCandidate& candidate = prefill_candidates_[*at];
        const Slot slot = prefill_queue_.front();
        prefill_queue_.pop_front();
        candidate.load += state(slot).request.prompt;
        choose_prefill(slot, candidate.engine);
    }
}

// ---- steps ------------------------------------------------------------------------------------

/// The group may have work now: it is looked at once all that this event brought is done.
void DualPathControl::notice(ExpertGroupId id) {
    if (group(id).noticed) return;
    group(id).noticed = true;
    noticed_.push_back(id);
}

void DualPathControl::start_noticed() {
    for (std::size_t i = 0; i < noticed_.size(); ++i) {
        const ExpertGroupId id = noticed_[i];
        group(id).noticed = false;
        if (group(id).phase != ExpertGroupState::Phase::idle) continue;
        if (facts_.layout.role_of(id) == Role::prefill)
            start_prefill(id);
        else
            start_decode(id);
    }
    noticed_.clear();
}

void DualPathControl::start_prefill(ExpertGroupId id) {
    ExpertGroupState& g = group(id);
    g.chunks.clear();
    for (const EngineId e : facts_.layout.expert_groups[id.index()]) {
        auto& ready = engine(e).ready;
        prompts_.clear();
        for (const Slot slot : ready) {
            prompts_.push_back({state(slot).cached(), state(slot).remaining()});
        }
        batch_.clear();
        if (!prompts_.empty()) planner_.plan(prompts_, batch_);
        for (const PlannedChunk& planned : batch_) {
            RequestState& r = state(ready[planned.index]);
            const bool last = planned.tokens == r.remaining();
            g.chunks.push_back({r.request.id, e, r.cached(), planned.tokens, planned.attention,
                                start_load(ready[planned.index]),
                                last ? Chunk::End::last : Chunk::End::more});
            r.stage = Stage::prefilling;
        }
        ready.erase(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(batch_.size()));
    }
    if (g.chunks.empty()) return;
    start_step(id, {{id, g.step}, Role::prefill, g.chunks, {}});
    for (const Chunk& chunk : g.chunks) start_send(chunk, {id, g.step});
}

void DualPathControl::start_decode(ExpertGroupId id) {
    ExpertGroupState& g = group(id);
    grow(id);
    g.entering.swap(g.joins);
    for (const Join& join : g.entering) {
        RequestState& r = state(join.request.slot);
        r.stage = Stage::decoding;
        r.join_step = g.step;
        ++g.members;
        const Tokens room = ceil_to(r.decode_load, facts_.kv.block()) - r.request.prompt;
        g.growth.push_back(
            {g.step + static_cast<std::uint32_t>(room.value), join.request.slot, g.step});
        std::push_heap(g.growth.begin(), g.growth.end());
    }
    if (g.members > 0) start_step(id, {{id, g.step}, Role::decode, {}, g.entering});
}

void DualPathControl::start_step(ExpertGroupId id, const Step& step) {
    group(id).phase = ExpertGroupState::Phase::running;
    commands_->push_back(StartStep{step, {}});
    for (const FetchGroupId fetch : facts_.layout.fetch_groups_of[id.index()]) {
        if (--fetch_groups_[fetch.index()].waiting > 0) continue;
        --(step.role == Role::prefill ? open_prefill_ : open_decode_);
    }
}

/// Sequences past their estimate take HBM block by block; where there is none, the youngest of
/// that engine gives way.
void DualPathControl::grow(ExpertGroupId id) {
    ExpertGroupState& g = group(id);
    while (!g.growth.empty() && g.growth.front().step <= g.step) {
        std::pop_heap(g.growth.begin(), g.growth.end());
        const Growth due = g.growth.back();
        g.growth.pop_back();
        RequestState& r = state(due.slot);
        if (r.stage != Stage::decoding || r.join_step != due.joined ||
            place(r.decode).expert_group != id) {
            continue;  // it left, and may have come back
        }
        const Tokens held = r.request.prompt + Tokens{due.step - due.joined};
        const Bytes block = facts_.kv.after(held, facts_.kv.block());
        while (!memory_.hbm(r.decode).take(block)) {
            preempt_youngest(r.decode);
            if (r.stage != Stage::decoding) break;  // it was the youngest itself
        }
        if (r.stage != Stage::decoding) continue;
        r.decode_hbm += block;
        const auto blocks = static_cast<std::uint32_t>(facts_.kv.block().value);
        g.growth.push_back({due.step + blocks, due.slot, due.joined});
        std::push_heap(g.growth.begin(), g.growth.end());
    }
}

}  // namespace dualpath
