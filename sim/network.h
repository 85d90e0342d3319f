// Flows in flight: bytes on routes at fair rates, and when each of them passes its mark and ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "control/messages.h"
#include "models/topology.h"
#include "sim/fair_share.h"

namespace dualpath::sim {

using FlowIndex = std::uint32_t;
/// A route opened for one traffic class; flows on it share one rate.
using PathIndex = std::uint32_t;

/// What a flow tells its owner.
struct FlowEvent {
    std::uint32_t owner;
    enum class Kind : std::uint8_t { mark, end } kind;
};

/// The flow network of a cluster. Rates come from FairShare; this class keeps time. Each saturated
/// link carries a virtual clock that advances at its level, and every class reads its progress off
/// the clock of its bottleneck, so that a new level costs O(1) however many flows it moves, and the
/// heap of next ends holds links, not flows.
class Network {
public:
    /// `lanes`: two traffic classes on the CNICs, the low one guaranteed 1 % (paper, section 6).
    enum class Lanes { two, one };
    Network(const std::vector<Resource>& resources, Lanes lanes);

    PathIndex open_path(const Route& route, TrafficClass traffic);

    /// Starts `size` bytes (at least 1) at `now`. `cap` limits this flow's rate; a flow with a mark
    /// says so once `mark` bytes have moved (0 < mark < size).
    FlowIndex start(Instant now, PathIndex path, Bytes size, std::uint32_t owner,
                    std::optional<BytesPerSecond> cap = {}, std::optional<Bytes> mark = {});
    /// Ends a flow early; returns the bytes it had not moved.
    Bytes cancel(Instant now, FlowIndex flow);

    /// When the next flow event happens; nullopt when nothing flows. Settles the rates first, so
    /// every start and cancel of this instant must have been made.
    std::optional<Instant> next(Instant now);
    /// Appends what happens at `at`, which must be what next() gave.
    void advance(Instant at, std::vector<FlowEvent>& events);

    /// A constant load of the high class. However much is wanted, flows keep a tenth of the present
    /// capacity, also when that changes later.
    void set_background(ResourceId resource, BytesPerSecond rate, Instant now);
    void set_capacity(ResourceId resource, BytesPerSecond capacity, Instant now);
    FairShare::Usage usage(ResourceId resource, Instant now) const;
    BytesPerSecond capacity(ResourceId resource) const;

    std::uint64_t flows_started() const { return flows_started_; }
    std::uint64_t flows_active() const { return flows_active_; }
    const FairShare& shares() const { return shares_; }

private:
    struct Tag {  // when a flow's next event is due, in the progress of its class
        double due;
        std::uint32_t ticket;  ///< breaks ties: first started, first served
        FlowIndex flow;
        bool operator<(const Tag& other) const {  // heaps keep the largest on top
            return due != other.due ? due > other.due : ticket > other.ticket;
        }
    };
    struct Flow {
        ClassIndex path_class;
        std::uint32_t owner;
        double end;  ///< progress of the class at which all bytes have moved
        bool mark_pending;
    };
    struct Progress {                       // of one class: bytes moved by each of its flows
        std::vector<Tag> due;               ///< heap of its flows' next events
        LinkIndex clock = FairShare::none;  ///< link whose clock it reads; none while unplaced
        double offset = 0;           ///< progress = clock + offset; progress itself while unplaced
        std::uint32_t position = 0;  ///< in that clock's heap
        LinkIndex cap = FairShare::none;  ///< its own cap, when the class is private to a flow
        bool is_private = false;
    };
    struct Clock {
        double value = 0;
        Instant since{};
        std::vector<ClassIndex> waiting;      ///< heap of classes by next event on this clock
        std::uint32_t position = UINT32_MAX;  ///< in the heap of links
        Instant next{};
    };

    double clock_at(LinkIndex link, Instant now) const;
    double progress_at(ClassIndex c, Instant now) const;
    double due_on_clock(ClassIndex c) const;
    void place(ClassIndex c, Instant now);
    void unplace(ClassIndex c, Instant now);
    void restore_waiting(Clock& clock, std::size_t at);
    void reschedule(LinkIndex link, Instant now);
    void settle(Instant now);
    void fire(ClassIndex c, double clock, Instant now, std::vector<FlowEvent>& events);
    void end_flow(ClassIndex c, FlowIndex flow, Instant now);
    ClassIndex private_class(ClassIndex like, double cap);
    void apply_background(ResourceId resource, Instant now);
    void heap_place(std::size_t at, LinkIndex link);
    void heap_restore(std::size_t at);
    void heap_remove(LinkIndex link);
    void grow_to_links();

    FairShare shares_;
    std::vector<std::uint8_t> laned_;   ///< by ResourceId: has a second link for the low lane
    std::vector<LinkIndex> high_link_;  ///< by ResourceId
    std::vector<double> capacity_;      ///< by ResourceId: of both lanes, now
    std::vector<double> background_;    ///< by ResourceId: as wanted
    std::vector<Flow> flows_;
    std::vector<FlowIndex> free_flows_;
    std::vector<Progress> progress_;    ///< by ClassIndex
    std::vector<Clock> clocks_;         ///< by LinkIndex
    std::vector<LinkIndex> heap_;       ///< links with a next event, 4-ary, earliest on top
    std::vector<ClassIndex> unplaced_;  ///< got their first flow since the last settle
    std::vector<LinkIndex> stale_;      ///< next event must be computed anew
    std::vector<ClassIndex> ended_;     ///< private classes to give back after the settle
    std::uint64_t flows_started_ = 0, flows_active_ = 0;
    bool needs_settle_ = false;
};

}  // namespace dualpath::sim
