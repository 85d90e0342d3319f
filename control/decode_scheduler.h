// Choice of the decode engine (paper 5.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace dualpath {

/// What is known of an engine when its group fetches. The policy keeps it current as it assigns.
struct DecodeCandidate {
    EngineId engine;
    Tokens load;             ///< tok_e: tokens of its unfinished requests
    std::uint32_t requests;  ///< seq_e: how many they are
    Bytes free_hbm;
};

/// A waiting request: its length and the HBM it needs.
struct DecodeDemand {
    Tokens length;
    Bytes hbm;
};

class DecodePolicy {
public:
    enum class Scope { fetching_group, all_engines };

    virtual ~DecodePolicy() = default;
    virtual Scope scope() const = 0;
    /// Assigns the head of `waiting`, in order, until one fits nowhere: appends to `chosen` the
    /// position of each one's engine.
    virtual void assign(std::span<DecodeCandidate> candidates,
                        std::span<const DecodeDemand> waiting,
                        std::vector<std::size_t>& chosen) = 0;
};

/// The paper's rule inside a group. R is what would fit without fragmentation; Z is 1.05 times the
/// load each engine would have if R were spread evenly. Engines that stay below Z take the request
/// in order of fewest requests; if none does, the least loaded one.
class BalancedDecode final : public DecodePolicy {
public:
    explicit BalancedDecode(double slack) : slack_{slack} {}
    Scope scope() const override { return Scope::fetching_group; }

    void assign(std::span<DecodeCandidate> candidates, std::span<const DecodeDemand> waiting,
                std::vector<std::size_t>& chosen) override {
        const Tokens limit = balanced_load(candidates, waiting);
        for (const DecodeDemand& demand : waiting) {
            DecodeCandidate* best = nullptr;
            for (DecodeCandidate& e : candidates) {
                if (e.free_hbm >= demand.hbm && (!best || better(e, *best, demand, limit)))
                    best = &e;
            }
            if (!best) return;
            best->free_hbm -= demand.hbm;
            best->load += demand.length;
            ++best->requests;
            chosen.push_back(static_cast<std::size_t>(best - candidates.data()));
        }
    }

private:
    Tokens balanced_load(std::span<const DecodeCandidate> candidates,
                         std::span<const DecodeDemand> waiting) const {
        Bytes room{};
        Tokens total{};
        for (const DecodeCandidate& e : candidates) {
            room += e.free_hbm;
            total += e.load;
        }
        for (const DecodeDemand& demand : waiting) {
            if (demand.hbm > room) break;
            room -= demand.hbm;
            total += demand.length;
        }
        return Tokens{static_cast<std::int64_t>(slack_ * static_cast<double>(total.value) /
                                                static_cast<double>(candidates.size()))};
    }

    static bool better(const DecodeCandidate& a, const DecodeCandidate& b,
                       const DecodeDemand& demand, Tokens limit) {
        const bool a_below = a.load + demand.length <= limit;
        const bool b_below = b.load + demand.length <= limit;
        if (a_below != b_below) return a_below;
        return a_below ? a.requests < b.requests : a.load < b.load;
    }

    double slack_;
};

/// Engine after engine, passing over those without the HBM.
class RoundRobinDecode final : public DecodePolicy {
public:
    Scope scope() const override { return Scope::all_engines; }
    void assign(std::span<DecodeCandidate> candidates, std::span<const DecodeDemand> waiting,
                std::vector<std::size_t>& chosen) override {
        for (const DecodeDemand& demand : waiting) {
            std::size_t tried = 0;
            while (tried < candidates.size() &&
                   candidates[(next_ + tried) % candidates.size()].free_hbm < demand.hbm) {
                ++tried;
            }
            if (tried == candidates.size()) return;
            const std::size_t at = (next_ + tried) % candidates.size();
            candidates[at].free_hbm -= demand.hbm;
            chosen.push_back(at);
            next_ = (at + 1) % candidates.size();
        }
    }

private:
    std::size_t next_ = 0;
};

/// Of the engines with the HBM the one with the fewest tokens; ties go to the first.
class LeastLoadedDecode final : public DecodePolicy {
public:
    Scope scope() const override { return Scope::all_engines; }
    void assign(std::span<DecodeCandidate> candidates, std::span<const DecodeDemand> waiting,
                std::vector<std::size_t>& chosen) override {
        for (const DecodeDemand& demand : waiting) {
            DecodeCandidate* best = nullptr;
            for (DecodeCandidate& e : candidates) {
                if (e.free_hbm >= demand.hbm && (!best || e.load < best->load)) best = &e;
            }
            if (!best) return;
            best->free_hbm -= demand.hbm;
            best->load += demand.length;
            chosen.push_back(static_cast<std::size_t>(best - candidates.data()));
        }
    }
};

}  // namespace dualpath
