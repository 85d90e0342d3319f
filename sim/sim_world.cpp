// SimWorld: commands in, events out, time in between.
#include "sim/sim_world.h"

#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"

namespace dualpath::sim {
SimWorld::SimWorld(const Layout& layout, const Topology& topology, const ComputeModel& model,
                   const SimSettings& settings, ResourceObserver* observer)
    : layout_{layout},
      topology_{topology},
      model_{model},
      settings_{settings},
      observer_{observer},
      network_{topology.resources(), settings.lanes},
      prefill_engines_{layout.engine_count(Role::prefill)},
      gpus_(layout.engines.size()),
      local_paths_(layout.engines.size() * movement_names.size(), unopened),
      pair_paths_(2 * prefill_engines_ * layout.engine_count(Role::decode), unopened),
      network_seen_(topology.resources().size()),
      useful_seen_(layout.engines.size()),
      use_(topology.resources().size() + layout.engines.size()) {
    for (const auto& engines : layout.expert_groups)
        groups_.emplace_back(DecodeBatch{engines, model});
    for (std::uint32_t i = 0; i < layout.fetch_groups.size(); ++i) {
        report(GroupFetched{FetchGroupId{i}});  // every leader asks for work at the start
    }
}

void SimWorld::submit(const Arrival& arrival) {
    CHECK(arrival.at >= now_ && arrival.output > Tokens{0}, "arrivals lie ahead and want a token");
    const std::uint32_t slot = arrival.request.id.slot;
    if (requests_.size() <= slot) requests_.resize(slot + 1);
    requests_[slot] = {arrival, Tokens{0}, {}};
    ++unfinished_;
    queue_.schedule(arrival.at + settings_.control_latency, {Internal::Kind::arrival, slot, 0});
}

void SimWorld::schedule(Instant at, const Event& event) {
    outside_.push_back(event);
    queue_.schedule(at,
                    {Internal::Kind::outside, static_cast<std::uint32_t>(outside_.size() - 1), 0});
}

void SimWorld::plan(std::vector<Fault> faults) {
    faults_ = Faults{std::move(faults)};
    fault_turns_ahead_ = faults_.turns().size();
    for (std::uint32_t i = 0; i < fault_turns_ahead_; ++i) {
        queue_.schedule(faults_.turns()[i].at, {Internal::Kind::fault, i, 0});
    }
}

bool SimWorld::nothing_planned() const {
    return queue_.empty() || (unfinished_ == 0 && queue_.size() == fault_turns_ahead_);
}

void SimWorld::execute(const Command& command) {
    std::visit([this](const auto& c) { on(c); }, command);
}

std::optional<TimedEvent> SimWorld::next() {
    while (ready_.empty()) {
        start_flows();
        auto flow_at = network_.next(now_);
        if (flow_at == Instant::max()) flow_at.reset();  // not before the end of time
        if (!flow_at && nothing_planned()) return std::nullopt;
        ++internal_events_;
        if (flow_at && (queue_.empty() || *flow_at <= queue_.top().at)) {
            close_windows_before(*flow_at);
            now_ = *flow_at;
            flow_events_.clear();
            network_.advance(now_, flow_events_);
            for (std::size_t i = 0; i < flow_events_.size(); ++i) on_flow(flow_events_[i]);
        } else {
            const auto entry = queue_.pop();
            close_windows_before(entry.at);
            now_ = entry.at;
            on_internal(entry.what);
        }
    }
    TimedEvent event = ready_.front();
    ready_.pop_front();
    return event;
}

void SimWorld::on_internal(const Internal& what) {
    switch (what.kind) {
        case Internal::Kind::arrival:
            report(RequestArrived{requests_[what.index].arrival.request});
            break;
        case Internal::Kind::timer:
            report(TimerFired{TimerId{what.index}});
            break;
        case Internal::Kind::outside:
            outside(outside_[what.index]);
            break;
        case Internal::Kind::fault:
            turn_fault(faults_.turns()[what.index]);
            break;
        case Internal::Kind::flow_start:
            if (transfers_[what.index].transfer.id.serial == what.serial &&
                transfers_[what.index].state == SimTransfer::State::held) {
                start_flow(what.index);
            }
            break;
        case Internal::Kind::step_end: {
            const ExpertGroupId id{what.index};
            if (group(id).running && group(id).step == what.serial) end_step(id);
            break;
        }
    }
}

void SimWorld::outside(const Event& event) {
    report(event);
    if (const auto* lost = std::get_if<EngineLost>(&event)) {
        drop_step(layout_.engines[lost->id.index()].expert_group);
    } else if (const auto* back = std::get_if<EngineBack>(&event)) {
        report_fetches(layout_.engines[back->id.index()].expert_group);
    }
}

/// Engines go and come one by one, so that control has answered for each before the next.
void SimWorld::turn_fault(const Faults::Turn& turn) {
    --fault_turns_ahead_;
    std::vector<Event> events;
    faults_.apply(turn, topology_.resources(), network_, events);
    for (const Event& event : events) schedule(now_, event);
}

void SimWorld::on(const SetTimer& command) {
    CHECK(command.at >= now_, "a timer lies ahead");
    queue_.schedule(command.at, {Internal::Kind::timer, command.id.value, 0});
}

void SimWorld::on(const Cancel& command) {
    std::visit(overloaded{
                   [&](TransferId id) { cancel_transfer(id); },
                   [&](StepId id) {
                       const Group& g = group(id.group);
                       if (withdraw_report([&](const Event& event) {
                               const auto* done = std::get_if<StepDone>(&event);
                               return done && done->step == id;
                           }) ||
                           (g.running && g.step == id.number)) {
                           drop_step(id.group);
                       }
                   },
                   [&](RequestId id) {
                       SimRequest& r = requests_[id.slot];
                       Group& g = group(r.decodes_in);
                       CHECK(!g.running, "the batch changes between steps");
                       r.produced += g.batch.leave(id, g.step + 1);
                       if (g.batch.empty()) set_collective_rate(r.decodes_in, {0});
                   },
               },
               command.what);
}

// ---- steps ------------------------------------------------------------------------------------

void SimWorld::on(const StartStep& command) {
    CHECK(std::holds_alternative<std::monostate>(command.after), "steps wait by their loads");
    Group& g = group(command.step.id.group);
    CHECK(!g.running, "a group runs one step at a time");
    g.step = command.step.id.number;
    g.running = true;
    g.computing = false;
    g.finished.clear();
    g.useful.assign(layout_.expert_groups[command.step.id.group.index()].size(), 0.0);
    if (command.step.role == Role::prefill)
        start_prefill(command.step);
    else
        start_decode(command.step);
}

/// Lock step: a layer lasts as long as its slowest rank's attention, then the shared part.
void SimWorld::start_prefill(const Step& step) {
    Group& g = group(step.id.group);
    g.chunks.assign(step.chunks.begin(), step.chunks.end());
    const std::uint32_t first = layout_.expert_groups[step.id.group.index()].front().value;
    std::vector<Duration> attention(g.useful.size());
    std::vector<Tokens> tokens(g.useful.size());
    Tokens all{};
    g.first_layers_missing = g.loads_missing = 0;
    for (const Chunk& chunk : g.chunks) {
        const std::size_t rank = chunk.engine.value - first;
        attention[rank] += chunk.attention;
        tokens[rank] += chunk.tokens;
        all += chunk.tokens;
        if (!chunk.load || !in_flight(*chunk.load)) continue;
        transfers_[chunk.load->slot].feeds = step.id;
        ++g.first_layers_missing;
        ++g.loads_missing;
    }
    const Duration slowest = *std::max_element(attention.begin(), attention.end());
    const Tokens most = *std::max_element(tokens.begin(), tokens.end());
    const Duration shared = model_.prefill_shared_layer(most, all) * settings_.layers;
    g.compute = slowest + shared;
    g.layer = g.compute / settings_.layers;
    for (std::size_t rank = 0; rank < g.useful.size(); ++rank) {
        g.useful[rank] = to_seconds(attention[rank]) + to_seconds(shared) * (tokens[rank] / most);
    }
    if (settings_.collectives && g.compute > Duration{0}) {
        set_collective_rate(step.id.group, model_.prefill_collective_rate(most, g.compute));
    }
    if (g.first_layers_missing == 0) begin_compute(step.id.group);
}

/// The first layer of every load is there.
void SimWorld::begin_compute(ExpertGroupId id) {
    Group& g = group(id);
    g.computing = true;
    g.compute_start = now_;
    begin_useful(id, g.compute);
    for (const std::uint32_t slot : g.sends) start_send(slot);
    if (g.loads_missing == 0) schedule_step_end(id, now_ + g.compute);
}

void SimWorld::load_progress(StepId step, bool ended) {
    Group& g = group(step.group);
    if (!g.running || g.step != step.number) return;
    if (!ended) {
        if (--g.first_layers_missing == 0) begin_compute(step.group);
        return;
    }
    if (--g.loads_missing > 0 || !g.computing) return;
    schedule_step_end(step.group, std::max(g.compute_start + g.compute, now_ + g.layer));
}

void SimWorld::start_decode(const Step& step) {
    Group& g = group(step.id.group);
    for (const Join& join : step.joins) {
        SimRequest& r = requests_[join.request.slot];
        r.decodes_in = step.id.group;
        g.batch.join(join, step.id.number, r.arrival.output - r.produced);
    }
    const Duration time = g.batch.step_time();
    int most = 0;
    for (const RankLoad& rank : g.batch.ranks()) most = std::max(most, rank.sequences);
    for (std::size_t rank = 0; rank < g.useful.size(); ++rank) {
        g.useful[rank] = to_seconds(time) * g.batch.ranks()[rank].sequences / most;
    }
    if (settings_.collectives && time > Duration{0}) {
        set_collective_rate(step.id.group, model_.decode_collective_rate(most, time));
    }
    begin_useful(step.id.group, time);
    schedule_step_end(step.id.group, now_ + time);
}

void SimWorld::schedule_step_end(ExpertGroupId id, Instant at) {
    queue_.schedule(at, {Internal::Kind::step_end, id.value, group(id).step});
}

void SimWorld::end_step(ExpertGroupId id) {
    Group& g = group(id);
    g.running = g.computing = false;
    end_useful(id);
    if (layout_.role_of(id) == Role::decode) {
        g.batch.advance(g.step, g.finished);
        if (g.batch.empty()) set_collective_rate(id, {0});
    } else {
        for (const Chunk& chunk : g.chunks) {
            if (chunk.end != Chunk::End::last) continue;
            SimRequest& r = requests_[chunk.request.slot];
            r.produced += Tokens{1};
            if (r.produced >= r.arrival.output) g.finished.push_back(chunk.request);
        }
        for (const std::uint32_t slot : std::exchange(g.sends, {})) {
            if (transfers_[slot].state != SimTransfer::State::at_mark) continue;
            transfers_[slot].state = SimTransfer::State::flowing;  // the last layer may go
            transfers_[slot].flow =
                network_.start(now_, path(transfers_[slot].transfer), transfers_[slot].rest, slot);
        }
        set_collective_rate(id, {0});
    }
    report(StepDone{{id, g.step}, g.finished});
    report_fetches(id);
}

void SimWorld::drop_step(ExpertGroupId id) {
    Group& g = group(id);
    if (g.running) end_useful(id);
    const std::uint32_t next = g.running ? g.step : g.step + 1;  // a dropped step produced nothing
    for (const auto& [request, tokens] : g.batch.leave_all(next)) {
        requests_[request.slot].produced += tokens;
    }
    g.running = g.computing = false;
    g.sends.clear();
    set_collective_rate(id, {0});
}

void SimWorld::report_fetches(ExpertGroupId id) {
    for (const FetchGroupId fetch : layout_.fetch_groups_of[id.index()])
        report(GroupFetched{fetch});
}

/// The all-to-all of a group as a steady load of the high lane. Re-rating every CNIC at each step
/// would cost more than it tells, so changes below 2 % of a CNIC are passed over.
void SimWorld::set_collective_rate(ExpertGroupId id, BytesPerSecond rate) {
    Group& g = group(id);
    const auto& engines = layout_.expert_groups[id.index()];
    const double capacity =
        topology_
            .resources()[topology_.engine_resource(engines.front(), ResourceKind::cnic_tx).index()]
            .capacity.value;
    if (rate.value == g.collective_rate) return;
    if (rate.value > 0 && std::abs(rate.value - g.collective_rate) < 0.02 * capacity) return;
    g.collective_rate = rate.value;
    for (const EngineId engine : engines) {
        for (const auto kind : {ResourceKind::cnic_read, ResourceKind::cnic_write,
                                ResourceKind::cnic_tx, ResourceKind::cnic_rx}) {
            network_.set_background(topology_.engine_resource(engine, kind), rate, now_);
        }
    }
}

void SimWorld::begin_useful(ExpertGroupId id, Duration over) {
    const auto& engines = layout_.expert_groups[id.index()];
    for (std::size_t rank = 0; rank < engines.size(); ++rank) {
        Gpu& gpu = gpus_[engines[rank].index()];
        gpu.work = group(id).useful[rank];
        gpu.rate = over > Duration{0} ? gpu.work / to_seconds(over) : 0;
        gpu.since = now_;
    }
}

void SimWorld::end_useful(ExpertGroupId id) {
    const auto& engines = layout_.expert_groups[id.index()];
    for (std::size_t rank = 0; rank < engines.size(); ++rank) {
        Gpu& gpu = gpus_[engines[rank].index()];
        gpu.useful_s = useful_seconds(gpu, now_);
        gpu.rate = gpu.work = 0;
        gpu.since = now_;
    }
}

/// A step that waits for its loads takes longer than it computes: no more than its work.
double SimWorld::useful_seconds(const Gpu& gpu, Instant at) const {
    return gpu.useful_s + std::min(gpu.rate * to_seconds(at - gpu.since), gpu.work);
}

// ---- resource records -------------------------------------------------------------------------

std::vector<ResourceColumn> resource_columns(const Layout& layout, const Topology& topology) {
    std::vector<ResourceColumn> columns;
    for (const Resource& r : topology.resources()) {
        const auto kind = resource_kind_names[static_cast<std::size_t>(r.kind)];
        columns.push_back({r.name, std::string{kind}, r.role, r.capacity.value});
    }
    for (std::uint32_t i = 0; i < layout.engines.size(); ++i) {
        const ResourceId port = topology.engine_resource(EngineId{i}, ResourceKind::gpu_in);
        const std::string& name = topology.resources()[port.index()].name;
        columns.push_back(
            {name.substr(0, name.rfind('.')) + ".gpu", "gpu", layout.engines[i].role, 1.0});
    }
    return columns;
}

/// Nothing changes between two events, so a long pause is one window of whole lengths.
void SimWorld::close_windows_before(Instant at) {
    constexpr std::int64_t long_pause = 600;
    if (!observer_) return;
    while (at - window_start_ >= settings_.window) {
        const std::int64_t whole = (at - window_start_) / settings_.window;
        close_window(window_start_ + settings_.window * (whole > long_pause ? whole : 1));
    }
}

void SimWorld::close_windows() {
    if (observer_ && now_ > window_start_) close_window(now_);
}

void SimWorld::close_window(Instant at) {
    const std::size_t resources = topology_.resources().size();
    for (std::uint32_t i = 0; i < resources; ++i) {
        const FairShare::Usage usage = network_.usage(ResourceId{i}, at);
        use_[i] = {usage.bytes - network_seen_[i].bytes,
                   usage.at_limit_s - network_seen_[i].at_limit_s};
        network_seen_[i] = usage;
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
        const double useful = useful_seconds(gpus_[i], at);
        use_[resources + i] = {useful - useful_seen_[i], 0};
        useful_seen_[i] = useful;
    }
    observer_->on_window(window_start_, at, use_);
    window_start_ = at;
}

}  // namespace dualpath::sim
