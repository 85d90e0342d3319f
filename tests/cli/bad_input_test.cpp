// What a user gets wrong is refused: file, line, field, what is allowed; exit 2; nothing written.
#include <vector>

#include "tests/cli/program.h"

namespace dualpath::test {
namespace {

struct Mistake {
    std::string name;
    std::string yaml;                ///< laid over the quick start
    std::vector<std::string> words;  ///< that the message must hold
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.name; }

class BadScenario : public testing::TestWithParam<Mistake> {};

TEST_P(BadScenario, IsRefusedWithItsPlace) {
    const Folder folder;
    const std::string base =
        "base: " + std::filesystem::absolute("scenarios/quickstart.yaml").string() + "\n";
    const std::string file = folder.write("bad.yaml", base + GetParam().yaml);
    const auto out = folder / "run";
    const Said said = run_program(folder, "run " + file + " --out " + out.string());
    EXPECT_EQ(said.exit, 2) << said.err;
    EXPECT_EQ(said.out, "");
    EXPECT_FALSE(std::filesystem::exists(out));
    EXPECT_NE(said.err.find("dualpath: "), std::string::npos) << said.err;
    for (const std::string& word : GetParam().words) {
        EXPECT_NE(said.err.find(word), std::string::npos) << "no '" << word << "' in: " << said.err;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Quickstart, BadScenario,
    testing::Values(
        Mistake{
            "typo_in_a_section", "nodee:\n  snic: 400 Gb/s\n", {"bad.yaml:2", "nodee", "'node'"}},
        Mistake{"typo_in_a_key", "node:\n  snik: 400 Gb/s\n", {"bad.yaml:3", "snik", "'snic'"}},
        Mistake{"rate_without_unit",
                "node:\n  snic: 400\n",
                {"bad.yaml:3", "node.snic", "400 Gb/s", "50 GB/s"}},
        Mistake{
            "bytes_where_a_rate_is_meant", "node:\n  dram: 500 GB\n", {"bad.yaml:3", "node.dram"}},
        Mistake{"lower_case_unit", "node:\n  snic: 400 gb/s\n", {"bad.yaml:3", "node.snic"}},
        Mistake{"negative_rate", "node:\n  dram: -5 GB/s\n", {"bad.yaml:3", "node.dram"}},
        Mistake{"zero_rate", "node:\n  cnic: 0 Gb/s\n", {"bad.yaml:3", "node.cnic"}},
        Mistake{"unknown_model", "model: gpt-9\n", {"bad.yaml:2", "model", "gpt-9", "ds-27b"}},
        Mistake{"unknown_gpu", "node:\n  gpu: h900\n", {"bad.yaml:3", "h900", "h800-sxm"}},
        Mistake{"unknown_system", "system: dualpth\n", {"bad.yaml:2", "system", "dualpath"}},
        Mistake{"unknown_policy",
                "control:\n  read_path: longest\n",
                {"bad.yaml:3", "control.read_path", "shorter_queue"}},
        Mistake{"zero_nodes",
                "cluster: {prefill_nodes: 0, decode_nodes: 1}\n",
                {"bad.yaml:2", "cluster.prefill_nodes"}},
        Mistake{"fraction_of_a_node",
                "cluster: {prefill_nodes: 1.5, decode_nodes: 1}\n",
                {"bad.yaml:2", "cluster.prefill_nodes"}},
        Mistake{"ep_that_does_not_divide",
                "parallelism: {prefill: {ep: 3}}\n",
                {"parallelism.prefill.ep", "3"}},
        Mistake{"slo_with_a_typo", "slo: tftt_s.mean=4\n", {"bad.yaml:2", "slo", "'ttft_s'"}},
        Mistake{"no_agents", "workload: {agents: 0}\n", {"bad.yaml:2", "workload.agents"}},
        Mistake{
            "word_for_a_number", "workload: {agents: many}\n", {"bad.yaml:2", "workload.agents"}},
        Mistake{"missing_trace",
                "workload: {trace: nowhere.jsonl}\n",
                {"bad.yaml:2", "workload.trace", "nowhere.jsonl"}},
        Mistake{"negative_time",
                "workload: {tool_latency: -1 s}\n",
                {"bad.yaml:2", "workload.tool_latency"}},
        Mistake{"time_without_unit",
                "control: {compute_quota: 300}\n",
                {"bad.yaml:2", "control.compute_quota", "300 ms"}},
        Mistake{"max_len_nobody_meets", "workload: {max_len: 10 tokens}\n", {"workload.max_len"}},
        Mistake{"poisson_without_a_rate",
                "workload: {arrivals: poisson}\n",
                {"workload.agents_per_second"}},
        Mistake{"nothing_in_a_value", "node:\n  snic:\n", {"bad.yaml:3", "node.snic"}},
        Mistake{"list_for_a_map", "node: [1, 2]\n", {"bad.yaml:2", "node"}},
        Mistake{"key_twice", "seed: 1\nseed: 2\n", {"bad.yaml:3", "seed"}},
        Mistake{"broken_yaml", "node: {snic: \n", {"bad.yaml"}},
        Mistake{"kv_that_does_not_fit", "node: {host_buffer: 1 MB}\n", {"node.host_buffer", "GB"}},
        Mistake{"weights_that_do_not_fit",
                "model: deepseek-v3.2\n",
                {"parallelism.prefill.ep", "80.0 GB", "weights"}}),
    [](const auto& instance) { return instance.param.name; });

TEST(BadUsage, NamesTheNearestCommandAndOption) {
    const Folder folder;
    Said said = run_program(folder, "rum scenarios/quickstart.yaml");
    EXPECT_EQ(said.exit, 2);
    EXPECT_NE(said.err.find("did you mean 'run'"), std::string::npos) << said.err;
    said = run_program(folder, "run scenarios/quickstart.yaml --agnets 3");
    EXPECT_EQ(said.exit, 2);
    EXPECT_NE(said.err.find("--agents"), std::string::npos) << said.err;
    said = run_program(folder, "run");
    EXPECT_EQ(said.exit, 2);
    EXPECT_NE(said.err.find("usage"), std::string::npos) << said.err;
}

TEST(BadUsage, MissingScenarioIsNamed) {
    const Folder folder;
    const Said said = run_program(folder, "run " + (folder / "nowhere.yaml").string());
    EXPECT_EQ(said.exit, 2);
    EXPECT_NE(said.err.find("nowhere.yaml"), std::string::npos) << said.err;
}

TEST(BadUsage, AssignmentIsNamedAsItsPlace) {
    const Folder folder;
    const Said said =
        run_program(folder, "run scenarios/quickstart.yaml --set node.snic=400 --out " +
                                (folder / "r").string());
    EXPECT_EQ(said.exit, 2);
    EXPECT_NE(said.err.find("--set: node.snic"), std::string::npos) << said.err;
}

TEST(BadTrace, BrokenLineIsNamed) {
    const Folder folder;
    const std::string trace = folder.write(
        "broken.jsonl",
        "{\"schema\":\"trajectory/1\",\"turns\":[{\"append_tokens\":10,\"output_tokens\":1}]}\n"
        "{\"turns\": [\n");
    const auto out = folder / "run";
    const Said said =
        run_program(folder, "run scenarios/quickstart.yaml --set workload.trace=" + trace +
                                " --out " + out.string());
    EXPECT_EQ(said.exit, 2);
    EXPECT_NE(said.err.find("broken.jsonl:2"), std::string::npos) << said.err;
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(BadOutput, FolderThatCannotBeMadeIsNamed) {
    const Folder folder;
    const Said said = run_program(folder, "run scenarios/quickstart.yaml --out /proc/nowhere");
    EXPECT_EQ(said.exit, 2) << said.err;
    EXPECT_NE(said.err.find("/proc/nowhere"), std::string::npos) << said.err;
}

TEST(BadOutput, FolderOfSomebodyElseIsLeftAlone) {
    const Folder folder;
    std::filesystem::create_directories(folder / "home");
    std::ofstream{folder / "home" / "thesis.txt"} << "years of work";
    const Said said =
        run_program(folder, "run scenarios/quickstart.yaml --out " + (folder / "home").string());
    EXPECT_EQ(said.exit, 2) << said.err;
    EXPECT_EQ(text_of(folder / "home" / "thesis.txt"), "years of work");
}

}  // namespace
}  // namespace dualpath::test
