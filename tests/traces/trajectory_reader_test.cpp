// What trajectory/1 files mean, and what is wrong with bad ones.
#include "traces/trajectory_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/input_error.h"
#include "tests/traces/temporary_file.h"

namespace dualpath {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kOneTurn =
    R"({"schema":"trajectory/1","session_id":"s","turns":[{"append_tokens":3,"output_tokens":4}]})"
    "\n";

TrajectoryFile read(std::string_view bytes, std::string_view name = "t.jsonl") {
    const TemporaryFile file{name, bytes};
    return read_trajectories(file.path());
}

/// The message for a second line of these fields, after a good first one.
std::string refusal_of(std::string_view second_line) {
    return refusal(read_trajectories, "t.jsonl", std::string{kOneTurn} + std::string{second_line});
}

/// The message for a second line with one turn of these fields.
std::string refusal_of_turn(std::string_view fields) {
    return refusal_of(R"({"turns":[{)" + std::string{fields} + "}]}");
}

TEST(TrajectoryReader, ReadsEveryFieldOfTheFormat) {
    const auto [trajectories, warnings] =
        read(R"({"schema":"trajectory/1","session_id":"s1","arrival_s":1.5,"group":7,)"
             R"("parent":"s0","join":"wait",)"
             R"("prefix":[{"group":"tools","tokens":100},{"group":"system","tokens":20}],)"
             R"("turns":[{"append_tokens":10,"output_tokens":5,"tool_latency_s":0.25},)"
             R"({"append_tokens":0,"output_tokens":0,"tool_latency_s":null,"keep_tokens":130}]})");
    Trajectory expected;
    expected.session_id = "s1";
    expected.arrival = 1500ms;
    expected.group = "7";
    expected.parent = "s0";
    expected.join = "wait";
    expected.prefix = {{"tools", 100_tok}, {"system", 20_tok}};
    expected.turns = {{10_tok, 5_tok, 250ms, {}}, {0_tok, 0_tok, {}, 130_tok}};
    EXPECT_THAT(trajectories, ElementsAre(expected));
    EXPECT_THAT(warnings, IsEmpty());
}

TEST(TrajectoryReader, UnknownToolLatencyDiffersFromImmediate) {
    const auto file = read(R"({"schema":"trajectory/1","turns":[)"
                           R"({"append_tokens":1,"output_tokens":1,"tool_latency_s":null},)"
                           R"({"append_tokens":1,"output_tokens":1},)"
                           R"({"append_tokens":1,"output_tokens":1,"tool_latency_s":0}]})");
    const auto& turns = file.trajectories[0].turns;
    EXPECT_EQ(turns[0].tool_latency, std::nullopt);
    EXPECT_EQ(turns[1].tool_latency, std::nullopt);
    EXPECT_EQ(turns[2].tool_latency, Duration{0});
}

// 0.1 and 7.3 have no exact double, and 999999.999999999 s is 1e15 - 1 ns: all must come out exact.
TEST(TrajectoryReader, DecimalSecondsAreExactToTheNanosecond) {
    const auto file = read(R"({"schema":"trajectory/1","arrival_s":999999.999999999,"turns":[)"
                           R"({"append_tokens":1,"output_tokens":1,"tool_latency_s":0.1},)"
                           R"({"append_tokens":1,"output_tokens":1,"tool_latency_s":7.3}]})");
    const Trajectory& trajectory = file.trajectories[0];
    EXPECT_EQ(trajectory.arrival, std::chrono::nanoseconds{999'999'999'999'999});
    EXPECT_EQ(trajectory.turns[0].tool_latency, 100ms);
    EXPECT_EQ(trajectory.turns[1].tool_latency, 7300ms);
}

TEST(TrajectoryReader, SessionWithoutNameIsCalledByItsLine) {
    const auto file =
        read(std::string{kOneTurn} + "\n{\"turns\":[{\"append_tokens\":1,\"output_tokens\":1}]}");
    ASSERT_THAT(file.trajectories, SizeIs(2));
    EXPECT_EQ(file.trajectories[1].session_id, "3");  // line 2 is blank
}

TEST(TrajectoryReader, ByteOrderMarkCarriageReturnsAndBlankLinesAreNoContent) {
    const std::string line{kOneTurn.substr(0, kOneTurn.size() - 1)};
    const auto file = read("\xEF\xBB\xBF" + line + "\r\n\r\n  \n" + line);
    EXPECT_THAT(file.trajectories,
                ElementsAre(read(line).trajectories[0], read(line).trajectories[0]));
}

TEST(TrajectoryReader, GzipIsToldByItsFirstBytesNotByItsName) {
    EXPECT_EQ(read(gzip(kOneTurn), "t.jsonl").trajectories, read(kOneTurn).trajectories);
    EXPECT_EQ(read(kOneTurn, "t.jsonl.gz").trajectories, read(kOneTurn).trajectories);
}

TEST(TrajectoryReader, LineLongerThanTheReadBufferIsOneRecord) {
    std::string line = R"({"schema":"trajectory/1","turns":[)";
    for (int i = 0; i < 10'000; ++i) line += R"({"append_tokens":1,"output_tokens":2},)";
    line.back() = ']';
    const auto file = read(line + "}\n" + std::string{kOneTurn});
    ASSERT_THAT(file.trajectories, SizeIs(2));
    EXPECT_EQ(total_tokens(file.trajectories[0]), 30'000_tok);  // 10,000 x (1 + 2)
}

TEST(TrajectoryReader, KnownKeysThatAreNotUsedPassSilently) {
    const auto file = read(
        R"({"schema":"trajectory/1.2","source":"a","meta":{"b":1},"model":"m","block_size":64,)"
        R"("hash_scope":"local","turns":[{"append_tokens":1,"output_tokens":1,)"
        R"("hash_ids":[1,2],"spawn":["x"],"obs":{"ttft_s":1.0}}]})");
    EXPECT_THAT(file.warnings, IsEmpty());
}

TEST(TrajectoryReader, UnknownKeyIsSaidOnceWithItsFirstPlace) {
    const auto file = read(std::string{kOneTurn} +
                           R"({"colour":1,"turns":[{"append_tokens":1,"output_tokens":1,"x":2}]})"
                           "\n"
                           R"({"colour":2,"turns":[{"append_tokens":1,"output_tokens":1}]})");
    EXPECT_THAT(file.warnings, ElementsAre(HasSubstr("t.jsonl:2: colour: unknown key"),
                                           HasSubstr("t.jsonl:2: turns[0].x: unknown key")));
}

TEST(TrajectoryReader, MissingFileIsNamed) {
    EXPECT_THROW(read_trajectories("/nowhere/t.jsonl"), InputError);
    try {
        read_trajectories("/nowhere/t.jsonl");
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("/nowhere/t.jsonl: the file cannot be opened"));
    }
}

TEST(TrajectoryReader, DirectoryCannotBeRead) {
    EXPECT_THROW(read_trajectories("/tmp"), InputError);
}

TEST(TrajectoryReader, FileWithoutTrajectoriesIsRefused) {
    EXPECT_THAT(refusal(read_trajectories, "t.jsonl", "\n\r\n"),
                HasSubstr("t.jsonl: has no trajectories"));
}

// Cut at every length: never silence. A single byte is no gzip header yet, so it passes as text,
// which is then no JSON; without the last 4 bytes the line is whole, but not the trailer after it.
TEST(TrajectoryReader, CutOffGzipIsRefusedWhereverItIsCut) {
    const std::string whole = gzip(kOneTurn);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_THAT(refusal(read_trajectories, "t.jsonl.gz", whole.substr(0, size)),
                    HasSubstr("t.jsonl.gz"));
    }
    EXPECT_THAT(refusal(read_trajectories, "t.jsonl.gz", whole.substr(0, 40)),
                HasSubstr("t.jsonl.gz:1: the gzip data is cut off"));
    EXPECT_THAT(refusal(read_trajectories, "t.jsonl.gz", whole.substr(0, whole.size() - 4)),
                HasSubstr("t.jsonl.gz:2: the gzip data is cut off"));
}

TEST(TrajectoryReader, DamagedGzipIsRefused) {
    std::string bytes = gzip(kOneTurn);
    bytes[bytes.size() - 6] ^= 1;  // in the CRC, the first four of the last eight bytes
    EXPECT_THAT(refusal(read_trajectories, "t.jsonl.gz", bytes),
                HasSubstr("t.jsonl.gz:1: the gzip data is damaged"));
}

// The column is that of the first byte that cannot be: `}` after the comma is the 13th.
TEST(TrajectoryReader, BrokenJsonNamesLineAndColumn) {
    EXPECT_THAT(refusal_of(R"({"schema":1,})"),
                AllOf(HasSubstr("t.jsonl:2: "), HasSubstr("not JSON from column 13")));
    EXPECT_THAT(refusal_of("[1,2]"), AllOf(HasSubstr("t.jsonl:2: "), HasSubstr("no JSON object")));
    EXPECT_THAT(refusal_of("{\"session_id\":\"\xFF\"}"), HasSubstr("t.jsonl:2: is not JSON"));
}

TEST(TrajectoryReader, SchemaIsRequiredInTheFirstRecord) {
    EXPECT_THAT(refusal(read_trajectories, "t.jsonl",
                        R"({"turns":[{"append_tokens":1,"output_tokens":1}]})"),
                AllOf(HasSubstr("t.jsonl:1: schema: is missing"), HasSubstr("trajectory/1")));
}

TEST(TrajectoryReader, AnotherMajorVersionIsRefusedInAnyRecord) {
    EXPECT_THAT(refusal_of(R"({"schema":"trajectory/2"})"),
                AllOf(HasSubstr("t.jsonl:2: schema: \"trajectory/2\""), HasSubstr("trajectory/1")));
    EXPECT_THAT(refusal_of(R"({"schema":"trajectory/10"})"), HasSubstr("t.jsonl:2: schema: "));
}

TEST(TrajectoryReader, TurnsAreNeeded) {
    EXPECT_THAT(refusal_of(R"({"session_id":"a"})"), HasSubstr("t.jsonl:2: turns: there are none"));
    EXPECT_THAT(refusal_of(R"({"turns":[]})"), HasSubstr("t.jsonl:2: turns: there are none"));
    EXPECT_THAT(refusal_of(R"({"turns":5})"), HasSubstr("t.jsonl:2: turns: 5 is no list"));
    EXPECT_THAT(refusal_of(R"({"turns":[5]})"),
                HasSubstr("t.jsonl:2: turns[0]: 5 is no JSON object"));
}

/// Fields of one turn that are refused, and what the message must say.
struct BadTurn {
    const char* name;
    const char* fields;
    const char* message;
};

class TrajectoryReaderBadTurn : public ::testing::TestWithParam<BadTurn> {};

TEST_P(TrajectoryReaderBadTurn, IsRefusedWithItsPlace) {
    EXPECT_THAT(refusal_of_turn(GetParam().fields),
                AllOf(HasSubstr("t.jsonl:2: turns[0]."), HasSubstr(GetParam().message)));
}

// 2^31 = 2,147,483,648 is the largest count; 2^64 - 1 must not wrap to -1, nor 2^64 to a double.
INSTANTIATE_TEST_SUITE_P(
    Fields, TrajectoryReaderBadTurn,
    ::testing::Values(
        BadTurn{"MissingAppend", R"("output_tokens":1)", "append_tokens: is missing"},
        BadTurn{"MissingOutput", R"("append_tokens":1)", "output_tokens: is missing"},
        BadTurn{"Negative", R"("append_tokens":-1,"output_tokens":1)", "append_tokens: -1 is out"},
        BadTurn{"Fraction", R"("append_tokens":1.5,"output_tokens":1)",
                "append_tokens: 1.5 is no token count"},
        BadTurn{"Text", R"("append_tokens":1,"output_tokens":"7")",
                "output_tokens: \"7\" is no token count"},
        BadTurn{"Huge", R"("append_tokens":2147483649,"output_tokens":1)",
                "append_tokens: 2147483649 is out of range; an integer from 0 to 2147483648 is"},
        BadTurn{"Wrapping", R"("append_tokens":18446744073709551615,"output_tokens":1)",
                "append_tokens: 18446744073709551615 is out of range"},
        BadTurn{"BeyondIntegers", R"("append_tokens":18446744073709551616,"output_tokens":1)",
                "append_tokens: "},
        BadTurn{"KeepsTooMuch", R"("append_tokens":1,"output_tokens":1,"keep_tokens":1)",
                "keep_tokens: 1 is more than the context; 0 to 0 tokens can be kept here"},
        BadTurn{"NegativeKeep", R"("append_tokens":1,"output_tokens":1,"keep_tokens":-2)",
                "keep_tokens: -2 is out of range"},
        BadTurn{"NegativeLatency", R"("append_tokens":1,"output_tokens":1,"tool_latency_s":-0.1)",
                "tool_latency_s: -0.1 is out of range"},
        BadTurn{"LongLatency", R"("append_tokens":1,"output_tokens":1,"tool_latency_s":1000001)",
                "tool_latency_s: 1000001 is out of range"},
        BadTurn{"TextLatency", R"("append_tokens":1,"output_tokens":1,"tool_latency_s":"1 s")",
                "tool_latency_s: \"1 s\" is no time"}),
    [](const auto& bad) { return bad.param.name; });

TEST(TrajectoryReader, NumberBeyondDoublesIsRefused) {
    const std::string message =
        refusal_of_turn(R"("append_tokens":1,"output_tokens":1,"tool_latency_s":1e999)");
    EXPECT_THAT(message, HasSubstr("t.jsonl:2: a number is too large"));
}

// Before turn 1 stand 3 + 4 = 7 tokens.
TEST(TrajectoryReader, KeepIsMeasuredAgainstThePreviousPromptAndOutput) {
    const std::string turns = R"({"turns":[{"append_tokens":3,"output_tokens":4},)"
                              R"({"append_tokens":1,"output_tokens":1,"keep_tokens":)";
    EXPECT_EQ(refusal_of(turns + "7}]}"), "");
    EXPECT_THAT(refusal_of(turns + "8}]}"),
                HasSubstr("t.jsonl:2: turns[1].keep_tokens: 8 is more than the context; 0 to 7"));
}

TEST(TrajectoryReader, PrefixAndNamesAreCheckedToo) {
    EXPECT_THAT(refusal_of(R"({"prefix":[{"group":"a","tokens":-1}]})"),
                HasSubstr("t.jsonl:2: prefix[0].tokens: -1 is out of range"));
    EXPECT_THAT(refusal_of(R"({"prefix":[{"tokens":1}]})"),
                HasSubstr("t.jsonl:2: prefix[0].group: is missing"));
    EXPECT_THAT(refusal_of(R"({"session_id":[1]})"),
                HasSubstr("t.jsonl:2: session_id: [1] is no name"));
    EXPECT_THAT(refusal_of(R"({"arrival_s":-1})"), HasSubstr("t.jsonl:2: arrival_s: -1 is out"));
    EXPECT_THAT(refusal_of(R"({"turns":[{"append_tokens":1,"output_tokens":1}],"join":"soon"})"),
                HasSubstr("t.jsonl:2: join: \"soon\" is unknown"));
}

TEST(TrajectoryReader, LongValueIsShortenedInTheMessage) {
    const std::string message =
        refusal_of_turn(R"("append_tokens":")" + std::string(5000, 'x') + '"');
    EXPECT_LT(message.size(), 300U);
}

// Whatever one wrong byte does, the reader returns or names the file.
RC_GTEST_PROP(TrajectoryReader, OneWrongByteNeverCrashesTheReader, ()) {
    std::string bytes{kOneTurn};
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    const std::string message = refusal(read_trajectories, "t.jsonl", bytes);
    RC_ASSERT(message.empty() || message.find("t.jsonl") != std::string::npos);
}

// Ten sessions; trace_0012 opens with tools 11,899, system 2,767 and an append of 495.
TEST(TrajectoryReader, SampleOfTheQuickStartIsWithin128K) {
    const auto file = read_trajectories("traces/samples/weka.jsonl");
    EXPECT_THAT(file.trajectories, SizeIs(10));
    EXPECT_THAT(file.warnings, IsEmpty());
    EXPECT_EQ(turn_lengths(file.trajectories[0])[0].prompt, 15'161_tok);
    for (const Trajectory& trajectory : file.trajectories) {
        EXPECT_EQ(cut_to(trajectory, 131'072_tok), trajectory);
    }
}

}  // namespace
}  // namespace dualpath
