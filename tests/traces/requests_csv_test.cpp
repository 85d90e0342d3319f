// Requests from CSV.
#include "traces/requests_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/traces/temporary_file.h"

namespace dualpath {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kHeader = "arrived_at,num_prefill_tokens,num_decode_tokens\n";

std::string refusal_of_row(const std::string& row) {
    return refusal(read_requests_csv, "r.csv", kHeader + "0,1,1\n" + row);
}

TEST(RequestsCsv, RowIsOneTurnWithItsArrival) {
    const TemporaryFile file{"r.csv", kHeader + "0.25,100,7\r\n1e1,5,0"};
    const auto requests = read_requests_csv(file.path());
    ASSERT_THAT(requests, SizeIs(2));
    EXPECT_EQ(requests[0].session_id, "request_0");
    EXPECT_EQ(requests[0].arrival, 250ms);
    EXPECT_EQ(requests[1].arrival, 10s);
    const std::vector<Turn> expected{{100_tok, 7_tok, {}, {}}};
    EXPECT_EQ(requests[0].turns, expected);
}

TEST(RequestsCsv, HeaderIsRequired) {
    EXPECT_THAT(refusal(read_requests_csv, "r.csv", "0.25,100,7\n"),
                AllOf(HasSubstr("r.csv:1: header: "), HasSubstr("arrived_at,num_prefill_tokens")));
    EXPECT_THAT(refusal(read_requests_csv, "r.csv", ""), HasSubstr("r.csv: header: "));
}

TEST(RequestsCsv, FileWithoutRowsIsRefused) {
    EXPECT_THAT(refusal(read_requests_csv, "r.csv", kHeader), HasSubstr("r.csv: has no rows"));
}

TEST(RequestsCsv, BadCellIsNamedByItsColumn) {
    EXPECT_THAT(refusal_of_row("-1,1,1"), HasSubstr("r.csv:3: arrived_at: \"-1\" is no arrival"));
    EXPECT_THAT(refusal_of_row("nan,1,1"), HasSubstr("r.csv:3: arrived_at: "));
    EXPECT_THAT(refusal_of_row("1000001,1,1"), HasSubstr("r.csv:3: arrived_at: "));
    EXPECT_THAT(refusal_of_row("0,1.5,1"), HasSubstr("r.csv:3: num_prefill_tokens: \"1.5\""));
    EXPECT_THAT(refusal_of_row("0,1,"), HasSubstr("r.csv:3: num_decode_tokens: \"\""));
    EXPECT_THAT(refusal_of_row("0,1,-1"), HasSubstr("r.csv:3: num_decode_tokens: \"-1\""));
    EXPECT_THAT(refusal_of_row("0,1,2147483649"), HasSubstr("r.csv:3: num_decode_tokens: "));
    EXPECT_THAT(refusal_of_row("0,1"), HasSubstr("r.csv:3: row: 2 cells"));
    EXPECT_THAT(refusal_of_row("0,1,2,3"), HasSubstr("r.csv:3: row: 4 cells"));
}

// The sums are those its README states: 11.5 M prompt and 2.09 M output tokens.
TEST(RequestsCsv, SampleOf10000RequestsHasItsStatedTokens) {
    const auto requests = read_requests_csv("traces/samples/conv10k.csv");
    EXPECT_THAT(requests, SizeIs(10'000));
    Tokens prompt;
    Tokens output;
    for (const Trajectory& request : requests) {
        prompt += request.turns[0].append;
        output += request.turns[0].output;
    }
    EXPECT_NEAR(static_cast<double>(prompt.value), 11.5e6, 0.05e6);
    EXPECT_NEAR(static_cast<double>(output.value), 2.09e6, 0.005e6);
    EXPECT_THAT(read_requests_csv("traces/samples/conv1k.csv"), SizeIs(1000));
}

}  // namespace
}  // namespace dualpath
