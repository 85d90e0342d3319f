// The closed loop of flows with which SimGrid was compared: K slots, each starts its next flow when
// its last one ends. Draws, capacities and sizes are those of the SimGrid program compared with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/network.h"

namespace dualpath::sim {

/// Every node has an SNIC of 50 GB/s, 8 CNICs of 50 GB/s and DRAM of 300 GB/s.
class ComparisonWorkload {
public:
    enum class Mix {
        random_pairs = 1,  ///< WL1: every flow between two random places of two nodes
        serving = 2,       ///< WL2: 30 % storage reads, 20 % host to GPU, 50 % between nodes
    };
    struct Draw {
        PathIndex path;
        Bytes size;
    };

    /// Draws `flows` flows, the same number for each slot, and opens their paths.
    ComparisonWorkload(Mix mix, std::uint32_t nodes, std::uint32_t slots, std::uint32_t flows)
        : mix_{mix}, nodes_{nodes}, network_{resources(nodes), Network::Lanes::one} {
        for (std::uint32_t k = 0; k < slots; ++k) {
            SplitMix random{0x1234567ULL * 1000003ULL + k * 0x9e3779b97f4a7c15ULL};
            random.next();
            flows_.emplace_back();
            for (std::uint32_t i = 0; i < flows / slots; ++i) flows_.back().push_back(draw(random));
        }
        next_.resize(slots, 0);
    }

    Network& network() { return network_; }

    /// Runs to the end of all flows and gives the makespan; `after_instant` sees each instant.
    template <class AfterInstant>
    Instant run(AfterInstant after_instant) {
        Instant now{};
        std::vector<FlowEvent> events;
        for (std::uint32_t k = 0; k < next_.size(); ++k) start_next(now, k);
        for (auto next = network_.next(now); next; next = network_.next(now)) {
            after_instant(now);
            now = *next;
            events.clear();
            network_.advance(now, events);
            for (const FlowEvent& event : events) start_next(now, event.owner);
        }
        return now;
    }

private:
    struct SplitMix {
        std::uint64_t state;
        std::uint64_t next() {
            std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
            return z ^ (z >> 31);
        }
        std::uint32_t below(std::uint32_t n) {
            return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
        }
    };

    static std::vector<Resource> resources(std::uint32_t nodes) {
        std::vector<Resource> all;
        for (std::uint32_t node = 0; node < nodes; ++node) {
            all.push_back({ResourceKind::snic_rx, Role::prefill, {50e9}, "snic"});
            for (int i = 0; i < 8; ++i) {
                all.push_back({ResourceKind::cnic_rx, Role::prefill, {50e9}, "cnic"});
            }
            all.push_back({ResourceKind::dram, Role::prefill, {300e9}, "dram"});
        }
        return all;
    }

    static ResourceId snic(std::uint32_t node) { return {node * 10}; }
    static ResourceId cnic(std::uint32_t node, std::uint32_t gpu) { return {node * 10 + 1 + gpu}; }
    static ResourceId dram(std::uint32_t node) { return {node * 10 + 9}; }

    Draw draw(SplitMix& random) {
        const std::uint32_t type = random.below(10);
        const std::uint32_t a = random.below(nodes_);
        std::uint32_t b = random.below(nodes_ - 1);
        if (b >= a) ++b;
        const std::uint32_t i = random.below(8), j = random.below(8);
        Route route;
        if (mix_ == Mix::serving) {
            if (type < 3)
                route = {dram(a), snic(a)};
            else if (type < 5)
                route = {dram(a), cnic(a, i)};
            else
                route = {cnic(a, i), dram(b), cnic(b, j)};
        } else {
            if (type < 2)
                route = {dram(a), snic(a), dram(b), cnic(b, j)};
            else if (type < 4)
                route = {dram(a), cnic(a, i), dram(b), cnic(b, j)};
            else if (type < 5)
                route = {dram(a), snic(a), dram(b), snic(b)};
            else if (type < 8)
                route = {cnic(a, i), dram(b), cnic(b, j)};
            else
                route = {dram(a), snic(a), cnic(b, j)};
        }
        const Bytes size{10'000'000 + static_cast<std::int64_t>(random.below(190'000'000))};
        const auto [at, is_new] = paths_.try_emplace(route);
        if (is_new) at->second = network_.open_path(route, TrafficClass::kv_cache);
        return {at->second, size};
    }

    void start_next(Instant now, std::uint32_t slot) {
        if (next_[slot] == flows_[slot].size()) return;
        const Draw& flow = flows_[slot][next_[slot]++];
        network_.start(now, flow.path, flow.size, slot);
    }

    Mix mix_;
    std::uint32_t nodes_;
    Network network_;
    std::map<Route, PathIndex> paths_;
    std::vector<std::vector<Draw>> flows_;  ///< by slot
    std::vector<std::size_t> next_;         ///< by slot: its next flow
};

}  // namespace dualpath::sim
