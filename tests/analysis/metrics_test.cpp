// Metrics: a scripted run's numbers, worked out by hand.
#include "analysis/metrics.h"

#include <gtest/gtest.h>

#include "tests/analysis/seam_feed.h"

namespace dualpath {
namespace {

std::vector<ResourceColumn> columns() {
    return {{"storage_read", "storage_read", Role::prefill, 100},
            {"prefill0.snic_rx", "snic_rx", Role::prefill, 50},
            {"prefill1.snic_rx", "snic_rx", Role::prefill, 50},
            {"decode0.snic_rx", "snic_rx", Role::decode, 50},
            {"prefill0.0.gpu", "gpu", Role::prefill, 1}};
}

MetricsInputs inputs() { return {.columns = columns(), .engines_by_group = {1, 1}}; }

// Session 0 has turns at 0..18 and 20..38, session 1 one at 40..58; each as in tell_one_turn.
TEST(Metrics, CountsLatenciesAndRates) {
    Metrics m{inputs()};
    SeamFeed feed{&m};
    tell_one_turn(feed, {0, 1}, {0}, 0, 0);
    tell_one_turn(feed, {0, 2}, {0}, 20, 1);
    tell_one_turn(feed, {0, 3}, {1}, 40, 2);
    EXPECT_EQ(m.counts().finished, 3U);
    EXPECT_EQ(m.counts().prompt, Tokens{300});
    EXPECT_EQ(m.counts().hit, Tokens{150});
    EXPECT_EQ(m.counts().generated, Tokens{12});
    EXPECT_EQ(m.jct(), std::chrono::seconds{58});
    EXPECT_DOUBLE_EQ(m.ttft().mean(), 12);
    EXPECT_DOUBLE_EQ(m.queue().mean(), 2);
    EXPECT_DOUBLE_EQ(m.allocate().mean(), 1);
    EXPECT_DOUBLE_EQ(m.read().mean(), 4);
    EXPECT_DOUBLE_EQ(m.prefill().mean(), 5);
    EXPECT_DOUBLE_EQ(m.ttst().mean(), 3);
    EXPECT_DOUBLE_EQ(m.tpot().mean(), 1.5);
    EXPECT_DOUBLE_EQ(m.trajectories().max(), 38);
    EXPECT_DOUBLE_EQ(m.trajectories().mean(), (38 + 18) / 2.0);
    EXPECT_EQ(m.sessions_ended(), 2U);
    EXPECT_EQ(m.counts().met_slo, 0U);  // 12 s is above 4 s
}

TEST(Metrics, GoodputCountsRequestsWithinTheSlo) {
    MetricsInputs in = inputs();
    in.slo = parse_slo("ttft_s.mean=12,tpot_s.mean=1.5");
    Metrics m{std::move(in)};
    SeamFeed feed{&m};
    tell_one_turn(feed, {0, 1}, {0}, 0);
    EXPECT_EQ(m.counts().met_slo, 1U);
}

// Agents arrive at 0, 20 .. 180 s, one turn each, TTFT 12 s. No steady state before 1950 s, so
// warm-up is 10 % of 10 agents: from the second on, 9 requests.
TEST(Metrics, SteadyPartLeavesOutWarmUpAndDrain) {
    MetricsInputs in = inputs();
    in.loop = Loop::open;
    in.slo = parse_slo("ttft_s.mean=12,tpot_s.mean=1");
    Metrics m{std::move(in)};
    SeamFeed feed{&m};
    for (std::uint32_t i = 0; i < 10; ++i) tell_one_turn(feed, {i, 1}, {i}, 20 * i, i);
    const auto part = m.steady();
    ASSERT_TRUE(part);
    EXPECT_EQ(part->from, at_s(20));
    EXPECT_EQ(part->to, at_s(180));
    EXPECT_EQ(part->latencies.ttft.count(), 9U);
    EXPECT_DOUBLE_EQ(part->latencies.trajectory.mean(), 18);
    const auto results = m.slo_results();
    EXPECT_TRUE(results[0].met);
    EXPECT_FALSE(results[1].met);  // 1.5 s
}

/// An agent each second from 0 to `seconds`; each gets its first token `wait` seconds later, but
/// from `stuck` on nobody does.
Verdict verdict_of(int seconds, int wait, int stuck) {
    MetricsInputs in = inputs();
    in.loop = Loop::open;
    Metrics m{std::move(in)};
    SeamFeed feed{&m};
    const EngineId pe{0}, de{1};
    for (int t = 0; t <= seconds; ++t) {
        const auto n = static_cast<std::uint32_t>(t);
        const RequestId id{n, 1};
        feed.tell(t, RequestArrived{{.id = id, .session = {n}, .submitted = at_s(t)}});
        if (t < wait || t - wait >= stuck) continue;
        const RequestId served{n - static_cast<std::uint32_t>(wait), 1};
        const std::vector<Chunk> chunks{
            {.request = served, .engine = pe, .tokens = Tokens{1}, .end = Chunk::End::last}};
        feed.tell(t, GroupFetched{{0}},
                  {AssignRequest{served, pe, de, ReadPath::prefill, Tokens{0}, at_s(t), at_s(t)},
                   SeamFeed::prefill_step({{0}, n}, chunks)});
        feed.tell(t + 0.5, StepDone{{{0}, n}}, {RequestFinished{served}});
    }
    return m.verdict();
}

// Served at once; after 20 s in a queue (all of a life) that does not grow; nobody from 60 s on.
TEST(Metrics, OpenLoopIsStableBackloggedOrOverloaded) {
    EXPECT_EQ(verdict_of(200, 0, 1000), Verdict::stable);
    EXPECT_EQ(verdict_of(200, 20, 1000), Verdict::backlogged);
    EXPECT_EQ(verdict_of(200, 0, 60), Verdict::overloaded);
}

TEST(Metrics, TellsOfEachEndedRequest) {
    std::vector<RequestId> ended;
    MetricsInputs in = inputs();
    in.ended = [&](const RequestRecord& record) { ended.push_back(record.request.id); };
    Metrics m{std::move(in)};
    SeamFeed feed{&m};
    tell_one_turn(feed, {4, 1}, {0}, 0);
    EXPECT_EQ(ended, (std::vector<RequestId>{{4, 1}}));
}

// Windows of 1 s. First: 40 and 20 on the prefill side, 0 on the decode side: max/mean is 40/20 = 2
// over all, 40/30 on the prefill side. Second: nothing read, does not count. Third: 30 each: 1.
// Together 1.5; prefill side 7/6; decode side 1 (only the third counts).
TEST(Metrics, SummarisesWindows) {
    Metrics m{inputs()};
    const auto window = [&](int s, const std::vector<ResourceUse>& use) {
        m.on_window(at_s(s), at_s(s + 1), use);
    };
    window(0, {{60, 0}, {40, 0.5}, {20, 0}, {0, 0}, {0.25, 0}});
    window(1, {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0.5, 0}});
    window(2, {{90, 1}, {30, 1}, {30, 0}, {30, 0}, {0.75, 0}});
    EXPECT_DOUBLE_EQ(m.snic_max_over_avg(), 1.5);
    EXPECT_DOUBLE_EQ(m.snic_max_over_avg(Role::prefill), (4.0 / 3 + 1) / 2);
    EXPECT_DOUBLE_EQ(m.snic_max_over_avg(Role::decode), 1);
    // In one period of 3 s: 70, 50 and 30, so 70 / 50.
    EXPECT_DOUBLE_EQ(m.snic_max_over_avg_10s(), 1.4);
    EXPECT_DOUBLE_EQ(m.snic_read_rate(Role::prefill), 120.0 / 6);
    EXPECT_DOUBLE_EQ(m.resources().of("snic_rx", Role::prefill).utilisation(), 120.0 / 50 / 6);
    EXPECT_DOUBLE_EQ(m.resources().of("snic_rx", Role::prefill).at_limit(), 1.5 / 6);
    EXPECT_DOUBLE_EQ(m.resources().of("gpu", Role::prefill).utilisation(), 0.5);
    EXPECT_DOUBLE_EQ(m.resources().of("storage_read").used, 150);
    EXPECT_EQ(m.resources().of("no such kind").utilisation(), 0);
}

// Half-second windows are joined to whole seconds: 10 + 30 against 30 + 10 is even.
TEST(Metrics, SnicImbalanceIsOverWholeSeconds) {
    Metrics m{{.columns = {{"prefill0.snic_rx", "snic_rx", Role::prefill, 50},
                           {"prefill1.snic_rx", "snic_rx", Role::prefill, 50}}}};
    m.on_window(at_s(0), at_s(0.5), std::vector<ResourceUse>{{10, 0}, {30, 0}});
    m.on_window(at_s(0.5), at_s(1), std::vector<ResourceUse>{{30, 0}, {10, 0}});
    EXPECT_DOUBLE_EQ(m.snic_max_over_avg(), 1);
}

// Group 0 has 4 engines. Step 0: 300 + 100 on engine 0, 400 on engine 1, sum 800, mean 200: 2.
// Step 1: all on one engine: 4. Average 3. Decode steps do not count.
TEST(Metrics, AttentionImbalanceCountsIdleEngines) {
    Metrics m{{.engines_by_group = {4, 1}}};
    SeamFeed feed{&m};
    const auto chunk = [](std::uint32_t engine, int ms) {
        return Chunk{.engine = {engine}, .attention = std::chrono::milliseconds{ms}};
    };
    const std::vector<Chunk> two{chunk(0, 300), chunk(1, 400), chunk(0, 100)};
    const std::vector<Chunk> one{chunk(3, 50)};
    feed.tell(1, GroupFetched{}, {SeamFeed::prefill_step({{0}, 0}, two)});
    feed.tell(2, StepDone{{{0}, 0}}, {SeamFeed::prefill_step({{0}, 1}, one)});
    feed.tell(3, GroupFetched{{1}}, {SeamFeed::decode_step({{1}, 0}, {})});
    EXPECT_DOUBLE_EQ(m.attention_max_over_avg(), 3);
}

// 3 s at 0.5 with waiting, then 1 s at 0.9 without.
TEST(Metrics, SamplesMemoryAtEachWindow) {
    MemoryUse use{.prefill_hbm = 0.5, .waiting_for_prefill_hbm = 7};
    Metrics m{{.memory = [&] { return use; }}};
    m.on_window(at_s(0), at_s(3), {});
    use = {.prefill_hbm = 0.9};
    m.on_window(at_s(3), at_s(4), {});
    EXPECT_DOUBLE_EQ(m.memory().prefill_hbm, 0.6);
    EXPECT_DOUBLE_EQ(m.memory().waiting_for_prefill_hbm, 0.75);
    EXPECT_EQ(m.memory().waiting_for_decode_hbm, 0);
}

// A turn of tell_one_turn waits 2 of its 18 s for its engines: 11 % is BACKLOGGED. With a second
// request that never waits and lives 18 s it is 2 of 36: STABLE.
TEST(Metrics, VerdictIsTheShareOfRequestsThatWaitUnassigned) {
    Metrics m{inputs()};
    SeamFeed feed{&m};
    tell_one_turn(feed, {0, 1}, {0}, 0);
    EXPECT_DOUBLE_EQ(m.waiting_share(), 2.0 / 18);
    EXPECT_EQ(m.verdict(), Verdict::backlogged);
    const RequestId id{1, 1};
    feed.tell(20, RequestArrived{{.id = id, .session = {1}, .submitted = at_s(20)}},
              {AssignRequest{id, {0}, {1}, ReadPath::prefill, {0}, at_s(20), at_s(20)}});
    feed.tell(38, GroupFetched{}, {RequestFinished{id, Outcome::aborted}});
    EXPECT_DOUBLE_EQ(m.waiting_share(), 2.0 / 36);
    EXPECT_EQ(m.verdict(), Verdict::stable);
}

// From DE to end 17 s: PE 1, buffers 1, read 4, prefill 5, to the second token 3 of which 1.5 are a
// decode step, decode 3 + 1.5. Nothing is at its limit, so 1.5 s of sending count as decode_gpu:
// 6 of 17. The read is "none", waiting for a PE counts with prefill: 6 of 17 as well.
TEST(Metrics, BindingSharesFollowTheStages) {
    Metrics m{inputs()};
    SeamFeed feed{&m};
    tell_one_turn(feed, {0, 1}, {0}, 0);
    const auto candidates = m.binding();
    ASSERT_EQ(candidates.size(), 4U);
    EXPECT_EQ(candidates[0].resource, "decode_gpu");
    EXPECT_DOUBLE_EQ(candidates[0].share, 6.0 / 17);
    EXPECT_EQ(candidates[1].resource, "prefill_gpu");
    EXPECT_DOUBLE_EQ(candidates[1].share, 6.0 / 17);
    EXPECT_EQ(candidates[2].resource, "none");
    EXPECT_EQ(candidates[3].resource, "prefill_buffer");
}

}  // namespace
}  // namespace dualpath
