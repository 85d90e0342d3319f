// SimWorld's transfers: when their bytes start to flow, wait at a layer, and arrive.
#include <algorithm>

#include "base/check.h"
#include "sim/sim_world.h"

namespace dualpath::sim {
namespace {

/// Bytes of all layers but the last, and of the first alone.
Bytes without_last_layer(const Transfer& t) {
    const std::int64_t layers = t.layers.end - t.layers.first;
    return {t.size.value - std::max<std::int64_t>(t.size.value / layers, 1)};
}
Bytes first_layer(const Transfer& t) {
    const std::int64_t layers = t.layers.end - t.layers.first;
    return {std::max<std::int64_t>(t.size.value / layers, 1)};
}

}  // namespace

void SimWorld::on(const StartTransfer& command) {
    const std::uint32_t slot = command.transfer.id.slot;
    if (transfers_.size() <= slot) transfers_.resize(slot + 1);
    CHECK(transfers_[slot].state == SimTransfer::State::ended, "a transfer's name is used once");
    transfers_[slot] = {.transfer = command.transfer, .state = SimTransfer::State::held};
    if (const auto* step = std::get_if<StepId>(&command.after)) {
        transfers_[slot].after = *step;
        Group& g = group(step->group);
        CHECK(g.running && g.step == step->number, "a send follows a step that runs");
        g.sends.push_back(slot);
        if (g.computing) start_send(slot);
    } else if (const auto* before = std::get_if<TransferId>(&command.after);
               before && in_flight(*before)) {
        followers_.emplace_back(*before, slot);
    } else {
        starting_.push_back(slot);
    }
}

/// Starts what was commanded at this instant; by now each load knows the step it feeds.
void SimWorld::start_flows() {
    for (const std::uint32_t slot : starting_) {
        SimTransfer& t = transfers_[slot];
        if (t.state != SimTransfer::State::held) continue;  // cancelled at once
        if (t.transfer.movement == Movement::storage_to_host &&
            settings_.storage_latency > Duration{0}) {
            queue_.schedule(now_ + settings_.storage_latency,
                            {Internal::Kind::flow_start, slot, t.transfer.id.serial});
        } else {
            start_flow(slot);
        }
    }
    starting_.clear();
}

void SimWorld::start_flow(std::uint32_t slot) {
    SimTransfer& t = transfers_[slot];
    t.state = SimTransfer::State::flowing;
    std::optional<Bytes> mark;
    if (t.feeds && first_layer(t.transfer) < t.transfer.size) mark = first_layer(t.transfer);
    t.flow = network_.start(now_, path(t.transfer), t.transfer.size, slot, {}, mark);
}

/// No faster than the step computes, so that no layer leaves before it exists.
void SimWorld::start_send(std::uint32_t slot) {
    SimTransfer& t = transfers_[slot];
    if (t.state != SimTransfer::State::held) return;
    t.state = SimTransfer::State::flowing;
    const Bytes early = without_last_layer(t.transfer);
    if (early == Bytes{0}) {
        t.state = SimTransfer::State::at_mark;
        t.rest = t.transfer.size;
        return;
    }
    std::optional<BytesPerSecond> cap;
    const Duration compute = group(t.after->group).compute;
    if (compute > Duration{0}) cap = t.transfer.size / compute;
    t.flow = network_.start(now_, path(t.transfer), t.transfer.size, slot, cap, early);
}

void SimWorld::on_flow(const FlowEvent& event) {
    SimTransfer& t = transfers_[event.owner];
    if (event.kind == FlowEvent::Kind::end) {
        end_transfer(event.owner);
        return;
    }
    if (t.feeds) {
        t.first_layer_there = true;
        load_progress(*t.feeds, false);
        return;
    }
    const Group& g = group(t.after->group);
    if (!g.running || g.step != t.after->number) return;  // all layers exist: it just goes on
    const bool ends_now = std::any_of(flow_events_.begin(), flow_events_.end(), [&](const auto& e) {
        return e.owner == event.owner && e.kind == FlowEvent::Kind::end;
    });
    if (ends_now) return;  // the last layer takes no time
    t.rest = network_.cancel(now_, t.flow);
    t.state = SimTransfer::State::at_mark;
}

void SimWorld::end_transfer(std::uint32_t slot) {
    SimTransfer& t = transfers_[slot];
    t.state = SimTransfer::State::ended;
    if (t.feeds) {
        if (!t.first_layer_there) load_progress(*t.feeds, false);
        load_progress(*t.feeds, true);
    }
    report(TransferDone{t.transfer.id});
    for (std::size_t i = 0; i < followers_.size();) {
        if (followers_[i].first != t.transfer.id) {
            ++i;
            continue;
        }
        starting_.push_back(followers_[i].second);
        followers_.erase(followers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void SimWorld::cancel_transfer(TransferId id) {
    if (withdraw_report([&](const Event& event) {
            const auto* done = std::get_if<TransferDone>(&event);
            return done && done->id == id;
        }) ||
        !in_flight(id)) {
        return;
    }
    SimTransfer& t = transfers_[id.slot];
    if (t.state == SimTransfer::State::flowing) network_.cancel(now_, t.flow);
    t.state = SimTransfer::State::ended;
    std::erase(starting_, id.slot);
    if (t.feeds) {  // its step no longer waits for it
        if (!t.first_layer_there) load_progress(*t.feeds, false);
        load_progress(*t.feeds, true);
    }
    std::erase_if(followers_, [&](const auto& f) { return f.first == id || f.second == id.slot; });
    if (t.after) std::erase(group(t.after->group).sends, id.slot);
}

PathIndex SimWorld::path(const Transfer& t) {
    const std::size_t movement = static_cast<std::size_t>(t.movement);
    PathIndex* known = nullptr;
    if (t.movement == Movement::host_to_peer_hbm || t.movement == Movement::hbm_to_peer_host) {
        const bool to_prefill = t.movement == Movement::host_to_peer_hbm;
        const std::size_t p = (to_prefill ? t.to : t.from).index();
        const std::size_t d = (to_prefill ? t.from : t.to).index() - prefill_engines_;
        known = &pair_paths_[2 * (d * prefill_engines_ + p) + (to_prefill ? 1 : 0)];
    } else {
        known = &local_paths_[t.from.index() * movement_names.size() + movement];
    }
    if (*known == unopened) {
        *known =
            network_.open_path(topology_.route(t.movement, t.from, t.to), TrafficClass::kv_cache);
    }
    return *known;
}

}  // namespace dualpath::sim
