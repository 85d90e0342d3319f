// Laws of the rates on random networks: feasible, max-min fair, equal to the reference solver.
#include "sim/fair_share.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/sim/reference_max_min.h"

namespace dualpath::sim {
namespace {

using reference::Lane;

constexpr double low_share = 0.01;

/// Capacities that meet: equal ones, multiples, and ones that differ by rounding only.
rc::Gen<double> some_capacity() {
    return rc::gen::element(50e9, 50e9, 25e9, 300e9, 12.5e9, 50e9 * (1 + 1e-15), 50e9 * (1 + 1e-12),
                            50e9 * (1 + 1e-10), 50e9 / 3, 1e3, 7e11);
}

struct Change {
    enum Kind { add, remove, capacity, background } kind;
    std::size_t target;  ///< a path or a link, modulo how many there are
    double value;
};

struct RandomNetwork {
    std::vector<reference::Link> links;
    std::vector<reference::Flow> paths;
    std::vector<std::vector<Change>> instants;
};

rc::Gen<Change> some_change() {
    return rc::gen::apply(
        [](int kind, std::size_t target, double value) {
            const auto chosen = kind < 5    ? Change::add
                                : kind < 9  ? Change::remove
                                : kind == 9 ? Change::capacity
                                            : Change::background;
            return Change{chosen, target, value};
        },
        rc::gen::inRange(0, 11), rc::gen::inRange<std::size_t>(0, 1000), some_capacity());
}

/// Ordinary links belong to one lane each, so that nothing the low lane does reaches the high one.
RandomNetwork some_network() {
    RandomNetwork network;
    const auto links = *rc::gen::inRange<std::size_t>(1, 9);
    for (std::size_t l = 0; l < links; ++l) {
        network.links.push_back({*some_capacity(), *rc::gen::inRange(0, 3) == 0});
    }
    const auto paths = *rc::gen::inRange<std::size_t>(1, 16);
    for (std::size_t p = 0; p < paths; ++p) {
        reference::Flow path;
        path.lane = *rc::gen::element(Lane::high, Lane::low);
        const auto crosses =
            *rc::gen::container<std::vector<bool>>(links, rc::gen::arbitrary<bool>());
        for (std::size_t link = 0; link < links; ++link) {
            if (!crosses[link]) continue;
            const Lane owner = link % 2 == 0 ? Lane::high : Lane::low;
            if (network.links[link].has_lanes || owner == path.lane) path.path.push_back(link);
        }
        if (path.path.empty()) continue;
        if (*rc::gen::inRange(0, 4) == 0) {
            path.cap = *some_capacity() * *rc::gen::element(1.0, 0.1, 0.5, 1.0 / 3);
        }
        network.paths.push_back(path);
    }
    network.instants = *rc::gen::container<std::vector<std::vector<Change>>>(
        rc::gen::container<std::vector<Change>>(some_change()));
    return network;
}

/// A FairShare fed with a random network, and the list of flows it should have.
struct Fed {
    RandomNetwork network;
    FairShare shares;
    std::vector<LinkIndex> high, low;
    std::vector<ClassIndex> classes;
    std::vector<std::uint32_t> flows;
    Instant now{};

    explicit Fed(RandomNetwork random) : network{std::move(random)} {
        for (const auto& link : network.links) {
            high.push_back(shares.add_link(link.capacity));
            low.push_back(link.has_lanes ? shares.add_link(link.capacity) : high.back());
            if (link.has_lanes) shares.pair_lanes(high.back(), low.back(), low_share);
        }
        for (const auto& path : network.paths) {
            std::vector<LinkIndex> own;
            for (const std::size_t link : path.path) {
                own.push_back(path.lane == Lane::low ? low[link] : high[link]);
            }
            if (path.cap < unlimited) own.push_back(shares.add_cap(path.cap));
            classes.push_back(shares.add_class(own));
            flows.push_back(0);
        }
    }

    void make(const Change& change) {
        const std::size_t path = network.paths.empty() ? 0 : change.target % network.paths.size();
        const std::size_t link = change.target % network.links.size();
        if (change.kind == Change::add && !classes.empty()) {
            ++flows[path];
            shares.add_flow(classes[path], now);
        } else if (change.kind == Change::remove && !classes.empty() && flows[path] > 0) {
            --flows[path];
            shares.remove_flow(classes[path], now);
        } else if (change.kind == Change::capacity) {
            network.links[link].capacity = change.value;
            network.links[link].background =
                std::min(network.links[link].background, change.value / 2);
            shares.set_background(high[link], network.links[link].background, now);
            shares.set_capacity(high[link], change.value, now);
        } else if (change.kind == Change::background) {
            network.links[link].background =
                network.links[link].capacity * (change.value < 30e9 ? 0 : 0.3);
            shares.set_background(high[link], network.links[link].background, now);
        }
    }

