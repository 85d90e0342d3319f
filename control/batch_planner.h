// Batch planner: what one prefill engine computes in its next forward (paper 5.5).
#pragma once

#include <span>
#include <vector>

#include "base/units.h"
#include "control/settings.h"
#include "models/compute.h"

namespace dualpath {

/// A prompt whose KV can be loaded: tokens before it, and tokens still to compute.
struct WaitingPrompt {
    Tokens cached, remaining;
};

/// How much of a prompt goes into the batch, and its predicted attention time over all layers.
struct PlannedChunk {
    std::size_t index;  ///< in the waiting prompts
    Tokens tokens;
    Duration attention;
};

class BatchPlanner {
public:
    BatchPlanner(const ControlSettings& settings, const ComputeModel& model)
        : settings_{settings}, model_{model} {}

    /// Appends chunks of `waiting`, first come first served. With the compute quota: whole prompts
    /// while their predicted attention time fits; the first that does not is cut, by bisection, to
    /// what still fits. Without: up to the token budget. A batch is never empty: where not even
    /// `smallest_chunk` fits, that much is taken.
    void plan(std::span<const WaitingPrompt> waiting, std::vector<PlannedChunk>& batch) const;

    static constexpr Tokens smallest_chunk{16};

private:
    void plan_by_quota(std::span<const WaitingPrompt> waiting,
                       std::vector<PlannedChunk>& batch) const;
    void plan_by_budget(std::span<const WaitingPrompt> waiting,
                        std::vector<PlannedChunk>& batch) const;
    Tokens largest_fitting(const WaitingPrompt& prompt, Duration left) const;

    const ControlSettings& settings_;
    const ComputeModel& model_;
};

}  // namespace dualpath
