// Flows in flight: bytes on routes at fair rates, and when each of them passes its mark and ends.
#include "sim/network.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace dualpath::sim {
namespace {

constexpr double most_background = 0.9;  // of a capacity: a steady load leaves room for flows
constexpr double low_lane_share = 0.01;  // paper: about 99 % is kept for inference traffic
// Events of one link closer than this are one; a flow that should end with another may miss it by a
// rounding error.
constexpr double same_instant_s = 0.5e-12;

/// When `bytes` more have moved at `rate`, rounded up: a flow is never early. Multiplying first
/// keeps whole results whole; what would end after the end of time waits there for a better rate.
Instant after_moving(double bytes, double rate, Instant now) {
    if (bytes <= 0) return now;
    const double ps = std::ceil(bytes * 1e12 / rate);
    const auto most = Instant::max() - now;
    return ps < static_cast<double>(most.count()) ? now + Duration{static_cast<std::int64_t>(ps)}
                                                  : Instant::max();
}

}  // namespace

Network::Network(const std::vector<Resource>& resources, Lanes lanes) {
    for (const Resource& resource : resources) {
        high_link_.push_back(shares_.add_link(resource.capacity.value));
        capacity_.push_back(resource.capacity.value);
        laned_.push_back(lanes == Lanes::two && has_lanes(resource.kind));
        if (laned_.back()) {
            const LinkIndex low = shares_.add_link(resource.capacity.value);
            shares_.pair_lanes(high_link_.back(), low, low_lane_share);
        }
    }
    background_.resize(resources.size(), 0.0);
    grow_to_links();
}

void Network::grow_to_links() { clocks_.resize(shares_.link_count()); }

PathIndex Network::open_path(const Route& route, TrafficClass traffic) {
    std::array<LinkIndex, FairShare::max_path> path;
    std::size_t length = 0;
    for (const ResourceId resource : route) {
        CHECK(length < path.size() - 1, "a route leaves room for a cap");
        const bool low = laned_[resource.index()] && traffic == TrafficClass::kv_cache;
        const LinkIndex link = high_link_[resource.index()] + (low ? 1 : 0);
        if (std::find(path.begin(), path.begin() + length, link) == path.begin() + length) {
            path[length++] = link;
        }
    }
    const ClassIndex c = shares_.add_class({path.data(), length});
    if (progress_.size() <= c) progress_.resize(c + 1);
    progress_[c] = {};
    return c;
}

ClassIndex Network::private_class(ClassIndex like, double cap) {
    const LinkIndex cap_link = shares_.add_cap(cap);
    grow_to_links();
    std::array<LinkIndex, FairShare::max_path> path;
    const auto route = shares_.path(like);
    std::copy(route.begin(), route.end(), path.begin());
    path[route.size()] = cap_link;
    const ClassIndex c = shares_.add_class({path.data(), route.size() + 1});
    if (progress_.size() <= c) progress_.resize(c + 1);
    progress_[c].due.clear();
    progress_[c].clock = FairShare::none;
    progress_[c].offset = 0;
    progress_[c].cap = cap_link;
    progress_[c].is_private = true;
    return c;
}

double Network::clock_at(LinkIndex link, Instant now) const {
    const Clock& clock = clocks_[link];
    if (now == clock.since) return clock.value;
    return clock.value + shares_.level(link) * to_seconds(now - clock.since);
}

double Network::progress_at(ClassIndex c, Instant now) const {
    const Progress& p = progress_[c];
    return p.clock == FairShare::none ? p.offset : clock_at(p.clock, now) + p.offset;
}

double Network::due_on_clock(ClassIndex c) const {
    return progress_[c].due.front().due - progress_[c].offset;
}

FlowIndex Network::start(Instant now, PathIndex path, Bytes size, std::uint32_t owner,
                         std::optional<BytesPerSecond> cap, std::optional<Bytes> mark) {
    CHECK(size.value > 0, "a flow has bytes to move");
    CHECK(!mark || (mark->value > 0 && *mark < size), "a mark lies inside the flow");
    const ClassIndex c = cap ? private_class(path, cap->value) : path;
    Progress& p = progress_[c];
    if (p.due.empty()) {
        p.clock = FairShare::none;
        p.offset = 0;
        unplaced_.push_back(c);
    }
    if (free_flows_.empty()) {
        flows_.emplace_back();
        free_flows_.push_back(static_cast<FlowIndex>(flows_.size() - 1));
    }
    const FlowIndex flow = free_flows_.back();
    free_flows_.pop_back();
    const double from = progress_at(c, now);
    flows_[flow] = {c, owner, from + static_cast<double>(size.value), mark.has_value()};
    const double due = mark ? from + static_cast<double>(mark->value) : flows_[flow].end;
    p.due.push_back({due, static_cast<std::uint32_t>(flows_started_++), flow});
    ++flows_active_;
    std::push_heap(p.due.begin(), p.due.end());
    shares_.add_flow(c, now);
    if (p.clock != FairShare::none) {
        restore_waiting(clocks_[p.clock], p.position);
        stale_.push_back(p.clock);
    }
    needs_settle_ = true;
    return flow;
}

