// RequestTimes: stages of scripted requests, worked out by hand.
#include "analysis/request_times.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/analysis/seam_feed.h"

namespace dualpath {
namespace {

struct Recorder {
    std::vector<RequestRecord> records;
    RequestTimes times{{1, 1}, [this](const RequestRecord& record) { records.push_back(record); }};
    SeamFeed feed{&times};
};

Request turn(RequestId id, double submitted = 0) {
    return {.id = id, .submitted = at_s(submitted), .context = {50}, .prompt = {100}};
}
AssignRequest assign(RequestId id, Tokens hit = {50}, ReadPath path = ReadPath::prefill) {
    return {id, {0}, {1}, path, hit, at_s(0), at_s(0)};
}
std::vector<Chunk> last_chunk(RequestId id) { return {{.request = id, .end = Chunk::End::last}}; }

// The stages in the comment of tell_one_turn; TPOT = (18 - 15) / (4 - 2).
TEST(RequestTimes, ReadsTheStagesOffTheSeam) {
    Recorder r;
    tell_one_turn(r.feed, {5, 7}, {2}, 100);
    ASSERT_EQ(r.records.size(), 1U);
    const RequestRecord& record = r.records[0];
    EXPECT_EQ(record.decode_chosen, at_s(101));
    EXPECT_EQ(record.engines_chosen, at_s(102));
    EXPECT_EQ(record.allocated, at_s(103));
    EXPECT_EQ(record.read_done, at_s(107));
    EXPECT_EQ(record.first_token, at_s(112));
    EXPECT_EQ(record.second_token, at_s(115));
    EXPECT_EQ(record.end, at_s(118));
    EXPECT_EQ(record.generated, Tokens{4});
    EXPECT_EQ(record.ttft(), std::chrono::seconds{12});
    EXPECT_EQ(record.ttst(), std::chrono::seconds{3});
    EXPECT_DOUBLE_EQ(record.tpot_s().value(), 1.5);
    EXPECT_EQ(record.attempts, 1U);
    EXPECT_EQ(r.times.unfinished(), 0U);
}

TEST(RequestTimes, WithoutAHitTheReadTakesNoTime) {
    Recorder r;
    const RequestId id{0, 1};
    const auto chunks = last_chunk(id);
    const std::vector<RequestId> finished{id};
    r.feed.tell(0, RequestArrived{turn(id)}, {assign(id, {0})});
    r.feed.tell(4, GroupFetched{}, {SeamFeed::prefill_step({{0}, 0}, chunks)});
    r.feed.tell(6, StepDone{{{0}, 0}, finished}, {RequestFinished{id}});
    EXPECT_EQ(r.records.at(0).read_done, at_s(0));
    EXPECT_EQ(r.records[0].ttft_parts()->prefill, std::chrono::seconds{6});
    EXPECT_EQ(r.records[0].generated, Tokens{1});
    EXPECT_FALSE(r.records[0].second_token);
    EXPECT_FALSE(r.records[0].tpot_s());
}

// Two requests read through engine 0, one at a time: a is read 1..3, b waits and is read 3..8.
TEST(RequestTimes, GivesEachReadToTheRequestWhoseTurnItWas) {
    Recorder r;
    const RequestId a{0, 1}, b{1, 1};
    auto chunks = last_chunk(a);
    chunks.push_back(last_chunk(b)[0]);
    r.feed.tell(0, RequestArrived{turn(a)});
    r.feed.tell(0, RequestArrived{turn(b)});
    r.feed.tell(1, GroupFetched{}, {assign(a), SeamFeed::storage_read({0, 1}, {0}, a), assign(b)});
    r.feed.tell(3, TransferDone{{0, 1}}, {SeamFeed::storage_read({0, 2}, {0}, b)});
    r.feed.tell(8, TransferDone{{0, 2}});
    r.feed.tell(9, GroupFetched{}, {SeamFeed::prefill_step({{0}, 0}, chunks)});
    const std::vector<RequestId> finished{a, b};
    r.feed.tell(10, StepDone{{{0}, 0}, finished}, {RequestFinished{a}, RequestFinished{b}});
    EXPECT_EQ(r.records.at(0).read_done, at_s(3));
    EXPECT_EQ(r.records.at(1).read_done, at_s(8));
}

// Chunks do not end the prompt until the last: steps 1..2 and 2..5 give the first token at 5.
TEST(RequestTimes, TakesTheFirstTokenFromTheLastChunk) {
    Recorder r;
    const RequestId id{0, 1};
    const std::vector<Chunk> first{{.request = id, .end = Chunk::End::more}};
    const auto last = last_chunk(id);
    r.feed.tell(0, RequestArrived{turn(id)}, {assign(id, {0})});
    r.feed.tell(1, GroupFetched{}, {SeamFeed::prefill_step({{0}, 0}, first)});
    r.feed.tell(2, StepDone{{{0}, 0}}, {SeamFeed::prefill_step({{0}, 1}, last)});
    r.feed.tell(4, TransferDone{{8, 1}});  // a stranger's
    r.feed.tell(5, StepDone{{{0}, 1}}, {RequestFinished{id, Outcome::aborted}});
    EXPECT_EQ(r.records.at(0).first_token, at_s(5));
    EXPECT_EQ(r.records[0].outcome, Outcome::aborted);
}

// First attempt: token 1 at 2, steps 3..4 and 4..5 give 2 more, then engine 1 is lost at 5.5 in the
// middle of a step. Second attempt: token 4 at 8, one step more: 5 tokens, stages of the second.
TEST(RequestTimes, ARestartedRequestHasTheStagesOfItsLastAttempt) {
    Recorder r;
    const RequestId id{0, 1};
    const auto chunks = last_chunk(id);
    const std::vector<Join> joins{{id, {1}, {100}}};
    r.feed.tell(0, RequestArrived{turn(id)}, {assign(id, {0})});
    r.feed.tell(1, GroupFetched{}, {SeamFeed::prefill_step({{0}, 0}, chunks)});
    r.feed.tell(2, StepDone{{{0}, 0}});
    r.feed.tell(3, GroupFetched{{1}}, {SeamFeed::decode_step({{1}, 0}, joins)});
    r.feed.tell(4, StepDone{{{1}, 0}}, {SeamFeed::decode_step({{1}, 1}, {})});
    r.feed.tell(5, StepDone{{{1}, 1}}, {SeamFeed::decode_step({{1}, 2}, {})});
    r.feed.tell(5.5, EngineLost{{1}});
    r.feed.tell(6, EngineBack{{1}},
                {AssignRequest{id, {0}, {1}, ReadPath::decode, {0}, at_s(5.6), at_s(5.8)}});
    r.feed.tell(7, GroupFetched{}, {SeamFeed::prefill_step({{0}, 1}, chunks)});
    r.feed.tell(8, StepDone{{{0}, 1}}, {SeamFeed::decode_step({{1}, 3}, joins)});
    const std::vector<RequestId> finished{id};
    r.feed.tell(9, StepDone{{{1}, 3}, finished}, {RequestFinished{id}});
    const RequestRecord& record = r.records.at(0);
    EXPECT_EQ(record.generated, Tokens{5});
    EXPECT_EQ(record.attempts, 2U);
    EXPECT_EQ(record.path, ReadPath::decode);
    EXPECT_EQ(record.first_token, at_s(8));
    EXPECT_EQ(record.second_token, at_s(9));
    EXPECT_EQ(record.ttft_parts()->queue, from_seconds(5.8));
    EXPECT_EQ(record.ttft(), std::chrono::seconds{8});
}

TEST(RequestTimes, PreemptionKeepsWhatWasGenerated) {
    Recorder r;
    const RequestId id{0, 1};
    const auto chunks = last_chunk(id);
    const std::vector<Join> joins{{id, {1}, {100}}};
    r.feed.tell(0, RequestArrived{turn(id)}, {assign(id, {0})});
    r.feed.tell(1, GroupFetched{}, {SeamFeed::prefill_step({{0}, 0}, chunks)});
    r.feed.tell(2, StepDone{{{0}, 0}}, {SeamFeed::decode_step({{1}, 0}, joins)});
    r.feed.tell(3, StepDone{{{1}, 0}}, {Cancel{id}});
    r.feed.tell(4, GroupFetched{{1}}, {SeamFeed::decode_step({{1}, 1}, {})});
    r.feed.tell(5, StepDone{{{1}, 1}}, {RequestFinished{id, Outcome::failed}});
    EXPECT_EQ(r.records.at(0).generated, Tokens{2});  // not the step it was no longer in
}

TEST(RequestTimes, IgnoresLateWordsAboutAnEarlierHolderOfTheSlot) {
    Recorder r;
    r.feed.tell(0, RequestArrived{turn({0, 1})}, {RequestFinished{{0, 1}, Outcome::aborted}});
    r.feed.tell(1, RequestArrived{turn({0, 2}, 1)}, {assign({0, 1}), RequestFinished{{0, 1}}});
    EXPECT_EQ(r.records.size(), 1U);
    EXPECT_EQ(r.records[0].attempts, 0U);
    EXPECT_EQ(r.times.unfinished(), 1U);
}

// A request is told in any order of gaps: submitted, engines, buffers, read, first token.
RC_GTEST_PROP(RequestTimes, TtftPartsAddUpExactly, ()) {
    std::int64_t at[6]{};
    for (int i = 1; i < 6; ++i) {
        at[i] = at[i - 1] + *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
    }
    const auto instant = [&](int i) { return Instant{Duration{at[i]}}; };
    std::vector<RequestRecord> records;
    RequestTimes times{{1, 1}, [&](const RequestRecord& record) { records.push_back(record); }};
    const auto tell = [&](int i, const Event& event, const std::vector<Command>& commands) {
        times.on_event({instant(i), event}, commands);
    };
    const RequestId id{0, 1};
    const auto chunks = last_chunk(id);
    const auto path = *rc::gen::element(ReadPath::prefill, ReadPath::decode);
    const bool reads = *rc::gen::arbitrary<bool>();
    Request request = turn(id);
    request.submitted = instant(0);
    std::vector<Command> commands{
        AssignRequest{id, {0}, {1}, path, {reads ? 50 : 0}, instant(1), instant(1)}};
    if (reads) {
        commands.push_back(
            SeamFeed::storage_read({4, 2}, EngineId{path == ReadPath::prefill ? 0U : 1U}, id));
    }
    tell(0, RequestArrived{request}, {});
    tell(2, GroupFetched{}, commands);
    tell(3, TransferDone{{4, 2}}, {});
    tell(4, GroupFetched{}, {SeamFeed::prefill_step({{0}, 0}, chunks)});
    tell(5, StepDone{{{0}, 0}}, {RequestFinished{id}});
    const TtftParts parts = records.at(0).ttft_parts().value();
    RC_ASSERT(parts.queue + parts.allocate + parts.read + parts.prefill == records[0].ttft());
    RC_ASSERT(parts.queue == instant(1) - instant(0));
    RC_ASSERT(parts.allocate == instant(2) - instant(1));
    RC_ASSERT(parts.read == (reads ? instant(3) - instant(2) : Duration{0}));
}

}  // namespace
}  // namespace dualpath
