// Exact max-min fair sharing, re-solved only where levels really change.
#include "sim/fair_share.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace dualpath::sim {
namespace {

// A rate that moved less than this is the same rate: with a threshold of 0, two links would pass
// rounding errors to and fro for ever.
constexpr double same_rate = 1e-12;
// An unsaturated link's load is kept up incrementally; this much above capacity counts as rounding.
constexpr double overload = 1e-11;
constexpr double limit_fraction = 0.99;

bool differs(double a, double b) {
    if (a == b) return false;
    if (std::isinf(a) || std::isinf(b)) return true;
    return std::abs(a - b) > same_rate * std::max(a, b);
}

}  // namespace

LinkIndex FairShare::add_link(double capacity) {
    CHECK(capacity > 0, "a link carries something");
    links_.push_back({.capacity = capacity, .whole = capacity});
    level_.push_back(unlimited);
    return static_cast<LinkIndex>(links_.size() - 1);
}

LinkIndex FairShare::add_cap(double rate) {
    CHECK(rate > 0 && rate < unlimited, "a cap is a finite rate");
    if (free_caps_.empty()) {
        links_.push_back({.fixed = true});
        level_.push_back(unlimited);
        free_caps_.push_back(static_cast<LinkIndex>(links_.size() - 1));
    }
    const LinkIndex cap = free_caps_.back();
    free_caps_.pop_back();
    level_[cap] = rate;
    links_[cap].capacity = unlimited;
    return cap;
}

void FairShare::remove_cap(LinkIndex cap) {
    CHECK(links_[cap].fixed && links_[cap].members.empty(), "only an unused cap is removed");
    links_[cap].load = 0;
    free_caps_.push_back(cap);
}

void FairShare::pair_lanes(LinkIndex high, LinkIndex low, double low_share) {
    links_[high].peer = low;
    links_[high].is_high = true;
    links_[low].peer = high;
    links_[high].low_share = links_[low].low_share = low_share;
    links_[low].whole = links_[low].capacity = links_[high].capacity;
}

void FairShare::set_background(LinkIndex link, double rate, Instant now) {
    Link& l = links_[link];
    CHECK(rate >= 0 && rate < l.whole, "a background load leaves room for flows");
    change_load(l, rate - l.background, now);
    l.background = rate;
    if (l.peer != none) touched_lanes_.push_back(link);
    mark(link);
}

void FairShare::set_capacity(LinkIndex link, double capacity, Instant now) {
    CHECK(capacity > 0, "a link that is gone loses its flows instead");
    change_load(links_[link], 0, now);  // time at the limit so far was against the old capacity
    links_[link].capacity = links_[link].whole = capacity;
    if (links_[link].peer != none) {
        links_[links_[link].peer].whole = capacity;
        touched_lanes_.push_back(link);
    }
    mark(link);
}

ClassIndex FairShare::add_class(std::span<const LinkIndex> path) {
    CHECK(!path.empty() && path.size() <= max_path, "a path has 1 to max_path links");
    if (free_classes_.empty()) {
        classes_.emplace_back();
        free_classes_.push_back(static_cast<ClassIndex>(classes_.size() - 1));
    }
    const ClassIndex c = free_classes_.back();
    free_classes_.pop_back();
    classes_[c].flows = 0;
    classes_[c].rate = 0;
    classes_[c].length = static_cast<std::uint8_t>(path.size());
    std::copy(path.begin(), path.end(), classes_[c].path);
    return c;
}

void FairShare::remove_class(ClassIndex c) {
    CHECK(classes_[c].flows == 0, "only a class without flows is removed");
    free_classes_.push_back(c);
}

/// Queues a link for evaluation, lowest level first: what a low level fixes, the higher ones need.
void FairShare::mark(LinkIndex link) {
    Link& l = links_[link];
    if (l.is_dirty || l.fixed) return;
    l.is_dirty = true;
    const double level = level_[link];
    const double key = level < unlimited
                           ? level
                           : l.capacity / static_cast<double>(std::max<std::uint64_t>(l.flows, 1));
    dirty_.push_back({key, link});
    std::push_heap(dirty_.begin(), dirty_.end());
}

void FairShare::activate(ClassIndex c) {
    Class& cls = classes_[c];
    for (std::size_t i = 0; i < cls.length; ++i) {
        auto& members = links_[cls.path[i]].members;
        cls.position[i] = static_cast<std::uint32_t>(members.size());
        members.push_back(c);
    }
    cls.rate = 0;
}

