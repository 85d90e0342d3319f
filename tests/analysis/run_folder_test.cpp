// The run folder: whole lines, whole JSON, and nobody else's files touched.
#include "analysis/run_folder.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "analysis/summary.h"
#include "base/input_error.h"
#include "tests/analysis/seam_feed.h"

namespace dualpath {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public testing::Test {
protected:
    RunFolderTest() {
        std::string pattern = (fs::temp_directory_path() / "run_folder_XXXXXX").string();
        parent_ = mkdtemp(pattern.data());
    }
    ~RunFolderTest() override { fs::remove_all(parent_); }

    RunFolderInputs inputs() const {
        return {.directory = parent_ / "run",
                .scenario_yaml = "seed: 1\n",
                .calibration_yaml = "gemm: 0.7\n",
                .columns = {{"storage_read", "storage_read", Role::prefill, 100},
                            {"prefill0.snic_rx", "snic_rx", Role::prefill, 50},
                            {"prefill0.0.gpu", "gpu", Role::prefill, 1},
                            {"prefill0.1.gpu", "gpu", Role::prefill, 1},
                            {"decode0.0.gpu", "gpu", Role::decode, 1}}};
    }
    std::string text(const std::string& file) const {
        std::ifstream in{parent_ / "run" / file, std::ios::binary};
        std::ostringstream all;
        all << in.rdbuf();
        return all.str();
    }

    fs::path parent_;
};

/// What a whole run leaves, with a kill (no finish) before its end.
void half_a_run(RunFolder& folder) {
    Metrics metrics{{.engines_by_group = {1, 1},
                     .ended = [&](const RequestRecord& record) { folder.add(record); }}};
    SeamFeed feed{&metrics, folder.event_log()};
    tell_one_turn(feed, {3, 9}, {2}, 0.25);
    folder.checkpoint(summary(metrics, {}));
}

TEST_F(RunFolderTest, WritesALinePerEndedRequest) {
    RunFolder folder{inputs()};
    half_a_run(folder);
    std::istringstream lines{text("requests.csv")};
    std::string header, line;
    std::getline(lines, header);
    std::getline(lines, line);
    EXPECT_EQ(line,
              "3.9,2,0,finished,1,prefill,0,1,100,60,50,4,0.25,1.25,2.25,3.25,7.25,12.25,15.25,"
              "18.25");
    EXPECT_EQ(std::count(header.begin(), header.end(), ','),
              std::count(line.begin(), line.end(), ','));
}

TEST_F(RunFolderTest, LeavesAValidFolderWhenKilled) {
    {
        RunFolder folder{inputs()};
        half_a_run(folder);
    }
    const auto json = nlohmann::json::parse(text("summary.json"));
    EXPECT_EQ(json["complete"], false);
    EXPECT_EQ(json["requests"], 1);
    EXPECT_EQ(text("scenario.yaml"), "seed: 1\n");
    std::istringstream log{text("events.log")};
    EventLogReader reader{log, "events.log"};
    while (reader.next()) {
    }
    EXPECT_EQ(reader.records(), 9U);
    EXPECT_FALSE(fs::exists(parent_ / "run" / "host.json"));
}

// 2 s: SNIC 50 B of 2 s x 50 B/s = 0.5; prefill GPUs 1 + 2 of 2 x 2 s = 0.75, 1.5 s a second.
TEST_F(RunFolderTest, SumsWindowsPerNodeOrRole) {
    RunFolder folder{inputs()};
    folder.on_window(at_s(1), at_s(3),
                     std::vector<ResourceUse>{{50, 0}, {50, 1}, {1, 0}, {2, 0}, {0.5, 0}});
    folder.finish({{"format", summary_format}, {"complete", true}}, {{"cpu_s", 1.5}});
    EXPECT_EQ(text("resources.csv"),
              "from_s,to_s,resource,used_per_s,utilisation,at_limit\n"
              "1,3,storage_read,25,0.25,0\n"
              "1,3,prefill0.snic_rx,25,0.5,0.5\n"
              "1,3,prefill.gpu,1.5,0.75,0\n"
              "1,3,decode.gpu,0.25,0.25,0\n");
    EXPECT_EQ(nlohmann::json::parse(text("host.json"))["cpu_s"], 1.5);
    EXPECT_EQ(nlohmann::json::parse(text("summary.json"))["complete"], true);
}

TEST_F(RunFolderTest, RefusesAForeignFolderAndLeavesItAlone) {
    fs::create_directory(parent_ / "run");
    std::ofstream{parent_ / "run" / "scenario.yaml"} << "mine\n";
    EXPECT_THROW(check_run_folder(parent_ / "run"), InputError);
    EXPECT_THROW(RunFolder{inputs()}, InputError);
    EXPECT_EQ(text("scenario.yaml"), "mine\n");
    std::ofstream{parent_ / "run" / "summary.json"} << "{\"total\": 3}\n";
    EXPECT_THROW(RunFolder{inputs()}, InputError);
    EXPECT_EQ(text("summary.json"), "{\"total\": 3}\n");
}

TEST_F(RunFolderTest, RefusesAFileAsDirectory) {
    std::ofstream{parent_ / "run"} << "a file\n";
    EXPECT_THROW(check_run_folder(parent_ / "run"), InputError);
}

TEST_F(RunFolderTest, OverwritesAFormerRunButKeepsNotes) {
    {
        RunFolder folder{inputs()};
        half_a_run(folder);
        folder.finish({{"format", summary_format}, {"complete", true}}, {{"cpu_s", 1.5}});
    }
    std::ofstream{parent_ / "run" / "notes.txt"} << "good one\n";
    RunFolderInputs again = inputs();
    again.event_log = false;
    RunFolder folder{again};
    EXPECT_EQ(folder.event_log(), nullptr);
    EXPECT_FALSE(fs::exists(parent_ / "run" / "events.log"));
    EXPECT_FALSE(fs::exists(parent_ / "run" / "host.json"));
    EXPECT_EQ(text("notes.txt"), "good one\n");
    EXPECT_EQ(nlohmann::json::parse(text("summary.json"))["complete"], false);
    const std::string requests = text("requests.csv");
    EXPECT_EQ(std::count(requests.begin(), requests.end(), '\n'), 1);
}

TEST(SecondsText, IsExactAndShort) {
    EXPECT_EQ(seconds_text(Instant{}), "0");
    EXPECT_EQ(seconds_text(Instant{Duration{1}}), "0.000000000001");
    EXPECT_EQ(seconds_text(Instant{Duration{1'500'000'000'000}}), "1.5");
    EXPECT_EQ(seconds_text(Instant{Duration{-100'000'000'000}}), "-0.1");
    EXPECT_EQ(seconds_text(Instant{Duration{100'000'000'000'000}}), "100");
}

}  // namespace
}  // namespace dualpath
