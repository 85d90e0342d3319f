// Agents replay trajectories: what arrives when, how long it is, and what is shared.
#include "workload/agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/input_error.h"

namespace dualpath {
namespace {

using namespace literals;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

/// 100 + 10, then 20 + 5 after two seconds of a tool.
Trajectory two_turns() {
    return {.turns = {{100_tok, 10_tok, Duration{seconds{2}}}, {20_tok, 5_tok}}};
}
Trajectory with_prefix(const char* group) {
    Trajectory t = two_turns();
    t.prefix = {{group, 64_tok}};
    return t;
}

std::vector<Arrival> begin(Agents& agents) {
    std::vector<Arrival> arrivals;
    agents.begin(arrivals);
    return arrivals;
}
/// What follows the end of a request.
std::vector<Arrival> after(Agents& agents, const Arrival& arrival, Instant now = {},
                           Outcome outcome = Outcome::finished) {
    std::vector<Arrival> arrivals;
    agents.on_finished(now, arrival.request.id, outcome, arrivals);
    return arrivals;
}

TEST(Agents, ClosedLoopStartsEverybodyAtZero) {
    Agents agents{{two_turns(), two_turns()}, {.agents = 2}};
    const auto arrivals = begin(agents);
    ASSERT_THAT(arrivals, SizeIs(2));
    for (const Arrival& a : arrivals) {
        EXPECT_EQ(a.at, Instant{});
        EXPECT_EQ(a.request.prompt, 100_tok);
        EXPECT_EQ(a.request.context, 0_tok);
        EXPECT_EQ(a.output, 10_tok);
    }
    EXPECT_NE(arrivals[0].request.session, arrivals[1].request.session);
}

// It ends at 7 s; the tool takes 2 s, the client 1 s. The context is all of the first turn, 110.
TEST(Agents, NextTurnFollowsTheToolAndTheClient) {
    Agents agents{{two_turns()}, {.agents = 1, .client_latency = seconds{1}}};
    const Arrival first = begin(agents).at(0);
    const auto next = after(agents, first, Instant{seconds{7}});
    ASSERT_THAT(next, SizeIs(1));
    EXPECT_EQ(next[0].at, Instant{seconds{10}});
    EXPECT_EQ(next[0].request.submitted, Instant{seconds{10}});
    EXPECT_EQ(next[0].request.turn, 1u);
    EXPECT_EQ(next[0].request.context, 110_tok);
    EXPECT_EQ(next[0].request.prompt, 130_tok);
    EXPECT_EQ(next[0].output, 5_tok);
    EXPECT_EQ(next[0].request.session, first.request.session);
    EXPECT_NE(next[0].request.id, first.request.id);
    EXPECT_THAT(after(agents, next[0]), IsEmpty());
    EXPECT_EQ(agents.agents_done(), 1u);
    EXPECT_EQ(agents.requests_done(), 2u);
    EXPECT_EQ(agents.requests_total(), 2u);
}

TEST(Agents, ScenarioMayReplaceTheRecordedToolLatency) {
    Agents agents{{two_turns()}, {.agents = 1, .tool_latency = Duration{0}}};
    const Arrival first = begin(agents).at(0);
    EXPECT_EQ(after(agents, first, Instant{seconds{7}}).at(0).at, Instant{seconds{7}});
}

TEST(Agents, AgentWithoutAnAnswerGivesUp) {
    for (const Outcome outcome : {Outcome::aborted, Outcome::failed}) {
        Agents agents{{two_turns()}, {.agents = 1}};
        EXPECT_THAT(after(agents, begin(agents).at(0), {}, outcome), IsEmpty());
        EXPECT_EQ(agents.agents_failed(), 1u);
        EXPECT_EQ(agents.agents_done(), 1u);
    }
}

// Turns end at 110 and 135 tokens: 134 leave the first, 135 both; a trajectory of 50 + 1 is whole.
TEST(Agents, TrajectoriesAreCutAtMaxLen) {
    EXPECT_EQ((Agents{{two_turns()}, {.agents = 1, .max_len = 134_tok}}).requests_total(), 1u);
    EXPECT_EQ((Agents{{two_turns()}, {.agents = 1, .max_len = 135_tok}}).requests_total(), 2u);
    const Trajectory small{.turns = {{50_tok, 1_tok}}};
    Agents agents{{two_turns(), small}, {.agents = 1, .max_len = 60_tok}};
    EXPECT_EQ(agents.skipped(), 1u);
    EXPECT_EQ(begin(agents).at(0).request.prompt, 50_tok);
    EXPECT_EQ(agents.longest(), 51_tok);
}

// Agent 1 repeats agent 0's trajectory behind a random round of 64 + 1 tokens: then 65 tokens are
// context, and prefix and append, 64 + 100, come new. Nothing of it is shared.
TEST(Agents, RepeatsShareNothing) {
    Agents agents{{with_prefix("system")}, {.agents = 2}};
    const auto arrivals = begin(agents);
    const Request& original = arrivals[0].request;
    EXPECT_TRUE(original.prefix);
    EXPECT_EQ(original.prefix_tokens, 64_tok);
    EXPECT_EQ(original.context, 64_tok);
    EXPECT_EQ(original.prompt, 164_tok);
    const Request& round = arrivals[1].request;
    EXPECT_EQ(round.prompt, 64_tok);
    EXPECT_EQ(round.context, 0_tok);
    EXPECT_EQ(arrivals[1].output, 1_tok);
    EXPECT_FALSE(round.prefix);
    const Arrival turn = after(agents, arrivals[1]).at(0);
    EXPECT_EQ(turn.request.context, 65_tok);
    EXPECT_EQ(turn.request.prompt, 65_tok + 164_tok);
    EXPECT_FALSE(turn.request.prefix);
    EXPECT_EQ(after(agents, turn, Instant{}).at(0).request.prompt,
              65_tok + 164_tok + 10_tok + 20_tok);
    EXPECT_EQ(agents.requests_total(), 2u + 3u);
    EXPECT_EQ(agents.longest(), 65_tok + 64_tok + 135_tok);
}

TEST(Agents, EqualPrefixesAreShared) {
    Agents agents{{with_prefix("a"), with_prefix("b"), with_prefix("a")}, {.agents = 3}};
    const auto arrivals = begin(agents);
    EXPECT_EQ(arrivals[0].request.prefix, arrivals[2].request.prefix);
    EXPECT_NE(arrivals[0].request.prefix, arrivals[1].request.prefix);
}

// Half of the 110 tokens survive.
TEST(Agents, ShrunkContextOpensThePrompt) {
    Trajectory t = two_turns();
    t.turns[1].keep = 55_tok;
    Agents agents{{t}, {.agents = 1}};
    const Request next = after(agents, begin(agents).at(0)).at(0).request;
    EXPECT_EQ(next.context, 55_tok);
    EXPECT_EQ(next.prompt, 75_tok);
}

// Behind a random round the kept part is longer by it: 65 + 55.
TEST(Agents, ShrunkContextOfARepeatKeepsItsRound) {
    Trajectory t = two_turns();
    t.turns[1].keep = 55_tok;
    Agents agents{{t}, {.agents = 2}};
    const Arrival first = after(agents, begin(agents).at(1)).at(0);
    EXPECT_EQ(after(agents, first).at(0).request.context, 120_tok);
}

// 100 * 1.5 = 150 and 10 * 0.25 = 2.5, rounded away from zero to 3.
TEST(Agents, LengthsAreScaledBeforeTheCut) {
    Agents agents{{two_turns()},
                  {.agents = 1, .max_len = 153_tok, .append_scale = 1.5, .generation_scale = 0.25}};
    const Arrival first = begin(agents).at(0);
    EXPECT_EQ(first.request.prompt, 150_tok);
    EXPECT_EQ(first.output, 3_tok);
    EXPECT_EQ(agents.requests_total(), 1u);
}

TEST(Agents, EveryTurnYieldsAToken) {
    Agents agents{{{.turns = {{0_tok, 0_tok}}}}, {.agents = 1}};
    const Arrival only = begin(agents).at(0);
    EXPECT_EQ(only.output, 1_tok);
    EXPECT_EQ(only.request.prompt, 1_tok);
}

TEST(Agents, RecordedArrivalsAreTheTraces) {
    Trajectory late = two_turns();
    late.arrival = Duration{seconds{3}};
    Agents agents{{late}, {.agents = 1, .arrivals = WorkloadSettings::Arrivals::recorded}};
    EXPECT_EQ(begin(agents).at(0).at, Instant{seconds{3}});
}

// 4,000 gaps of a mean of 0.5 s: the sum has a standard deviation of 1 / sqrt(4,000) = 1.6 % of its
// mean, so 8 % is five of them.
RC_GTEST_PROP(Agents, PoissonArrivalsHaveTheirRateInOrder, ()) {
    const auto seed = static_cast<std::uint64_t>(*rc::gen::inRange(0, 1'000'000));
    Agents agents{{two_turns()},
                  {.agents = 4000,
                   .arrivals = WorkloadSettings::Arrivals::poisson,
                   .agents_per_second = 2,
                   .seed = {seed}}};
    const auto arrivals = begin(agents);
    for (std::size_t i = 1; i < arrivals.size(); ++i)
        RC_ASSERT(arrivals[i - 1].at <= arrivals[i].at);
    RC_ASSERT(std::abs(to_seconds(arrivals.back().at) / 2000 - 1) < 0.08);
}

// Every prompt keeps within what went before it, and the longest is what longest() says.
RC_GTEST_PROP(Agents, ContextsFollowFromTheTurnsBefore, ()) {
    Trajectory t;
    const int turns = *rc::gen::inRange(1, 8);
    for (int i = 0; i < turns; ++i) {
        t.turns.push_back({Tokens{*rc::gen::inRange(1, 100)}, Tokens{*rc::gen::inRange(1, 100)}});
    }
    Agents agents{{t}, {.agents = 3}};
    Tokens longest{};
    std::uint64_t requests = 0;
    for (const Arrival& start : begin(agents)) {
        std::optional<Arrival> now = start;
        Tokens end{};
        while (now) {
            RC_ASSERT(now->request.context == end);
            end = now->request.prompt + now->output;
            longest = std::max(longest, end);
            ++requests;
            const auto next = after(agents, *now);
            now = next.empty() ? std::nullopt : std::optional{next[0]};
        }
    }
    RC_ASSERT(longest == agents.longest());
    RC_ASSERT(requests == agents.requests_total());
    RC_ASSERT(agents.agents_done() == 3u);
}

TEST(Agents, ImpossibleWorkloadsAreRefusedByName) {
    EXPECT_THAT(([] {
                    Agents{{two_turns()}, {.agents = 1, .max_len = 50_tok}};
                }),
                ThrowsMessage<InputError>(HasSubstr("workload.max_len")));
    EXPECT_THAT(
        ([] {
            Agents{{two_turns()}, {.agents = 1, .arrivals = WorkloadSettings::Arrivals::poisson}};
        }),
        ThrowsMessage<InputError>(HasSubstr("workload.agents_per_second")));
    EXPECT_THAT(
        ([] {
            Agents{{two_turns()}, {.agents = 1, .arrivals = WorkloadSettings::Arrivals::recorded}};
        }),
        ThrowsMessage<InputError>(HasSubstr("workload.arrivals")));
}

}  // namespace
}  // namespace dualpath