void FairShare::deactivate(ClassIndex c) {
    const Class& cls = classes_[c];
    for (std::size_t i = 0; i < cls.length; ++i) {
        Link& link = links_[cls.path[i]];
        const ClassIndex last = link.members.back();
        link.members[cls.position[i]] = last;
        link.members.pop_back();
        if (last != c) {
            Class& moved = classes_[last];
            for (std::size_t k = 0; k < moved.length; ++k) {
                if (moved.path[k] == cls.path[i]) moved.position[k] = cls.position[i];
            }
        }
        if (link.members.empty()) link.load = link.background;  // drop the rounding it gathered
    }
}

/// What one capacity carries is the load of both its lanes.
bool FairShare::at_limit(const Link& link) const {
    const double load = link.peer == none ? link.load : link.load + links_[link.peer].load;
    return load >= limit_fraction * link.whole;
}

/// Books the time at the old load; that of two lanes together.
void FairShare::change_load(Link& link, double by, Instant now) {
    if (now != link.since) {
        const double seconds = to_seconds(now - link.since);
        const double limited_s = at_limit(link) ? seconds : 0;
        const auto book = [&](Link& lane) {
            lane.carried += lane.load * seconds;
            lane.at_limit_s += limited_s;
            lane.since = now;
        };
        book(link);
        if (link.peer != none) book(links_[link.peer]);
    }
    link.load += by;
}

void FairShare::add_flow(ClassIndex c, Instant now) {
    Class& cls = classes_[c];
    if (cls.flows++ == 0) activate(c);
    double lowest = unlimited;
    LinkIndex tightest = cls.path[0];
    double least_room = unlimited;
    for (std::size_t i = 0; i < cls.length; ++i) {
        Link& link = links_[cls.path[i]];
        if (link.flows++ == 0 && link.peer != none) touched_lanes_.push_back(cls.path[i]);
        change_load(link, cls.rate, now);
        if (level_[cls.path[i]] < unlimited) {
            lowest = std::min(lowest, level_[cls.path[i]]);
            mark(cls.path[i]);
        } else if (link.capacity - link.load < least_room) {
            least_room = link.capacity - link.load;
            tightest = cls.path[i];
        }
    }
    if (lowest < unlimited) set_rate(c, lowest, none, now);
    if (lowest == unlimited || links_[tightest].load > links_[tightest].capacity) mark(tightest);
}

void FairShare::remove_flow(ClassIndex c, Instant now) {
    Class& cls = classes_[c];
    CHECK(cls.flows > 0, "a flow ends once");
    for (std::size_t i = 0; i < cls.length; ++i) {
        Link& link = links_[cls.path[i]];
        change_load(link, -cls.rate, now);
        --link.flows;
        if (link.peer != none) touched_lanes_.push_back(cls.path[i]);  // leaves the low lane more
        if (level_[cls.path[i]] < unlimited) mark(cls.path[i]);
    }
    if (--cls.flows == 0) deactivate(c);
}

double FairShare::lowest_level(const Class& c, LinkIndex without) const {
    double lowest = unlimited;
    for (std::size_t i = 0; i < c.length; ++i) {
        if (c.path[i] != without) lowest = std::min(lowest, level_[c.path[i]]);
    }
    return lowest;
}

LinkIndex FairShare::bottleneck(ClassIndex c, LinkIndex current) const {
    const Class& cls = classes_[c];
    LinkIndex best = cls.path[0];
    for (std::size_t i = 1; i < cls.length; ++i) {
        if (level_[cls.path[i]] < level_[best]) best = cls.path[i];
    }
    return current != none && level_[current] == level_[best] ? current : best;
}

