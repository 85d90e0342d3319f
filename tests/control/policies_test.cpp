// The scheduler's choices, worked out by hand.
#include "control/policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dualpath {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Tokens alpha{1000}, beta{500};

std::optional<std::size_t> classed(std::vector<PrefillCandidate> candidates) {
    return ClassedPrefill{alpha, beta}.choose(candidates);
}

// C2 holds engines with at most alpha to read and at most beta of load: both limits belong to it.
TEST(PrefillPolicy, ShortReadQueueComesFirstWhateverTheLoad) {
    EXPECT_EQ(classed({{EngineId{0}, 0_tok, 1001_tok}, {EngineId{1}, 500_tok, 1000_tok}}), 1u);
}
TEST(PrefillPolicy, LongReadQueueIsTakenWhenNothingElseIs) {
    EXPECT_EQ(classed({{EngineId{0}, 501_tok, 0_tok},
                       {EngineId{1}, 300_tok, 1001_tok},
                       {EngineId{2}, 200_tok, 9999_tok}}),
              2u);
}
TEST(PrefillPolicy, LoadAboveBetaIsNeverAssigned) {
    EXPECT_EQ(classed({{EngineId{0}, 501_tok, 0_tok}, {EngineId{1}, 502_tok, 0_tok}}),
              std::nullopt);
    EXPECT_EQ(classed({}), std::nullopt);
}
TEST(PrefillPolicy, LeastLoadWinsAndTiesGoToTheFirst) {
    EXPECT_EQ(classed({{EngineId{0}, 9_tok, 0_tok},
                       {EngineId{1}, 8_tok, 1000_tok},
                       {EngineId{2}, 8_tok, 0_tok}}),
              1u);
}
TEST(PrefillPolicy, RoundRobinGoesEngineAfterEngine) {
    RoundRobinPrefill policy;
    const std::vector<PrefillCandidate> two{{EngineId{0}, 9_tok, 0_tok},
                                            {EngineId{1}, 0_tok, 0_tok}};
    EXPECT_EQ(policy.choose(two), 0u);
    EXPECT_EQ(policy.choose(two), 1u);
    EXPECT_EQ(policy.choose(two), 0u);
    EXPECT_EQ(policy.choose({}), std::nullopt);
}

// Each prompt adds to the load of the engine it got, which the caller does: here by hand.
TEST(PrefillPolicy, LeastLoadedTakesFewestTokensWhateverTheReadQueue) {
    LeastLoadedPrefill policy;
    EXPECT_EQ(policy.scope(), PrefillPolicy::Scope::all_engines);
    EXPECT_EQ(policy.choose(std::vector<PrefillCandidate>{{EngineId{0}, 9_tok, 0_tok},
                                                          {EngineId{1}, 7_tok, 9999_tok},
                                                          {EngineId{2}, 7_tok, 0_tok}}),
              1u);
    EXPECT_EQ(policy.choose(std::vector<PrefillCandidate>{{EngineId{0}, 9'000'000_tok, 0_tok}}),
              0u);
    EXPECT_EQ(policy.choose({}), std::nullopt);
}

std::vector<std::size_t> balanced(std::vector<DecodeCandidate> candidates,
                                  const std::vector<DecodeDemand>& waiting) {
    std::vector<std::size_t> chosen;
    BalancedDecode{1.05}.assign(candidates, waiting, chosen);
    return chosen;
}

// R = all three: Z = 1.05 * (100 + 100 + 100 + 600 + 300) / 2 = 630.
// Engine 0 would have 700, above Z; engine 1 gets 400, 500 and 600, though it has more requests.
TEST(DecodePolicy, EnginesBelowTheBalancedLoadComeFirst) {
    EXPECT_THAT(balanced({{EngineId{0}, 600_tok, 1, 10'000_B}, {EngineId{1}, 300_tok, 5, 10'000_B}},
                         {{100_tok, 100_B}, {100_tok, 100_B}, {100_tok, 100_B}}),
                ElementsAre(1, 1, 1));
}
// Z = 1.05 * (100 + 100 + 400 + 500) / 2 = 577.5. First: engine 0 would have 500, engine 1 600: 0.
// Second: both have 500 now and would have 600, above Z: the least loaded, at a tie the first.
TEST(DecodePolicy, AboveTheBalancedLoadTheLeastLoadedIsTaken) {
    EXPECT_THAT(balanced({{EngineId{0}, 400_tok, 9, 10'000_B}, {EngineId{1}, 500_tok, 0, 10'000_B}},
                         {{100_tok, 100_B}, {100_tok, 100_B}}),
                ElementsAre(0, 0));
}
// Z = 1.05 * (10 + 200 + 210) / 2 = 220.5: both stay below it, 210 and 220.
TEST(DecodePolicy, BelowTheBalancedLoadFewestRequestsDecide) {
    EXPECT_THAT(balanced({{EngineId{0}, 200_tok, 3, 10'000_B}, {EngineId{1}, 210_tok, 2, 10'000_B}},
                         {{10_tok, 100_B}}),
                ElementsAre(1));
}
// R stops at the second demand: 900 B do not fit into the 150 B that are left of 250. So Z counts
// one request: 1.05 * (100 + 0 + 0) / 2 = 52.5; above it, the least loaded.
TEST(DecodePolicy, OnlyWhatFitsCountsForTheBalance) {
    EXPECT_THAT(balanced({{EngineId{0}, 0_tok, 0, 50_B}, {EngineId{1}, 0_tok, 0, 200_B}},
                         {{100_tok, 100_B}, {100_tok, 900_B}, {1_tok, 1_B}}),
                ElementsAre(1));
}
// 80 B fit into the sum of 50 + 50 but on neither engine: the head blocks the rest.
TEST(DecodePolicy, FragmentedHbmStopsAtTheHead) {
    EXPECT_THAT(balanced({{EngineId{0}, 0_tok, 0, 50_B}, {EngineId{1}, 0_tok, 0, 50_B}},
                         {{1_tok, 80_B}, {1_tok, 10_B}}),
                IsEmpty());
}
TEST(DecodePolicy, RoundRobinPassesOverFullEngines) {
    std::vector<DecodeCandidate> candidates{
        {EngineId{0}, 0_tok, 0, 20_B}, {EngineId{1}, 0_tok, 0, 5_B}, {EngineId{2}, 0_tok, 0, 20_B}};
    const std::vector<DecodeDemand> waiting{
        {1_tok, 10_B}, {1_tok, 10_B}, {1_tok, 10_B}, {1_tok, 10_B}, {1_tok, 10_B}};
    std::vector<std::size_t> chosen;
    RoundRobinDecode{}.assign(candidates, waiting, chosen);
    EXPECT_THAT(chosen, ElementsAre(0, 2, 0, 2));
}

