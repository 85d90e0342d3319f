// What goes into one forward: quota and budget by hand, bisection against trying every length.
#include "control/batch_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/control/small_cluster.h"

namespace dualpath {
namespace {

using namespace literals;
using testing::ElementsAre;

/// Position and tokens of each chunk.
using Planned = std::vector<std::pair<std::size_t, std::int64_t>>;

Planned plan(const ControlSettings& settings, const std::vector<WaitingPrompt>& waiting) {
    static const ComputeModel model{small_compute()};
    std::vector<PlannedChunk> batch;
    BatchPlanner{settings, model}.plan(waiting, batch);
    Planned planned;
    for (const PlannedChunk& chunk : batch) {
        planned.emplace_back(chunk.index, chunk.tokens.value);
        EXPECT_EQ(chunk.attention,
                  model.prefill_attention(waiting[chunk.index].cached, chunk.tokens));
    }
    return planned;
}

ControlSettings quota(std::int64_t ns) {
    ControlSettings settings = small_settings();
    settings.compute_quota = std::chrono::nanoseconds{ns};
    return settings;
}

// A pair of query and key takes 1 ns; n tokens behind c have c * n + n (n + 1) / 2 of them.
//   20 behind 0: 210;  20 behind 50: 1,210;  then 2,000 - 1,420 = 580 are left: 30 behind 10 have
//   765, 25 have 575 and 26 have 611.
TEST(BatchPlanner, QuotaTakesWholePromptsThenCutsTheNext) {
    EXPECT_THAT(
        plan(quota(2000), {{0_tok, 20_tok}, {50_tok, 20_tok}, {10_tok, 30_tok}, {0_tok, 1_tok}}),
        ElementsAre(std::pair{0, 20}, std::pair{1, 20}, std::pair{2, 25}));
}
// After 20 behind 0 (210 of 300 ns) 90 are left: 12 behind 0 (78) are fewer than the smallest
// chunk.
TEST(BatchPlanner, CutBelowTheSmallestChunkIsLeftForTheNextForward) {
    EXPECT_THAT(plan(quota(300), {{0_tok, 20_tok}, {0_tok, 40_tok}}),
                ElementsAre(std::pair{0, 20}));
}
// Behind 1,000 tokens not even one fits into 300 ns, but a batch is never empty.
TEST(BatchPlanner, FirstPromptAlwaysGetsTheSmallestChunk) {
    EXPECT_THAT(plan(quota(300), {{1000_tok, 40_tok}}), ElementsAre(std::pair{0, 16}));
    EXPECT_THAT(plan(quota(300), {{1000_tok, 7_tok}}), ElementsAre(std::pair{0, 7}));
}
TEST(BatchPlanner, BudgetCutsTheLastPrompt) {
    ControlSettings settings = small_settings();
    settings.batching = ControlSettings::Batching::token_budget;
    settings.token_budget = 100_tok;
    EXPECT_THAT(plan(settings, {{9_tok, 60_tok}, {0_tok, 50_tok}, {0_tok, 1_tok}}),
                ElementsAre(std::pair{0, 60}, std::pair{1, 40}));
    EXPECT_THAT(plan(settings, {{9_tok, 100_tok}, {0_tok, 50_tok}}),
                ElementsAre(std::pair{0, 100}));
}

/// The rule as the paper says it, trying every length.
Planned plan_slowly(Duration left, const std::vector<WaitingPrompt>& waiting) {
    const ComputeModel model{small_compute()};
    Planned planned;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        const auto& [cached, remaining] = waiting[i];
        Tokens most{0};
        while (most < remaining && model.prefill_attention(cached, most + 1_tok) <= left)
            most += 1_tok;
        if (most < remaining) {
            const Tokens smallest = std::min(BatchPlanner::smallest_chunk, remaining);
            if (i == 0) most = std::max(most, smallest);
            if (most >= smallest) planned.emplace_back(i, most.value);
            return planned;
        }
        planned.emplace_back(i, most.value);
        left -= model.prefill_attention(cached, most);
    }
    return planned;
}

RC_GTEST_PROP(BatchPlanner, BisectionFindsWhatTryingEveryLengthFinds, ()) {
    std::vector<WaitingPrompt> waiting;
    const int prompts = *rc::gen::inRange(1, 6);
    for (int i = 0; i < prompts; ++i) {
        waiting.push_back({Tokens{*rc::gen::inRange(0, 200)}, Tokens{*rc::gen::inRange(1, 120)}});
    }
    const ControlSettings settings = quota(*rc::gen::inRange(1, 20'000));
    RC_ASSERT(plan(settings, waiting) == plan_slowly(settings.compute_quota, waiting));
}

}  // namespace
}  // namespace dualpath