/// The link's level from its equation above. The left side is concave and piecewise linear in the
/// level, so Newton's steps from below rise to the root in as many steps as there are pieces. The
/// present level is mostly close; a first step from above it falls below the root and goes on so.
double FairShare::solve(LinkIndex self) {
    const Link& link = links_[self];
    const std::size_t members = link.members.size();
    limit_.resize(members);
    weight_.resize(members);
    const double capacity = std::max(link.capacity - link.background, 0.0);
    double wanted = 0, flows = 0;
    for (std::size_t i = 0; i < members; ++i) {
        const Class& c = classes_[link.members[i]];
        limit_[i] = lowest_level(c, self);
        weight_[i] = c.flows;
        wanted += weight_[i] * limit_[i];
        flows += weight_[i];
    }
    if (wanted <= capacity * (1 + same_rate)) return unlimited;
    const double least = capacity / flows;  // never above the root
    double level = level_[self] < unlimited ? std::max(level_[self], least) : least;
    for (std::size_t step = 0; step <= members + 1; ++step) {
        double below = 0, sharing = 0;
        for (std::size_t i = 0; i < members; ++i) {
            const bool is_below = limit_[i] < level;
            below += is_below ? weight_[i] * limit_[i] : 0;
            sharing += is_below ? 0 : weight_[i];
        }
        const double next = sharing > 0 ? std::max((capacity - below) / sharing, least) : least;
        if (!differs(next, level) || (step > 0 && next < level)) break;
        level = next;
    }
    return level;
}

void FairShare::set_level(LinkIndex link, double level) {
    Link& l = links_[link];
    if (l.changed_in != settle_number_) {
        l.changed_in = settle_number_;
        changes_.push_back({link, level_[link]});
    }
    level_[link] = level;
}

/// Gives a class its new rate and queues the links that must answer: saturated ones always, others
/// when the load no longer fits.
void FairShare::set_rate(ClassIndex c, double rate, LinkIndex cause, Instant now) {
    Class& cls = classes_[c];
    const double by = (rate - cls.rate) * cls.flows;
    cls.rate = rate;
    for (std::size_t i = 0; i < cls.length; ++i) {
        const LinkIndex at = cls.path[i];
        Link& link = links_[at];
        change_load(link, by, now);
        if (link.is_high) touched_lanes_.push_back(at);
        if (at == cause || link.fixed) continue;
        if (level_[at] < unlimited || link.load > link.capacity * (1 + overload)) mark(at);
    }
}

void FairShare::evaluate(LinkIndex link, Instant now) {
    ++evaluations_;
    const double level = links_[link].members.empty() ? unlimited : solve(link);
    if (differs(level, level_[link])) set_level(link, level);
    const double current = level_[link];
    double load = links_[link].background;
    for (std::size_t i = 0; i < links_[link].members.size(); ++i) {
        const ClassIndex c = links_[link].members[i];
        const double rate = std::min(current, limit_[i]);
        if (differs(rate, classes_[c].rate)) set_rate(c, rate, link, now);
        load += classes_[c].rate * classes_[c].flows;
    }
    change_load(links_[link], load - links_[link].load, now);  // drops the rounding it gathered
    if (links_[link].is_high) touched_lanes_.push_back(link);
}

void FairShare::update_lanes(LinkIndex link) {
    const LinkIndex high = links_[link].is_high ? link : links_[link].peer;
    const LinkIndex low = links_[high].peer;
    const double whole = links_[high].whole;
    const double floor = links_[high].low_share * whole;
    const double for_high = links_[low].flows > 0 ? whole - floor : whole;
    const double for_low = std::max(whole - links_[high].load, floor);
    for (const auto& [lane, capacity] : {std::pair{high, for_high}, std::pair{low, for_low}}) {
        if (!differs(links_[lane].capacity, capacity)) continue;
        links_[lane].capacity = capacity;
        mark(lane);
    }
}

std::span<const FairShare::LevelChange> FairShare::settle(Instant now) {
    ++settle_number_;
    changes_.clear();
    const std::uint64_t start = evaluations_;
    for (;;) {
        for (const LinkIndex link : touched_lanes_) update_lanes(link);
        touched_lanes_.clear();
        if (dirty_.empty()) break;
        while (!dirty_.empty()) {
            std::pop_heap(dirty_.begin(), dirty_.end());
            const LinkIndex link = dirty_.back().link;
            dirty_.pop_back();
            links_[link].is_dirty = false;
            evaluate(link, now);
            CHECK(evaluations_ - start < 1000 + 100 * links_.size(), "levels settle");
        }
    }
    return changes_;
}

FairShare::Usage FairShare::usage(LinkIndex link, Instant now) const {
    const Link& l = links_[link];
    const double seconds = to_seconds(now - l.since);
    return {l.carried + l.load * seconds, l.at_limit_s + (at_limit(l) ? seconds : 0)};
}

}  // namespace dualpath::sim
