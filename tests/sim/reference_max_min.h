// The law of sim/fair_share.h solved slowly and plainly, and the conditions that prove a solution.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/fair_share.h"

namespace dualpath::sim::reference {

enum class Lane { high, low };

struct Link {
    double capacity;
    bool has_lanes = false;
    double background = 0;
};

struct Flow {
    std::vector<std::size_t> path;  ///< links, each once
    double cap = unlimited;
    Lane lane = Lane::high;  ///< which lane it takes on links that have two
};

/// Progressive filling: raise all rates together; where a link fills up or a flow meets its cap,
/// freeze those flows and go on with the others (Bertsekas & Gallager, Data Networks, 2nd ed.,
/// 6.5.2). Every rising flow has the same rate, so the next link to fill is the one with the least
/// room per rising flow.
inline std::vector<double> progressive_filling(const std::vector<double>& capacity,
                                               const std::vector<Flow>& flows) {
    std::vector<double> rate(flows.size(), 0.0);
    std::vector<bool> frozen(flows.size(), false);
    for (;;) {
        std::vector<double> room = capacity;
        std::vector<double> rising(capacity.size(), 0.0);
        for (std::size_t f = 0; f < flows.size(); ++f) {
            for (const std::size_t link : flows[f].path) {
                if (frozen[f])
                    room[link] -= rate[f];
                else
                    rising[link] += 1;
            }
        }
        std::vector<double> full_at(capacity.size(), unlimited);
        double level = unlimited;
        for (std::size_t link = 0; link < capacity.size(); ++link) {
            if (rising[link] > 0) full_at[link] = std::max(room[link], 0.0) / rising[link];
            level = std::min(level, full_at[link]);
        }
        for (std::size_t f = 0; f < flows.size(); ++f) {
            if (!frozen[f]) level = std::min(level, flows[f].cap);
        }
        if (level == unlimited) return rate;
        for (std::size_t f = 0; f < flows.size(); ++f) {
            const auto is_full = [&](std::size_t link) { return full_at[link] <= level; };
            const bool stops = flows[f].cap <= level ||
                               std::any_of(flows[f].path.begin(), flows[f].path.end(), is_full);
            if (frozen[f] || !stops) continue;
            frozen[f] = true;
            rate[f] = level;
        }
    }
}

/// Two lanes on each link that has them: the high lane is solved on C, or on (1 - low_share) * C
/// where the low lane has flows; the low lane on C less the load of the high one, but at least on
/// low_share * C. A link without lanes must carry flows of one lane only: then nothing the low lane
/// does reaches the high one, and the two are solved one after the other.
inline std::vector<double> two_lanes(const std::vector<Link>& links, const std::vector<Flow>& flows,
                                     double low_share) {
    std::vector<bool> low_present(links.size(), false);
    for (const Flow& flow : flows) {
        for (const std::size_t link : flow.path) {
            if (flow.lane == Lane::low) low_present[link] = true;
        }
    }
    std::vector<double> rate(flows.size(), 0.0);
    std::vector<double> high_load(links.size(), 0.0);
    for (std::size_t l = 0; l < links.size(); ++l) high_load[l] = links[l].background;
    for (const Lane lane : {Lane::high, Lane::low}) {
        std::vector<double> capacity;
        for (std::size_t l = 0; l < links.size(); ++l) {
            const double whole = links[l].capacity, floor = low_share * whole;
            const double for_high = links[l].has_lanes && low_present[l] ? whole - floor : whole;
            const double for_low = std::max(whole - high_load[l], floor);
            capacity.push_back(
                lane == Lane::low && links[l].has_lanes ? for_low : for_high - links[l].background);
        }
        std::vector<Flow> of_lane;
        std::vector<std::size_t> number;
        for (std::size_t f = 0; f < flows.size(); ++f) {
            if (flows[f].lane != lane) continue;
            of_lane.push_back(flows[f]);
            number.push_back(f);
        }
        const auto solved = progressive_filling(capacity, of_lane);
        for (std::size_t i = 0; i < solved.size(); ++i) {
            rate[number[i]] = solved[i];
            for (const std::size_t link : of_lane[i].path) {
                if (lane == Lane::high) high_load[link] += solved[i];
            }
        }
    }
    return rate;
}

/// Empty when the rates are feasible and max-min fair, else what is wrong. An allocation is max-min
/// fair exactly when every flow has a bottleneck: a saturated link on its path where no flow is
/// faster (Bertsekas & Gallager, 6.5.2), or its own cap.
inline std::string optimality_violation(const FairShare& shares, double tolerance = 1e-9) {
    std::vector<double> fastest(shares.link_count(), 0.0);
    for (LinkIndex link = 0; link < shares.link_count(); ++link) {
        if (shares.load(link) > shares.capacity(link) * (1 + tolerance)) {
            return fmt::format("link {} carries {} of {}", link, shares.load(link),
                               shares.capacity(link));
        }
        double moving = 0;
        for (const ClassIndex c : shares.members(link)) {
            fastest[link] = std::max(fastest[link], shares.rate(c));
            moving += shares.rate(c) * shares.flows(c);
        }
        if (moving > shares.load(link) + tolerance * std::min(shares.capacity(link), 1e30)) {
            return fmt::format("link {} says {} but carries {}", link, shares.load(link), moving);
        }
    }
    for (LinkIndex link = 0; link < shares.link_count(); ++link) {
        for (const ClassIndex c : shares.members(link)) {
            const auto path = shares.path(c);
            const bool held_back = std::any_of(path.begin(), path.end(), [&](LinkIndex at) {
                const double capacity = shares.capacity(at);
                if (capacity == unlimited) {  // its own cap
                    return shares.rate(c) >= shares.level(at) * (1 - tolerance);
                }
                return shares.load(at) >= capacity * (1 - tolerance) &&
                       shares.rate(c) >= fastest[at] * (1 - tolerance);
            });
            if (!held_back) {
                return fmt::format("class {} has rate {} and no bottleneck", c, shares.rate(c));
            }
        }
    }
    return {};
}

}  // namespace dualpath::sim::reference
