// dualpath capacity from outside: the load it finds meets the SLO, a tenth more does not.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace dualpath::test {
namespace {

using nlohmann::json;

constexpr const char* quick = "scenarios/quickstart.yaml";

bool meets(const Folder& folder, const std::string& arguments) {
    const Said said = run_program(
        folder, "run " + arguments + " --json --no-event-log --out " + (folder / "run").string());
    EXPECT_EQ(said.exit, 0) << said.err;
    return json::parse(said.out)["slo_met"]["all"].get<bool>();
}

TEST(Capacity, AgentsFoundMeetTheSloAndATenthMoreDoNot) {
    const Folder folder;
    const std::string slo = "--slo ttft_s.mean=1";
    const Said said =
        run_program(folder, std::string{"capacity "} + quick +
                                " --by agents --set workload.agents=32 --json " + slo);
    ASSERT_EQ(said.exit, 0) << said.err;
    const json found = json::parse(said.out);
    EXPECT_EQ(found["binding"], json::array({"ttft_s.mean"}));
    const int agents = found["capacity_agents"].get<int>();
    const auto with = [&](int n) { return std::string{quick} + " --agents " + std::to_string(n); };
    EXPECT_TRUE(meets(folder, with(agents) + " " + slo));
    EXPECT_FALSE(meets(folder, with(agents + (agents + 9) / 10) + " " + slo));
}

TEST(Capacity, RateFoundIsTheHighestProbeThatMet) {
    const Folder folder;
    const Said said =
        run_program(folder, std::string{"capacity "} + quick +
                                " --from 0.4 --to 3.2 --tolerance 0.2 --slo paper --json");
    ASSERT_EQ(said.exit, 0) << said.err;
    const json found = json::parse(said.out);
    double highest_met = 0, lowest_missed = 1e9;
    for (const json& probe : found["probes"]) {
        const double load = probe["load"].get<double>();
        if (probe["met"].get<bool>())
            highest_met = std::max(highest_met, load);
        else
            lowest_missed = std::min(lowest_missed, load);
    }
    EXPECT_EQ(found["capacity_agents_per_second"], highest_met);
    EXPECT_LT(highest_met, lowest_missed);
    EXPECT_LE(lowest_missed, highest_met * 1.2);
}

TEST(Capacity, BadUsageIsRefusedWithWhatIsMeant) {
    const Folder folder;
    const auto refused = [&](const std::string& arguments, const std::string& word) {
        const Said said = run_program(folder, "capacity " + arguments);
        EXPECT_EQ(said.exit, 2) << arguments;
        EXPECT_EQ(said.out, "") << arguments;
        EXPECT_NE(said.err.find(word), std::string::npos) << said.err;
    };
    const std::string scenario = quick;
    refused(scenario + " --slo tftt_s.mean=4", "did you mean 'ttft_s'");
    refused(scenario + " --slo ttft_s.median=4", "mean, p50, p90, p99");
    refused(scenario + " --set slo=papr", "did you mean 'paper'");
    refused(scenario + " --by agnets", "rate, agents");
    refused(scenario + " --from 2 --to 1", "--from");
    refused(scenario + " --by agents --from 0.5", "whole number");
    refused(scenario + " --seeds 0", "--seeds");
}

TEST(Capacity, NoLoadThatMeetsIsAFailedCheck) {
    const Folder folder;
    const Said said =
        run_program(folder, std::string{"capacity "} + quick +
                                " --by agents --from 1 --to 2 --slo ttft_s.mean=1e-6");
    EXPECT_EQ(said.exit, 1) << said.err;
    EXPECT_NE(said.out.find("no load tried meets the SLO"), std::string::npos) << said.out;
}

}  // namespace
}  // namespace dualpath::test
