// SLO: its text form, what it refuses, and what meets it.
#include "analysis/slo.h"

#include <gtest/gtest.h>

namespace dualpath {
namespace {

std::string refusal(std::string_view text) {
    try {
        parse_slo(text);
    } catch (const InputError& e) {
        return e.what();
    }
    return {};
}

TEST(Slo, TextIsReadAndWrittenAlike) {
    for (const char* text : {"ttft_s.mean=4,tpot_s.mean=0.05", "ttft_s.p99=4",
                             "trajectory_s.p90=600,ttst_s.p50=0.1"}) {
        EXPECT_EQ(parse_slo(text).text(), text);
    }
    EXPECT_EQ(parse_slo("paper").text(), "ttft_s.mean=4,tpot_s.mean=0.05");
}

TEST(Slo, RefusalNamesTheNearestAndTheAllowed) {
    EXPECT_NE(refusal("tftt_s.mean=4").find("did you mean 'ttft_s'"), std::string::npos);
    EXPECT_NE(refusal("ttft_s.p95=4").find("one of mean, p50, p90, p99"), std::string::npos);
    EXPECT_NE(refusal("papr").find("did you mean 'paper'"), std::string::npos);
    EXPECT_NE(refusal("ttft_s.mean=4 s").find("plain number"), std::string::npos);
    for (const char* text :
         {"", "ttft_s", "ttft_s=4", "ttft_s.mean", "ttft_s.mean=", ",", "ttft_s.mean=0",
          "ttft_s.mean=-1", "ttft_s.mean=nan", "ttft_s.mean=4,", "ttft_s.mean=4,ttft_s.mean=5"}) {
        EXPECT_NE(refusal(text), "") << text;
    }
}

// Per request the SLO's value counts, the largest when a metric has several, else the paper's.
TEST(Slo, GoodputTakesItsRequestLimits) {
    const Slo slo = parse_slo("ttft_s.mean=2,ttft_s.p99=10,trajectory_s.mean=60");
    EXPECT_EQ(slo.ttft_s(), 10);
    EXPECT_EQ(slo.tpot_s(), 0.05);
}

// TTFT 1, 2 and 9 s: mean 4, p50 2, p99 9.
TEST(Slo, EachLimitIsJudgedByItsStatistic) {
    Latencies latencies;
    for (const double s : {1, 2, 9}) latencies.ttft.add(s);
    const auto results = judge(parse_slo("ttft_s.mean=4,ttft_s.p50=1.9,ttft_s.p99=9"), latencies);
    ASSERT_EQ(results.size(), 3U);
    EXPECT_EQ(results[0].value_s, 4);
    EXPECT_TRUE(results[0].met);
    EXPECT_EQ(results[1].value_s, 2);
    EXPECT_FALSE(results[1].met);
    EXPECT_TRUE(results[2].met);
    EXPECT_FALSE(all_met(results));
}

TEST(Slo, AnswersOfOneTokenNeedNoTpotButNoAnswersMeetNothing) {
    Latencies latencies;
    EXPECT_FALSE(all_met(judge(parse_slo("tpot_s.mean=0.05"), latencies)));
    latencies.ttft.add(1);
    EXPECT_TRUE(all_met(judge(parse_slo("paper"), latencies)));
}

}  // namespace
}  // namespace dualpath