    std::vector<double> expected() const {
        std::vector<reference::Flow> each;
        for (std::size_t p = 0; p < flows.size(); ++p) {
            each.insert(each.end(), flows[p], network.paths[p]);
        }
        return reference::two_lanes(network.links, each, low_share);
    }

    /// The lanes have the capacities that the loads and flows of each other leave them.
    void lanes_agree() const {
        for (std::size_t l = 0; l < network.links.size(); ++l) {
            if (!network.links[l].has_lanes) continue;
            const double whole = network.links[l].capacity;
            const bool has_low = !shares.members(low[l]).empty();
            const double for_high = has_low ? whole - low_share * whole : whole;
            const double for_low = std::max(whole - shares.load(high[l]), low_share * whole);
            RC_ASSERT(std::abs(shares.capacity(high[l]) - for_high) <= 1e-9 * whole);
            RC_ASSERT(std::abs(shares.capacity(low[l]) - for_low) <= 1e-9 * whole);
        }
    }
};

RC_GTEST_PROP(FairShareLaws, RatesAreFeasibleAndMaxMinFair, ()) {
    Fed fed{some_network()};
    for (const auto& instant : fed.network.instants) {
        for (const Change& change : instant) fed.make(change);
        fed.shares.settle(fed.now);
        RC_ASSERT(reference::optimality_violation(fed.shares) == "");
        fed.lanes_agree();
        fed.now += Duration{1'000'000};
    }
}

RC_GTEST_PROP(FairShareLaws, RatesEqualTheReferenceSolver, ()) {
    Fed fed{some_network()};
    for (const auto& instant : fed.network.instants) {
        for (const Change& change : instant) fed.make(change);
        fed.shares.settle(fed.now);
        const auto expected = fed.expected();
        std::size_t flow = 0;
        for (std::size_t p = 0; p < fed.flows.size(); ++p) {
            for (std::uint32_t i = 0; i < fed.flows[p]; ++i, ++flow) {
                const double rate = fed.shares.rate(fed.classes[p]);
                RC_ASSERT(std::abs(rate - expected[flow]) <= 1e-9 * expected[flow]);
            }
        }
        fed.now += Duration{1'000'000};
    }
}

// Work-conserving: with a flow on it, either a link is full or each of its flows is held back
// elsewhere, at a link that is full, or by its cap.
RC_GTEST_PROP(FairShareLaws, NoCapacityIsLeftThatAFlowCouldUse, ()) {
    Fed fed{some_network()};
    for (const auto& instant : fed.network.instants) {
        for (const Change& change : instant) fed.make(change);
        fed.shares.settle(fed.now);
        for (const ClassIndex c : fed.classes) {
            if (fed.shares.flows(c) == 0) continue;
            const auto path = fed.shares.path(c);
            RC_ASSERT(std::any_of(path.begin(), path.end(), [&](LinkIndex link) {
                const double capacity = fed.shares.capacity(link);
                return capacity == unlimited
                           ? fed.shares.rate(c) >= fed.shares.level(link) * (1 - 1e-9)
                           : fed.shares.load(link) >= capacity * (1 - 1e-9);
            }));
        }
        fed.now += Duration{1'000'000};
    }
}

// The rates are a function of the flows, not of how they came about: settling after each change
// and once at the end give the same.
RC_GTEST_PROP(FairShareLaws, RatesDoNotDependOnHistory, ()) {
    const RandomNetwork random = some_network();
    Fed stepwise{random}, at_once{random};
    for (const auto& instant : random.instants) {
        for (const Change& change : instant) {
            stepwise.make(change);
            stepwise.shares.settle(stepwise.now);
            at_once.make(change);
        }
    }
    stepwise.shares.settle(stepwise.now);
    at_once.shares.settle(at_once.now);
    for (const ClassIndex c : stepwise.classes) {
        if (stepwise.shares.flows(c) == 0) continue;
        const double rate = stepwise.shares.rate(c);
        RC_ASSERT(std::abs(rate - at_once.shares.rate(c)) <= 1e-9 * rate);
    }
}

}  // namespace
}  // namespace dualpath::sim