Bytes Network::cancel(Instant now, FlowIndex flow) {
    const ClassIndex c = flows_[flow].path_class;
    auto& due = progress_[c].due;
    const double left = flows_[flow].end - progress_at(c, now);
    const auto at =
        std::find_if(due.begin(), due.end(), [&](const Tag& t) { return t.flow == flow; });
    CHECK(at != due.end(), "only a running flow is cancelled");
    due.erase(at);
    std::make_heap(due.begin(), due.end());
    if (progress_[c].clock != FairShare::none) {
        const LinkIndex clock = progress_[c].clock;
        if (due.empty())
            unplace(c, now);
        else
            restore_waiting(clocks_[clock], progress_[c].position);
        stale_.push_back(clock);
    }
    end_flow(c, flow, now);
    return Bytes{std::max<std::int64_t>(std::llround(left), 0)};
}

void Network::end_flow(ClassIndex c, FlowIndex flow, Instant now) {
    shares_.remove_flow(c, now);
    free_flows_.push_back(flow);
    --flows_active_;
    if (progress_[c].is_private) ended_.push_back(c);
    needs_settle_ = true;
}

// ---- which clock a class reads ----------------------------------------------------------------

/// Enters the class into the heap of the link that now holds it back.
void Network::place(ClassIndex c, Instant now) {
    Progress& p = progress_[c];
    const double progress = progress_at(c, now);
    p.clock = shares_.bottleneck(c, FairShare::none);
    Clock& clock = clocks_[p.clock];
    if (clock.waiting.empty()) {  // nobody reads it: start afresh, small numbers are exact
        clock.value = 0;
        clock.since = now;
    }
    p.offset = progress - clock_at(p.clock, now);
    p.position = static_cast<std::uint32_t>(clock.waiting.size());
    clock.waiting.push_back(c);
    restore_waiting(clock, p.position);
    stale_.push_back(p.clock);
}

/// Takes the class off its clock; its progress stays where it is.
void Network::unplace(ClassIndex c, Instant now) {
    Progress& p = progress_[c];
    p.offset = progress_at(c, now);
    Clock& clock = clocks_[p.clock];
    stale_.push_back(p.clock);
    p.clock = FairShare::none;
    const std::size_t at = p.position;
    const ClassIndex last = clock.waiting.back();
    clock.waiting.pop_back();
    if (last != c) {
        clock.waiting[at] = last;
        progress_[last].position = static_cast<std::uint32_t>(at);
        restore_waiting(clock, at);
    }
}

