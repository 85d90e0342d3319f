// The summary: all promised keys, no NaN, and a table that fits a screen.
#include "analysis/summary.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/analysis/seam_feed.h"

namespace dualpath {
namespace {

using Json = nlohmann::ordered_json;

RunFacts facts() {
    return {.scenario = "quickstart",
            .scenario_hash = "00ff",
            .seed = 7,
            .version = "0.1.0",
            .calibration = "default",
            .system = "dualpath",
            .agents = 1,
            .events = 9,
            .flows = 5,
            .events_hash = "0123456789abcdef",
            .complete = true};
}

Json one_turn() {
    Metrics m{{.columns = {{"storage_read", "storage_read", Role::prefill, 100e9},
                           {"prefill0.snic_rx", "snic_rx", Role::prefill, 50e9}},
               .engines_by_group = {1, 1}}};
    SeamFeed feed{&m};
    tell_one_turn(feed, {0, 1}, {0}, 0);
    m.on_window(at_s(0), at_s(1), std::vector<ResourceUse>{{25e9, 0}, {25e9, 0.5}});
    return summary(m, facts());
}

/// The keys of cli.md, as accept.py asks for them.
const char* const promised[] = {"/scenario",
                                "/seed",
                                "/version",
                                "/calibration",
                                "/system",
                                "/agents",
                                "/requests",
                                "/jct_s",
                                "/trajectory_s/mean",
                                "/trajectory_s/p50",
                                "/trajectory_s/p90",
                                "/trajectory_s/p99",
                                "/trajectory_s/max",
                                "/ttft_s/mean",
                                "/ttft_s/p50",
                                "/ttft_s/p90",
                                "/ttft_s/p99",
                                "/ttst_s/mean",
                                "/ttst_s/p99",
                                "/tpot_s/mean",
                                "/tpot_s/p99",
                                "/ttft_parts_s/queue",
                                "/ttft_parts_s/allocate",
                                "/ttft_parts_s/read",
                                "/ttft_parts_s/prefill",
                                "/agents_per_second",
                                "/prompt_tokens_per_s",
                                "/output_tokens_per_s",
                                "/hit_rate",
                                "/storage_read_bytes",
                                "/storage_write_bytes",
                                "/snic_read_Bps/prefill",
                                "/snic_read_Bps/decode",
                                "/snic_max_over_avg",
                                "/attention_max_over_avg",
                                "/utilisation/snic/prefill",
                                "/utilisation/snic/decode",
                                "/utilisation/cnic_read/prefill",
                                "/utilisation/cnic_write/decode",
                                "/utilisation/dram/prefill",
                                "/utilisation/gpu/decode",
                                "/goodput",
                                "/verdict",
                                "/slo",
                                "/slo_met/all",
                                "/slo_met/ttft_s.mean",
                                "/binding_resource",
                                "/events",
                                "/flows",
                                "/events_hash"};

TEST(Summary, HasThePromisedKeys) {
    const Json json = one_turn();
    for (const char* key : promised) {
        const Json::json_pointer pointer{key};
        ASSERT_TRUE(json.contains(pointer)) << key;
        EXPECT_FALSE(json[pointer].is_null()) << key;
    }
    EXPECT_EQ(json["ttft_s"]["mean"], 12.0);
    EXPECT_EQ(json["hit_rate"], 0.5);
    EXPECT_EQ(json["hit_rate_ideal"], 0.6);
    EXPECT_EQ(json["storage_read_bytes"], 25'000'000'000);
    EXPECT_EQ(json["utilisation"]["snic"]["prefill"], 0.5);
    EXPECT_EQ(json["time_at_limit"]["snic"]["prefill"], 0.5);
    EXPECT_EQ(json["verdict"], "BACKLOGGED");
    EXPECT_EQ(json["slo"], "ttft_s.mean=4,tpot_s.mean=0.05");
    EXPECT_EQ(json["slo_met"]["all"], false);
    EXPECT_TRUE(json["steady"].is_null());  // a closed loop has no steady part
    EXPECT_TRUE(json["steady_state_s"].is_null());
    double parts = 0;
    for (const auto& [name, mean] : json["ttft_parts_s"].items()) parts += mean.get<double>();
    EXPECT_DOUBLE_EQ(parts, 12);
}

TEST(Summary, IsTheSameTextForTheSameRun) { EXPECT_EQ(one_turn().dump(), one_turn().dump()); }

TEST(Summary, OfNothingIsNullOrZeroAndNeverNan) {
    const Metrics nothing{{}};
    const Json json = summary(nothing, {});
    EXPECT_EQ(json.dump().find("nan"), std::string::npos);
    EXPECT_TRUE(json["ttft_s"]["mean"].is_null());
    EXPECT_TRUE(json["snic_max_over_avg"].is_null());
    EXPECT_EQ(json["hit_rate"], 0.0);
    EXPECT_EQ(json["binding_resource"], "none");
    EXPECT_FALSE(table(json).empty());
}

TEST(Summary, TableFitsAScreen) {
    const std::string text = table(one_turn());
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 37);
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
    for (const char* word : {"JCT 18.00 s", "TTFT", "TPOT", "hit rate 50.0 %", "25.00 GB",
                             "binding resource", "BACKLOGGED"}) {
        EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
    }
    EXPECT_EQ(text.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace dualpath
