// dualpath run and replay from outside: what they print, what they leave, when they are stopped.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace dualpath::test {
namespace {

using nlohmann::json;

json summary_of(const std::filesystem::path& folder) {
    return json::parse(text_of(folder / "summary.json"));
}

TEST(Run, SameSeedGivesTheSameBytes) {
    const Folder folder;
    for (const char* name : {"a", "b"}) {
        const Said said = run_program(
            folder, "run scenarios/quickstart.yaml --quiet --out " + (folder / name).string());
        ASSERT_EQ(said.exit, 0) << said.err;
        EXPECT_EQ(said.out, "");
    }
    for (const char* file : {"summary.json", "requests.csv", "resources.csv", "events.log"}) {
        EXPECT_EQ(text_of(folder / "a" / file), text_of(folder / "b" / file)) << file;
    }
}

TEST(Run, AnotherSeedGivesAnotherRun) {
    const Folder folder;
    for (const char* seed : {"1", "2"}) {
        const Said said =
            run_program(folder, std::string{"run scenarios/quickstart.yaml --quiet --seed "} +
                                    seed + " --out " + (folder / seed).string());
        ASSERT_EQ(said.exit, 0) << said.err;
    }
    EXPECT_NE(summary_of(folder / "1")["events_hash"], summary_of(folder / "2")["events_hash"]);
}

TEST(Run, JsonIsOneObjectAndNothingElse) {
    const Folder folder;
    const Said said = run_program(
        folder, "run scenarios/quickstart.yaml --json --out " + (folder / "r").string());
    ASSERT_EQ(said.exit, 0) << said.err;
    const json summary = json::parse(said.out);
    const auto& parts = summary["ttft_parts_s"];
    const double sum = parts["queue"].get<double>() + parts["allocate"].get<double>() +
                       parts["read"].get<double>() + parts["prefill"].get<double>();
    EXPECT_NEAR(sum, summary["ttft_s"]["mean"].get<double>(), 1e-9);
    EXPECT_TRUE(summary["host"].contains("cpu_s"));
    EXPECT_TRUE(summary["complete"].get<bool>());
}

TEST(Run, BasicIsSlowerThanDualPathAndOracleIsFastest) {
    const Folder folder;
    std::map<std::string, double> jct;
    for (const char* system : {"basic", "dualpath", "oracle"}) {
        const Said said = run_program(
            folder, std::string{"run scenarios/paper/ds27b.yaml --agents 256 --set "
                                "workload.max_len=32K --json --no-event-log --system "} +
                        system + " --out " + (folder / system).string());
        ASSERT_EQ(said.exit, 0) << said.err;
        jct[system] = json::parse(said.out)["jct_s"].get<double>();
    }
    EXPECT_GT(jct["basic"], 1.05 * jct["dualpath"]);
    EXPECT_GT(jct["dualpath"], jct["oracle"]);
}

TEST(Replay, GivesTheSameCommands) {
    const Folder folder;
    ASSERT_EQ(run_program(folder,
                          "run scenarios/quickstart.yaml --quiet --out " + (folder / "r").string())
                  .exit,
              0);
    const Said said = run_program(folder, "replay " + (folder / "r").string());
    EXPECT_EQ(said.exit, 0) << said.err;
    EXPECT_NE(said.out.find("identical commands"), std::string::npos);
}

// The same events under another compute quota: the batches, hence the commands, differ.
TEST(Replay, FindsAnotherScheduler) {
    const Folder folder;
    ASSERT_EQ(run_program(folder,
                          "run scenarios/quickstart.yaml --quiet --out " + (folder / "r").string())
                  .exit,
              0);
    const std::string yaml = text_of(folder / "r" / "scenario.yaml");
    folder.write("r/scenario.yaml", yaml + "\ncontrol: {compute_quota: 5 ms}\n");
    const Said said = run_program(folder, "replay " + (folder / "r").string());
    EXPECT_EQ(said.exit, 1) << said.out;
    EXPECT_NE(said.err.find("event "), std::string::npos) << said.err;
}

// An SNIC at half rate for 50 s of 490: reads take longer, the same each time, and control replays
// from its events alone. What decode engines hide of it need not reach the JCT.
TEST(Faults, SlowTheRunAndReplay) {
    const Folder folder;
    const std::string quick = "run scenarios/quickstart.yaml --quiet --out ";
    ASSERT_EQ(run_program(folder, quick + (folder / "whole").string()).exit, 0);
    const std::string faults =
        " --set 'faults=[{at: 10 s, until: 60 s, node: decode0, snic: 0.5}]'";
    for (const char* name : {"a", "b"}) {
        const Said said = run_program(folder, quick + (folder / name).string() + faults);
        ASSERT_EQ(said.exit, 0) << said.err;
    }
    const json slow = summary_of(folder / "a"), whole = summary_of(folder / "whole");
    EXPECT_GT(slow["ttft_parts_s"]["read"].get<double>(),
              whole["ttft_parts_s"]["read"].get<double>());
    EXPECT_GT(slow["ttft_s"]["mean"].get<double>(), whole["ttft_s"]["mean"].get<double>());
    EXPECT_EQ(text_of(folder / "a" / "summary.json"), text_of(folder / "b" / "summary.json"));
    const Said replayed = run_program(folder, "replay " + (folder / "a").string());
    EXPECT_EQ(replayed.exit, 0) << replayed.err;
}

// Storage at a twentieth for 50 s holds everybody up: no less than a second of it shows in the JCT.
TEST(Faults, SlowStorageDelaysTheEnd) {
    const Folder folder;
    const std::string quick = "run scenarios/quickstart.yaml --quiet --out ";
    ASSERT_EQ(run_program(folder, quick + (folder / "whole").string()).exit, 0);
    const Said said = run_program(folder, quick + (folder / "slow").string() +
                                              " --set 'faults=[{at: 10 s, until: 60 s, "
                                              "storage: 0.05}]'");
    ASSERT_EQ(said.exit, 0) << said.err;
    EXPECT_GT(summary_of(folder / "slow")["jct_s"].get<double>(),
              summary_of(folder / "whole")["jct_s"].get<double>() + 1);
}

// With every decode engine gone for ever nobody can be served: the run says so and ends.
TEST(Faults, RunThatNobodyCanServeEndsAndSaysSo) {
    const Folder folder;
    const Said said = run_program(
        folder, "run scenarios/quickstart.yaml --quiet --out " + (folder / "r").string() +
                    " --set 'faults=[{at: 10 s, node: decode0, lost: true}, "
                    "{at: 20 s, node: decode1, lost: true}]'");
    EXPECT_EQ(said.exit, 1);
    EXPECT_NE(said.err.find("never served"), std::string::npos) << said.err;
    EXPECT_FALSE(summary_of(folder / "r")["complete"].get<bool>());
    EXPECT_EQ(run_program(folder, "replay " + (folder / "r").string()).exit, 0);
}

/// Starts a long run, waits until it has written something, and sends it a signal.
int exit_after(const Folder& folder, int signal) {
    const pid_t child = fork();
    if (child == 0) {
        const std::string out = (folder / "r").string();
        const std::string binary = program();
        freopen((folder / "stderr.txt").c_str(), "w", stderr);
        execl(binary.c_str(), "dualpath", "run", "scenarios/paper/ds660b.yaml", "--agents", "20000",
              "--quiet", "--out", out.c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    for (int i = 0; i < 600; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
        std::error_code none;
        if (std::filesystem::file_size(folder / "r" / "requests.csv", none) > 100'000 && !none)
            break;
    }
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void expect_valid_files(const Folder& folder) {
    const json summary = summary_of(folder / "r");
    EXPECT_FALSE(summary["complete"].get<bool>());
    const std::string requests = text_of(folder / "r" / "requests.csv");
    ASSERT_GT(requests.size(), 1000U);
    EXPECT_EQ(requests.back(), '\n');
    const std::string first = requests.substr(0, requests.find('\n'));
    const std::string last = requests.substr(requests.rfind('\n', requests.size() - 2) + 1);
    EXPECT_EQ(std::count(first.begin(), first.end(), ','),
              std::count(last.begin(), last.end(), ','));
    const Said said = run_program(folder, "replay " + (folder / "r").string());
    EXPECT_EQ(said.exit, 0) << said.err;
}

TEST(Stopped, ByCtrlCExitsWithThreeAndLeavesValidFiles) {
    const Folder folder;
    EXPECT_EQ(exit_after(folder, SIGINT), 3);
    expect_valid_files(folder);
    EXPECT_GT(summary_of(folder / "r")["requests"].get<int>(), 0);
}

TEST(Stopped, ByKillLeavesValidFiles) {
    const Folder folder;
    EXPECT_EQ(exit_after(folder, SIGKILL), 128 + SIGKILL);
    expect_valid_files(folder);
}

// At 1 Kb/s the trace's terabytes would take centuries: the run ends after 30 days and says so.
TEST(Stopped, AnAbsurdlySlowClusterEndsByItself) {
    const Folder folder;
    const Said said = run_program(folder,
                                  "run scenarios/quickstart.yaml --agents 2 --quiet "
                                  "--set 'node.snic=1 Kb/s' --out " +
                                      (folder / "r").string());
    EXPECT_EQ(said.exit, 1);
    EXPECT_NE(said.err.find("30 days"), std::string::npos) << said.err;
    EXPECT_FALSE(summary_of(folder / "r")["complete"].get<bool>());
}

TEST(Help, EveryCommandExplainsItself) {
    const Folder folder;
    for (const char* command : {"help", "--help", "run --help", "replay --help", "help run"}) {
        const Said said = run_program(folder, command);
        EXPECT_EQ(said.exit, 0) << command;
        EXPECT_NE(said.out.find("usage: dualpath"), std::string::npos) << command;
    }
}

}  // namespace
}  // namespace dualpath::test
