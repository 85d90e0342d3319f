// Choice of the prefill engine (paper 5.2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/units.h"

namespace dualpath {

/// What is known of an engine when its group fetches.
struct PrefillCandidate {
    EngineId engine;
    Tokens load;        ///< tok_e: prompt tokens assigned and not yet prefilled
    Tokens read_queue;  ///< read_q of its node: tokens waiting to be read
};

class PrefillPolicy {
public:
    /// Who is asked: the engines of the group that fetches, or all of them at once on arrival.
    enum class Scope { fetching_group, all_engines };

    virtual ~PrefillPolicy() = default;
    virtual Scope scope() const = 0;
    /// Position among the candidates, or nullopt: nobody takes more now. The caller adds the prompt
    /// to the load of the chosen one before it asks again.
    virtual std::optional<std::size_t> choose(std::span<const PrefillCandidate> candidates) = 0;
};

/// The paper's classes. C1, load above beta: never. C2, short read queue: first, since that node's
/// SNIC would soon run dry. C3, long read queue: otherwise. Inside a class the least load; ties go
/// to the first.
class ClassedPrefill final : public PrefillPolicy {
public:
    ClassedPrefill(Tokens read_queue_limit, Tokens load_limit)
        : alpha_{read_queue_limit}, beta_{load_limit} {}

    Scope scope() const override { return Scope::fetching_group; }

    std::optional<std::size_t> choose(std::span<const PrefillCandidate> candidates) override {
        std::optional<std::size_t> best;
        const auto long_queue = [&](std::size_t i) { return candidates[i].read_queue > alpha_; };
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (candidates[i].load > beta_) continue;
            if (!best || long_queue(i) < long_queue(*best) ||
                (long_queue(i) == long_queue(*best) &&
                 candidates[i].load < candidates[*best].load)) {
                best = i;
            }
        }
        return best;
    }

private:
    Tokens alpha_, beta_;
};

/// Engine after engine, whatever their load: the comparison policy of the paper.
class RoundRobinPrefill final : public PrefillPolicy {
public:
    Scope scope() const override { return Scope::all_engines; }
    std::optional<std::size_t> choose(std::span<const PrefillCandidate> candidates) override {
        if (candidates.empty()) return std::nullopt;
        return next_++ % candidates.size();
    }

private:
    std::size_t next_ = 0;
};

/// The engine with the fewest tokens, on arrival and wherever it stands; ties go to the first. No
/// limit holds a request back, and read queues do not count.
class LeastLoadedPrefill final : public PrefillPolicy {
public:
    Scope scope() const override { return Scope::all_engines; }
    std::optional<std::size_t> choose(std::span<const PrefillCandidate> candidates) override {
        if (candidates.empty()) return std::nullopt;
        const auto least = std::min_element(
            candidates.begin(), candidates.end(),
            [](const PrefillCandidate& a, const PrefillCandidate& b) { return a.load < b.load; });
        return static_cast<std::size_t>(least - candidates.begin());
    }
};

}  // namespace dualpath