/// Restores the order of a clock's heap (binary, earliest on top) around one position.
void Network::restore_waiting(Clock& clock, std::size_t at) {
    auto& heap = clock.waiting;
    const auto earlier = [&](ClassIndex a, ClassIndex b) {
        const double x = due_on_clock(a), y = due_on_clock(b);
        return x != y ? x < y : a < b;
    };
    const auto put = [&](std::size_t i, ClassIndex c) {
        heap[i] = c;
        progress_[c].position = static_cast<std::uint32_t>(i);
    };
    const ClassIndex c = heap[at];
    while (at > 0 && earlier(c, heap[(at - 1) / 2])) {
        put(at, heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (std::size_t child = 2 * at + 1; child < heap.size(); child = 2 * at + 1) {
        if (child + 1 < heap.size() && earlier(heap[child + 1], heap[child])) ++child;
        if (!earlier(heap[child], c)) break;
        put(at, heap[child]);
        at = child;
    }
    put(at, c);
}

// ---- the heap of links ------------------------------------------------------------------------

void Network::heap_place(std::size_t at, LinkIndex link) {
    heap_[at] = link;
    clocks_[link].position = static_cast<std::uint32_t>(at);
}

void Network::heap_restore(std::size_t at) {
    const auto earlier = [&](LinkIndex a, LinkIndex b) {
        return clocks_[a].next != clocks_[b].next ? clocks_[a].next < clocks_[b].next : a < b;
    };
    const LinkIndex link = heap_[at];
    while (at > 0 && earlier(link, heap_[(at - 1) / 4])) {
        heap_place(at, heap_[(at - 1) / 4]);
        at = (at - 1) / 4;
    }
    for (;;) {
        const std::size_t first = 4 * at + 1;
        if (first >= heap_.size()) break;
        std::size_t best = first;
        for (std::size_t i = first + 1; i < std::min(first + 4, heap_.size()); ++i) {
            if (earlier(heap_[i], heap_[best])) best = i;
        }
        if (!earlier(heap_[best], link)) break;
        heap_place(at, heap_[best]);
        at = best;
    }
    heap_place(at, link);
}

void Network::heap_remove(LinkIndex link) {
    const std::size_t at = clocks_[link].position;
    clocks_[link].position = UINT32_MAX;
    const LinkIndex last = heap_.back();
    heap_.pop_back();
    if (last != link) {
        heap_place(at, last);
        heap_restore(at);
    }
}

/// Computes anew when the link's first class is due.
void Network::reschedule(LinkIndex link, Instant now) {
    Clock& clock = clocks_[link];
    if (clock.waiting.empty()) {
        if (clock.position != UINT32_MAX) heap_remove(link);
        return;
    }
    const double ahead = due_on_clock(clock.waiting.front()) - clock_at(link, now);
    clock.next = after_moving(ahead, shares_.level(link), now);
    if (clock.position == UINT32_MAX) {
        heap_.push_back(link);
        clock.position = static_cast<std::uint32_t>(heap_.size() - 1);
    }
    heap_restore(clock.position);
}

// ---- time -------------------------------------------------------------------------------------

void Network::settle(Instant now) {
    needs_settle_ = false;
    const auto changes = shares_.settle(now);
    for (const auto& [link, before] : changes) {
        Clock& clock = clocks_[link];
        if (now != clock.since && !clock.waiting.empty()) {
            clock.value += before * to_seconds(now - clock.since);
        }
        clock.since = now;
        stale_.push_back(link);
    }
    // A class leaves its clock when another link of its path fell below it, or its own rose.
    for (const auto& [link, before] : changes) {
        const double level = shares_.level(link);
        for (const ClassIndex c : shares_.members(link)) {
            const LinkIndex clock = progress_[c].clock;
            if (clock == FairShare::none) continue;
            if (clock != link ? level >= shares_.level(clock)
                              : level <= before || shares_.bottleneck(c, clock) == clock) {
                continue;
            }
            unplace(c, now);
            place(c, now);
        }
    }
    for (const ClassIndex c : unplaced_) {
        if (!progress_[c].due.empty() && progress_[c].clock == FairShare::none) place(c, now);
    }
    unplaced_.clear();
    for (const LinkIndex link : stale_) reschedule(link, now);
    stale_.clear();
    for (const ClassIndex c : ended_) {
        progress_[c].is_private = false;
        shares_.remove_class(c);
        shares_.remove_cap(progress_[c].cap);
    }
    ended_.clear();
}

std::optional<Instant> Network::next(Instant now) {
    if (needs_settle_ || !shares_.settled()) settle(now);
    if (heap_.empty()) return std::nullopt;
    return clocks_[heap_.front()].next;
}

/// Reports all events of one class up to `clock`, a value of the clock it reads.
void Network::fire(ClassIndex c, double clock, Instant now, std::vector<FlowEvent>& events) {
    auto& due = progress_[c].due;
    while (!due.empty() && due_on_clock(c) <= clock) {
        std::pop_heap(due.begin(), due.end());
        const std::uint32_t ticket = due.back().ticket;
        const FlowIndex flow = due.back().flow;
        due.pop_back();
        Flow& f = flows_[flow];
        if (f.mark_pending) {
            f.mark_pending = false;
            events.push_back({f.owner, FlowEvent::Kind::mark});
            due.push_back({f.end, ticket, flow});
            std::push_heap(due.begin(), due.end());
        } else {
            events.push_back({f.owner, FlowEvent::Kind::end});
            end_flow(c, flow, now);
        }
    }
}

void Network::advance(Instant at, std::vector<FlowEvent>& events) {
    while (!heap_.empty() && clocks_[heap_.front()].next == at) {
        const LinkIndex link = heap_.front();
        Clock& clock = clocks_[link];
        // The first class is due by construction, whatever rounding says; the others if as early.
        clock.value = std::max(clock_at(link, at), due_on_clock(clock.waiting.front()));
        clock.since = at;
        const double reached = clock.value + shares_.level(link) * same_instant_s;
        while (!clock.waiting.empty() && due_on_clock(clock.waiting.front()) <= reached) {
            const ClassIndex c = clock.waiting.front();
            fire(c, reached, at, events);
            if (progress_[c].due.empty())
                unplace(c, at);
            else
                restore_waiting(clock, progress_[c].position);
        }
        reschedule(link, at);
    }
}

// ---- capacities and usage ---------------------------------------------------------------------

void Network::set_background(ResourceId resource, BytesPerSecond rate, Instant now) {
    background_[resource.index()] = rate.value;
    apply_background(resource, now);
}

void Network::set_capacity(ResourceId resource, BytesPerSecond capacity, Instant now) {
    capacity_[resource.index()] = capacity.value;
    shares_.set_capacity(high_link_[resource.index()], capacity.value, now);
    apply_background(resource, now);
}

void Network::apply_background(ResourceId resource, Instant now) {
    const std::size_t i = resource.index();
    shares_.set_background(high_link_[i], std::min(background_[i], most_background * capacity_[i]),
                           now);
    needs_settle_ = true;
}

FairShare::Usage Network::usage(ResourceId resource, Instant now) const {
    const LinkIndex high = high_link_[resource.index()];
    FairShare::Usage usage = shares_.usage(high, now);
    if (laned_[resource.index()]) {
        const auto low = shares_.usage(high + 1, now);
        usage.bytes += low.bytes;
    }
    return usage;
}

BytesPerSecond Network::capacity(ResourceId resource) const {
    return {shares_.capacity(high_link_[resource.index()])};
}

}  // namespace dualpath::sim
