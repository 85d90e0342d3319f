// Batch planner: what one prefill engine computes in its next forward (paper 5.5).
#include "control/batch_planner.h"

#include <algorithm>

namespace dualpath {

void BatchPlanner::plan(std::span<const WaitingPrompt> waiting,
                        std::vector<PlannedChunk>& batch) const {
    if (settings_.batching == ControlSettings::Batching::compute_quota) {
        plan_by_quota(waiting, batch);
    } else {
        plan_by_budget(waiting, batch);
    }
}

void BatchPlanner::plan_by_quota(std::span<const WaitingPrompt> waiting,
                                 std::vector<PlannedChunk>& batch) const {
    Duration left = settings_.compute_quota;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        const WaitingPrompt& prompt = waiting[i];
        const Duration whole = model_.prefill_attention(prompt.cached, prompt.remaining);
        if (whole <= left) {
            batch.push_back({i, prompt.remaining, whole});
            left -= whole;
            continue;
        }
        const Tokens smallest = std::min(smallest_chunk, prompt.remaining);
        Tokens part = largest_fitting(prompt, left);
        if (part < smallest && i == 0) part = smallest;
        if (part >= smallest) {
            batch.push_back({i, part, model_.prefill_attention(prompt.cached, part)});
        }
        return;
    }
}

/// The most tokens whose attention takes at most `left`: the time grows with the tokens, so the
/// answer is found by halving the interval.
Tokens BatchPlanner::largest_fitting(const WaitingPrompt& prompt, Duration left) const {
    std::int64_t fits = 0, too_many = prompt.remaining.value;
    while (too_many - fits > 1) {
        const std::int64_t middle = fits + (too_many - fits) / 2;
        if (model_.prefill_attention(prompt.cached, Tokens{middle}) <= left)
            fits = middle;
        else
            too_many = middle;
    }
    return Tokens{fits};
}

void BatchPlanner::plan_by_budget(std::span<const WaitingPrompt> waiting,
                                  std::vector<PlannedChunk>& batch) const {
    Tokens left = settings_.token_budget;
    for (std::size_t i = 0; i < waiting.size() && left > Tokens{0}; ++i) {
        const Tokens part = std::min(waiting[i].remaining, left);
        batch.push_back({i, part, model_.prefill_attention(waiting[i].cached, part)});
        left -= part;
    }
}

}  // namespace dualpath
