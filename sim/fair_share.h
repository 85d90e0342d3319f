// Exact max-min fair sharing, re-solved only where levels really change.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/units.h"

namespace dualpath::sim {

using LinkIndex = std::uint32_t;
using ClassIndex = std::uint32_t;
inline constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Links share their capacity among path classes. All flows with one path are one class and have
/// one rate for ever. Every link has a *level*: the rate of the flows it holds back, or `unlimited`
/// when it is not saturated. A class's rate is the lowest level on its path. The levels solve, for
/// each saturated link l,
///
///     sum over its classes c of n_c * min(level_l, u_c) = capacity_l,
///     u_c = lowest level on the rest of c's path,
///
/// and any solution fulfils the bottleneck condition, hence is the max-min allocation (Bertsekas &
/// Gallager, Data Networks, 2nd ed., 6.5.2). settle() walks from the links that were touched and
/// follows a change only where a rate really changed: an unsaturated link stops it.
class FairShare {
public:
    LinkIndex add_link(double capacity);
    /// A link with a fixed level: caps the rate of each flow of the one class that crosses it.
    LinkIndex add_cap(double rate);
    void remove_cap(LinkIndex cap);

    /// Two lanes of one capacity C: the high one is solved on C, or on (1 - low_share) * C while
    /// the low one has flows; the low one on what the high one leaves, at least low_share * C.
    /// Flows of both lanes may not also meet at a bottleneck without lanes: the low lane would then
    /// reach back to the high one, many solutions would fit, and settle() might not end.
    void pair_lanes(LinkIndex high, LinkIndex low, double low_share);
    /// A constant load on a link, beside its flows.
    void set_background(LinkIndex link, double rate, Instant now);
    /// Capacity may change during a run (faults). For lanes: give the high one's.
    void set_capacity(LinkIndex link, double capacity, Instant now);

    /// `path` without repetition, at most `max_path` links. The class starts without flows.
    ClassIndex add_class(std::span<const LinkIndex> path);
    void remove_class(ClassIndex c);
    void add_flow(ClassIndex c, Instant now);
    void remove_flow(ClassIndex c, Instant now);

    struct LevelChange {
        LinkIndex link;
        double before;
    };
    /// Solves at `now`; valid until the next call. All calls since the last settle must have had
    /// the same `now`: rates hold from then on.
    std::span<const LevelChange> settle(Instant now);
    bool settled() const { return dirty_.empty() && touched_lanes_.empty(); }

    double level(LinkIndex link) const { return level_[link]; }
    double load(LinkIndex link) const { return links_[link].load; }
    double capacity(LinkIndex link) const { return links_[link].capacity; }
    double rate(ClassIndex c) const { return classes_[c].rate; }
    std::uint32_t flows(ClassIndex c) const { return classes_[c].flows; }
    std::span<const LinkIndex> path(ClassIndex c) const {
        return {classes_[c].path, classes_[c].length};
    }
    std::size_t link_count() const { return links_.size(); }
    /// Classes with flows that cross the link.
    std::span<const ClassIndex> members(LinkIndex link) const { return links_[link].members; }
    /// The first link of the path with the lowest level, or `current` while it still has that.
    LinkIndex bottleneck(ClassIndex c, LinkIndex current) const;

    struct Usage {
        double bytes;       ///< carried since the start
        double at_limit_s;  ///< time with a load, of both lanes, of at least 99 % of capacity
    };
    Usage usage(LinkIndex link, Instant now) const;
    std::uint64_t evaluations() const { return evaluations_; }

    static constexpr std::size_t max_path = 15;
    static constexpr LinkIndex none = UINT32_MAX;

private:
    struct Link {
        double capacity = 0;
        double load = 0;  ///< background included
        double background = 0;
        std::uint64_t flows = 0;
        std::vector<ClassIndex> members;
        LinkIndex peer = none;  ///< the other lane
        double whole = 0;       ///< capacity of both lanes together
        double low_share = 0;
        bool is_high = false;
        bool fixed = false;  ///< a cap
        bool is_dirty = false;
        std::uint64_t changed_in = 0;  ///< settle in which the level changed
        Instant since{};               ///< load has been constant since
        double carried = 0, at_limit_s = 0;
    };
    struct alignas(64) Class {  // what solve() reads of a short path lies in one cache line
        std::uint32_t flows = 0;
        std::uint8_t length = 0;
        double rate = 0;
        LinkIndex path[max_path];
        std::uint32_t position[max_path];  ///< in the members of each link
    };
    struct Dirty {
        double key;
        LinkIndex link;
        bool operator<(const Dirty& other) const {  // heaps keep the largest on top
            return key != other.key ? key > other.key : link > other.link;
        }
    };

    void mark(LinkIndex link);
    void activate(ClassIndex c);
    void deactivate(ClassIndex c);
    void change_load(Link& link, double by, Instant now);
    bool at_limit(const Link& link) const;
    void set_rate(ClassIndex c, double rate, LinkIndex cause, Instant now);
    void evaluate(LinkIndex link, Instant now);
    double solve(LinkIndex self);
    void set_level(LinkIndex link, double level);
    double lowest_level(const Class& c, LinkIndex without) const;
    void update_lanes(LinkIndex link);

    std::vector<Link> links_;
    std::vector<double> level_;  ///< by link, side by side: solve() reads many of them
    std::vector<Class> classes_;
    std::vector<LinkIndex> free_caps_;
    std::vector<ClassIndex> free_classes_;
    std::vector<Dirty> dirty_;
    std::vector<LevelChange> changes_;
    std::vector<LinkIndex> touched_lanes_;
    std::vector<double> limit_, weight_;  ///< scratch: u_c and n_c of the link being evaluated
    std::uint64_t settle_number_ = 1, evaluations_ = 0;
};

}  // namespace dualpath::sim