// Loads 30, 10, 0; engine 2 has room for nothing. 15 tokens go to engine 1 (25), the next 15 there
// too (40 > 30 only now), the third to engine 0 (45), the fourth to engine 1 (40 < 45).
TEST(DecodePolicy, LeastLoadedTakesFewestTokensAmongThoseWithTheHbm) {
    std::vector<DecodeCandidate> candidates{{EngineId{0}, 30_tok, 0, 100_B},
                                            {EngineId{1}, 10_tok, 9, 100_B},
                                            {EngineId{2}, 0_tok, 0, 9_B}};
    const std::vector<DecodeDemand> waiting(4, {15_tok, 10_B});
    std::vector<std::size_t> chosen;
    LeastLoadedDecode policy;
    EXPECT_EQ(policy.scope(), DecodePolicy::Scope::all_engines);
    policy.assign(candidates, waiting, chosen);
    EXPECT_THAT(chosen, ElementsAre(1, 1, 0, 1));
}
// 80 B fit nowhere: the head blocks the rest, and a tie goes to the first.
TEST(DecodePolicy, LeastLoadedStopsAtTheHeadThatFitsNowhere) {
    std::vector<DecodeCandidate> candidates{{EngineId{0}, 0_tok, 0, 50_B},
                                            {EngineId{1}, 0_tok, 0, 50_B}};
    const std::vector<DecodeDemand> waiting{{1_tok, 10_B}, {1_tok, 80_B}, {1_tok, 10_B}};
    std::vector<std::size_t> chosen;
    LeastLoadedDecode{}.assign(candidates, waiting, chosen);
    EXPECT_THAT(chosen, ElementsAre(0));
}

TEST(ReadPath, ShorterQueueReadsAndATieStaysOnThePrefillSide) {
    ShorterQueue policy;
    EXPECT_EQ(policy.choose({.prefill = 5_tok, .decode = 4_tok}), ReadPath::decode);
    EXPECT_EQ(policy.choose({.prefill = 5_tok, .decode = 5_tok}), ReadPath::prefill);
    EXPECT_EQ(policy.choose({.prefill = 4_tok, .decode = 5_tok}), ReadPath::prefill);
}
TEST(ReadPath, BasicReadsOnThePrefillSide) {
    EXPECT_EQ(PrefillOnly{}.choose({.prefill = 9_tok, .decode = 0_tok}), ReadPath::prefill);
}
// 2 PE nodes and 4 DE nodes: of 6 requests 2 are read on the PE side, evenly spread.
TEST(ReadPath, RoundRobinGivesEachSideItsShare) {
    RoundRobinPath policy{2, 4};
    std::vector<bool> prefill;
    for (int i = 0; i < 9; ++i) prefill.push_back(policy.choose({}) == ReadPath::prefill);
    EXPECT_THAT(prefill, ElementsAre(false, false, true, false, false, true, false, false, true));
}

TEST(Policies, EveryNameMakesOne) {
    ControlSettings settings;
    for (const auto name : prefill_policy_names) {
        settings.prefill_policy = name;
        EXPECT_NE(make_prefill_policy(settings), nullptr);
    }
    for (const auto name : decode_policy_names) {
        settings.decode_policy = name;
        EXPECT_NE(make_decode_policy(settings), nullptr);
    }
    for (const auto name : read_path_names) {
        settings.read_path = name;
        EXPECT_NE(make_read_path(settings, {}), nullptr);
    }
}

}  // namespace
}  // namespace dualpath
