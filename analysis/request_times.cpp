// RequestTimes: when each request reached its stages, read off the seam.
#include "analysis/request_times.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"

namespace dualpath {

std::optional<Duration> RequestRecord::ttft() const {
    if (!first_token) return std::nullopt;
    return *first_token - request.submitted;
}

std::optional<Duration> RequestRecord::ttst() const {
    if (!first_token || !second_token) return std::nullopt;
    return *second_token - *first_token;
}

std::optional<double> RequestRecord::tpot_s() const {
    if (!second_token || generated <= Tokens{2}) return std::nullopt;
    return to_seconds(end - *second_token) / static_cast<double>(generated.value - 2);
}

std::optional<TtftParts> RequestRecord::ttft_parts() const {
    if (!engines_chosen || !allocated || !read_done || !first_token) return std::nullopt;
    return TtftParts{*engines_chosen - request.submitted, *allocated - *engines_chosen,
                     *read_done - *allocated, *first_token - *read_done};
}

namespace {

template <class T>
T& grown(std::vector<T>& values, std::size_t index) {
    if (values.size() <= index) values.resize(index + 1);
    return values[index];
}

}  // namespace

RequestTimes::RequestTimes(const std::vector<std::uint32_t>& engines_by_group, Ended ended,
                           Ended first_token)
    : ended_{std::move(ended)},
      first_token_{std::move(first_token)},
      groups_(engines_by_group.size()) {
    for (std::uint32_t i = 0; i < engines_by_group.size(); ++i) {
        group_of_.insert(group_of_.end(), engines_by_group[i], ExpertGroupId{i});
    }
}

void RequestTimes::on_event(const TimedEvent& event, std::span<const Command> commands) {
    now_ = event.at;
    std::visit(
        overloaded{[this](const RequestArrived& e) { see(e); },
                   [this](const TransferDone& e) { see(e); }, [this](const StepDone& e) { see(e); },
                   [this](const EngineLost& e) { see(e); }, [](const auto&) {}},
        event.event);
    for (const Command& command : commands) {
        std::visit(overloaded{[](const SetTimer&) {}, [this](const auto& c) { see(c); }}, command);
    }
}

// ---- events -----------------------------------------------------------------------------------

void RequestTimes::see(const RequestArrived& event) {
    Active& active = grown(active_, event.request.id.slot);
    CHECK(!active.open, "a slot holds one request at a time");
    active = {.record = {.request = event.request}, .open = true, .waiting = true};
    ++unfinished_;
    ++waiting_;
}

void RequestTimes::see(const TransferDone& event) {
    if (event.id.slot >= reads_.size()) return;
    auto& read = reads_[event.id.slot];
    if (!read || read->transfer != event.id) return;
    Active* active = find(read->request);
    if (active && !active->computing && event.status == Status::ok) {
        active->record.read_done = now_;
    }
    read.reset();
}

void RequestTimes::see(const StepDone& event) {
    if (event.status == Status::failed) {
        lose(event.step.group);
        return;
    }
    Group& g = group(event.step.group);
    ++g.steps;
    for (const RequestId id : g.last_chunks) {
        if (Active* active = find(id)) {
            active->record.first_token = now_;
            active->has_first = true;
            wait_no_longer(*active);
            if (first_token_) first_token_(active->record);
        }
    }
    for (const RequestId id : g.joins) {
        Active* active = find(id);
        if (active && active->decoding) active->record.second_token = now_;
    }
    g.last_chunks.clear();
    g.joins.clear();
}

void RequestTimes::see(const EngineLost& event) {
    if (event.id.index() < group_of_.size()) lose(group_of_[event.id.index()]);
}

/// The running step is dropped and the batch is gone.
void RequestTimes::lose(ExpertGroupId id) {
    Group& g = group(id);
    g.last_chunks.clear();
    g.joins.clear();
    for (Active& active : active_) {
        if (active.open && active.decoding == id) end_attempt(active);
    }
}

// ---- commands ---------------------------------------------------------------------------------

void RequestTimes::see(const AssignRequest& command) {
    Active* active = find(command.id);
    if (!active) return;
    end_attempt(*active);
    RequestRecord& r = active->record;
    r.prefill = command.prefill;
    r.decode = command.decode;
    r.path = command.path;
    r.hit = command.hit;
    r.decode_chosen = command.decode_chosen;
    r.engines_chosen = command.engines_chosen;
    r.allocated = r.read_done = now_;
    r.first_token = r.second_token = std::nullopt;
    active->computing = false;
    ++r.attempts;
}

void RequestTimes::see(const StartTransfer& command) {
    const Transfer& transfer = command.transfer;
    auto& read = grown(reads_, transfer.id.slot);
    read.reset();
    if (transfer.movement == Movement::storage_to_host) read = Read{transfer.id, transfer.request};
}

void RequestTimes::see(const StartStep& command) {
    Group& g = group(command.step.id.group);
    g.last_chunks.clear();
    g.joins.clear();
    for (const Chunk& chunk : command.step.chunks) {
        Active* active = find(chunk.request);
        if (!active) continue;
        active->computing = true;
        if (chunk.end == Chunk::End::last) g.last_chunks.push_back(chunk.request);
    }
    for (const Join& join : command.step.joins) {
        Active* active = find(join.request);
        if (!active) continue;
        active->decoding = command.step.id.group;
        active->join_steps = g.steps;
        g.joins.push_back(join.request);
    }
}

void RequestTimes::see(const Cancel& command) {
    if (const auto* transfer = std::get_if<TransferId>(&command.what)) {
        if (transfer->slot >= reads_.size()) return;
        auto& read = reads_[transfer->slot];
        if (read && read->transfer == *transfer) read.reset();
    } else if (const auto* step = std::get_if<StepId>(&command.what)) {
        group(step->group).last_chunks.clear();
        group(step->group).joins.clear();
    } else if (Active* active = find(std::get<RequestId>(command.what))) {
        end_attempt(*active);
    }
}

void RequestTimes::see(const RequestFinished& command) {
    Active* active = find(command.id);
    if (!active) return;
    RequestRecord& r = active->record;
    r.generated = generated(*active);
    r.end = now_;
    r.outcome = command.outcome;
    active->open = false;
    wait_no_longer(*active);
    --unfinished_;
    if (ended_) ended_(r);
}

// ---- bookkeeping ------------------------------------------------------------------------------

RequestTimes::Active* RequestTimes::find(RequestId id) {
    if (id.slot >= active_.size()) return nullptr;
    Active& active = active_[id.slot];
    return active.open && active.record.request.id == id ? &active : nullptr;
}

RequestTimes::Group& RequestTimes::group(ExpertGroupId id) { return grown(groups_, id.index()); }

Tokens RequestTimes::generated(const Active& active) {
    Tokens tokens = active.before;
    if (active.has_first) tokens += Tokens{1};
    if (active.decoding) {
        const std::uint64_t steps = group(*active.decoding).steps - active.join_steps;
        tokens += Tokens{static_cast<std::int64_t>(steps)};
    }
    return tokens;
}

void RequestTimes::wait_no_longer(Active& active) {
    if (active.waiting) --waiting_;
    active.waiting = false;
}

/// What it generated so far stays generated; the next attempt goes on from there.
void RequestTimes::end_attempt(Active& active) {
    active.before = generated(active);
    active.has_first = false;
    active.decoding.reset();
}

}  // namespace dualpath
