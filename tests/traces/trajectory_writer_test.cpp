// What is written reads back equal.
#include "traces/trajectory_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <sstream>
#include <string>

#include "tests/traces/temporary_file.h"
#include "traces/trajectory_reader.h"

namespace dualpath {
namespace {

using namespace literals;

std::string written(const std::vector<Trajectory>& trajectories) {
    std::ostringstream out;
    write_trajectories(out, trajectories);
    return out.str();
}

TEST(TrajectoryWriter, LeavesOutWhatIsNotThere) {
    Trajectory trajectory;
    trajectory.session_id = "a";
    trajectory.turns = {{3_tok, 4_tok, std::chrono::milliseconds{1500}, {}}};
    EXPECT_EQ(written({trajectory}),
              R"({"schema":"trajectory/1","session_id":"a","turns":[)"
              R"({"append_tokens":3,"output_tokens":4,"tool_latency_s":1.5}]})"
              "\n");
}

TEST(TrajectoryWriter, NameThatIsNotUtf8StillGivesReadableJson) {
    Trajectory trajectory;
    trajectory.session_id = "a\xFF";
    trajectory.turns = {{3_tok, 4_tok, {}, {}}};
    const TemporaryFile file{"t.jsonl", written({trajectory})};
    EXPECT_EQ(read_trajectories(file.path()).trajectories[0].session_id, "a\xEF\xBF\xBD");
}

/// Up to 11.6 days, in whole nanoseconds.
rc::Gen<std::optional<Duration>> any_time() {
    return rc::gen::map(rc::gen::maybe(rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'001)),
                        [](const rc::Maybe<std::int64_t>& time) -> std::optional<Duration> {
                            if (!time) return std::nullopt;
                            return std::chrono::nanoseconds{*time};
                        });
}

/// Any text that is valid UTF-8.
std::string any_name() { return *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)); }

std::optional<std::string> any_optional_name() {
    return *rc::gen::arbitrary<bool>() ? std::optional{any_name()} : std::nullopt;
}

Tokens any_tokens(Tokens most) { return {*rc::gen::inRange<std::int64_t>(0, most.value + 1)}; }

Trajectory any_trajectory() {
    Trajectory trajectory;
    trajectory.session_id = any_name();
    trajectory.arrival = *any_time();
    trajectory.group = any_optional_name();
    trajectory.parent = any_optional_name();
    if (*rc::gen::arbitrary<bool>()) trajectory.join = "background";
    const int segments = *rc::gen::inRange(0, 3);
    for (int i = 0; i < segments; ++i) {
        trajectory.prefix.push_back({any_name(), any_tokens(20'000_tok)});
    }
    Tokens context = prefix_tokens(trajectory);
    const int turns = *rc::gen::inRange(1, 5);
    for (int i = 0; i < turns; ++i) {
        Turn turn{any_tokens(2'147'483'648_tok), any_tokens(10'000_tok), *any_time(), {}};
        const Tokens most = std::min(context, 2'147'483'648_tok);
        if (*rc::gen::arbitrary<bool>()) turn.keep = any_tokens(most);
        context = lengths_after(context, turn).end;
        trajectory.turns.push_back(turn);
    }
    return trajectory;
}

RC_GTEST_PROP(TrajectoryWriter, ReadsBackEqual, ()) {
    std::vector<Trajectory> trajectories;
    const int count = *rc::gen::inRange(1, 4);
    for (int i = 0; i < count; ++i) trajectories.push_back(any_trajectory());
    const TemporaryFile file{"t.jsonl", written(trajectories)};
    const TrajectoryFile read = read_trajectories(file.path());
    RC_ASSERT(read.trajectories == trajectories);
    RC_ASSERT(read.warnings.empty());
}

}  // namespace
}  // namespace dualpath
