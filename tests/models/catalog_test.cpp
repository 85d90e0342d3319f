// The catalog: everything in it loads, and what does not belong there is refused with its place.
#include "models/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "models/llm_reader.h"

namespace dualpath {
namespace {

using namespace std::chrono_literals;
using namespace dualpath::literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::filesystem::path catalog = "models/catalog";

std::string error_of(const std::function<void()>& read) {
    try {
        read();
    } catch (const InputError& error) {
        return error.what();
    }
    return "(no error)";
}

std::string file_text(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream{catalog / file}.rdbuf();
    return text.str();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), with);
}

template <class Read>
std::string read_error(const std::string& text, Read read) {
    return error_of([&] {
        YamlMap yaml = YamlDocument::parse(text, "f.yaml").root();
        read(yaml);
    });
}

/// A file that goes away with the test.
class File {
public:
    explicit File(const std::string& text) {
        const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
        path_ = std::filesystem::temp_directory_path() /
                (std::string{"dualpath_catalog_"} + info->name() + ".yaml");
        std::ofstream{path_} << text;
    }
    ~File() { std::filesystem::remove(path_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    std::string name() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

TEST(Catalog, EveryFileLoadsUnderItsOwnName) {
    for (const auto& name : catalog_names(catalog, CatalogKind::models)) {
        EXPECT_EQ(load_llm(catalog, name).name, name);
    }
    for (const auto& name : catalog_names(catalog, CatalogKind::gpus)) {
        EXPECT_EQ(load_gpu(catalog, name).name, name);
    }
    for (const auto& name : catalog_names(catalog, CatalogKind::nodes)) {
        const NodeFacts node = load_node(catalog, name);
        EXPECT_EQ(node.name, name);
        EXPECT_NO_THROW(load_gpu(catalog, node.gpu)) << name;
    }
    for (const auto& name : catalog_names(catalog, CatalogKind::calibration)) {
        EXPECT_EQ(load_calibration(catalog, name).name, name);
    }
}

TEST(Catalog, HoldsAtLeastTheModelsAndGpusOfThePaperAndItsPeers) {
    EXPECT_THAT(catalog_names(catalog, CatalogKind::models),
                ::testing::IsSupersetOf({"deepseek-v3.2", "ds-27b", "qwen2.5-32b", "llama-3.1-8b",
                                         "deepseek-v3", "qwen3-32b", "llama-3.1-405b", "minimax-m2",
                                         "glm-4.5", "qwen3-235b-a22b", "gpt-oss-120b", "kimi-k2"}));
    EXPECT_THAT(catalog_names(catalog, CatalogKind::gpus),
                ::testing::IsSupersetOf(
                    {"h800-sxm", "h100-sxm", "h200-sxm", "h20", "a100-sxm", "b200-sxm"}));
}

TEST(Catalog, AModelIsFoundByAliasAndByPath) {
    EXPECT_EQ(load_llm(catalog, "ds-660b").name, "deepseek-v3.2");
    EXPECT_EQ(load_llm(catalog, "models/catalog/models/ds-27b.yaml").name, "ds-27b");
}

TEST(Catalog, AnUnknownNameListsTheKnownAndTheNearest) {
    const Place place{"s.yaml", 3, "model"};
    EXPECT_THAT(error_of([&] { load_llm(catalog, "gpt-9", place); }),
                AllOf(StartsWith("s.yaml:3: model: unknown model 'gpt-9'"), HasSubstr("known: "),
                      HasSubstr("deepseek-v3.2"), HasSubstr("ds-660b")));
    EXPECT_THAT(error_of([&] { load_llm(catalog, "ds-66b", place); }),
                HasSubstr("did you mean 'ds-660b'?"));
    EXPECT_THAT(error_of([&] { load_gpu(catalog, "h800"); }), HasSubstr("unknown GPU 'h800'"));
    EXPECT_THAT(error_of([&] { load_node(catalog, "hopper"); }), HasSubstr("hopper-8x400g"));
    EXPECT_THAT(error_of([&] { load_calibration(catalog, "defualt"); }),
                HasSubstr("did you mean 'default'?"));
    EXPECT_THAT(error_of([&] { load_llm(catalog, "./gone.yaml"); }), HasSubstr("no such file"));
    EXPECT_THAT(error_of([&] { load_llm("no/catalog", "x"); }), HasSubstr("DUALPATH_CATALOG"));
}

TEST(Catalog, TheEnvironmentNamesAnotherOne) {
    ::setenv("DUALPATH_CATALOG", "/elsewhere", 1);
    EXPECT_EQ(default_catalog(), "/elsewhere");
    ::unsetenv("DUALPATH_CATALOG");
    EXPECT_TRUE(std::filesystem::exists(default_catalog() / "models"));
}

TEST(Catalog, ThePapersNodeHasEightGpusAndOneStorageNic) {
    const NodeFacts node = load_node(catalog, "hopper-8x400g");
    EXPECT_EQ(node.gpus, 8);
    EXPECT_EQ(node.cnic, 50_GBps);
    EXPECT_EQ(node.snic * node.snic_count, 50_GBps);
    EXPECT_EQ(node.dram, 500_GBps);
    EXPECT_EQ(node.host_buffer, 80_GB);
}

TEST(Catalog, SparsePeaksOfHopperAreRefused) {
    const std::string text = file_text("gpus/h100-sxm.yaml");
    EXPECT_THAT(read_error(replaced(text, "bf16: 989", "bf16: 1979"), read_gpu),
                AllOf(StartsWith("f.yaml:5: bf16: 1979 TFLOPS is more than any hopper chip"),
                      HasSubstr("without sparsity; give the dense peak, at most 1000 TFLOPS")));
    EXPECT_THAT(read_error(replaced(text, "fp8: 1979", "fp8: 3958"), read_gpu),
                HasSubstr("fp8: 3958 TFLOPS is more"));
}

TEST(Catalog, ASectionWithoutItsSourceIsRefused) {
    const std::string model = file_text("models/llama-3.1-8b.yaml");
    EXPECT_THAT(
        read_error(replaced(model, "attention:\n  source:", "attention:\n  sauce:"), read_llm),
        HasSubstr("attention.source: is missing"));
    EXPECT_THAT(read_error(replaced(file_text("gpus/h20.yaml"), "source:", "sauce:"), read_gpu),
                HasSubstr("source: is missing"));
    EXPECT_THAT(read_error(replaced(file_text("nodes/h100-bench.yaml"),
                                    "network:\n  source:", "network:\n  sauce:"),
                           read_node),
                HasSubstr("network.source: is missing"));
    EXPECT_THAT(read_error(replaced(file_text("calibration/ideal.yaml"),
                                    "costs:\n  source:", "costs:\n  sauce:"),
                           read_calibration),
                HasSubstr("costs.source: is missing"));
}

TEST(Catalog, ImpossibleShapesAreRefused) {
    const std::string model = file_text("models/llama-3.1-8b.yaml");
    EXPECT_THAT(read_error(replaced(model, "kv_heads: 8", "kv_heads: 5"), read_llm),
                HasSubstr("attention.kv_heads: does not divide heads"));
    EXPECT_THAT(read_error(replaced(model, "kv_heads: 8", "kv_heads: 64"), read_llm),
                HasSubstr("from 1 to 32, not '64'"));
    EXPECT_THAT(read_error(replaced(model, "dense_layers: 32", "dense_layers: 3"), read_llm),
                HasSubstr("dense_layers must equal layers"));
    EXPECT_THAT(read_error(replaced(model, "kind: gqa", "kind: gpa"), read_llm),
                HasSubstr("'gpa' is none of: mla, gqa; did you mean 'gqa'?"));
    EXPECT_THAT(read_error(replaced(model, "head_dim:", "head_dims:"), read_llm),
                HasSubstr("attention.head_dim: is missing; there is 'head_dims'"));
    EXPECT_THAT(read_error(replaced(file_text("nodes/h100-bench.yaml"), "host_buffer: 80 GB",
                                    "host_buffer: 2 TB"),
                           read_node),
                HasSubstr("host.host_buffer: is larger than the host's memory"));
}

TEST(Calibration, TheDefaultIsTheFeasibilityFit) {
    const Calibration calibration = load_calibration(catalog, "default");
    EXPECT_EQ(calibration.gemm_efficiency, 0.25);
    EXPECT_EQ(calibration.prefill_attention_efficiency, 0.22);
    EXPECT_EQ(calibration.decode_attention_efficiency, 0.11);
    EXPECT_EQ(calibration.prefill_layer_overhead, Duration{1700us});
    EXPECT_EQ(calibration.decode_layer_overhead, Duration{260us});
    EXPECT_EQ(calibration.hbm_reserve, 9_GB);
    EXPECT_EQ(calibration.storage_cost_per_layer_block, Duration{400ns});
    EXPECT_EQ(calibration.client_latency, Duration{200ms});
    EXPECT_FALSE(calibration.provenance.empty());
}

TEST(Calibration, AFileOverridesAFewNumbersOfTheDefault) {
    const File file{
        "name: mine\nprovenance: probe of today\ncompute:\n  source: probe\n"
        "  gemm_efficiency: 0.5\n"};
    const Calibration calibration = load_calibration(catalog, file.name());
    EXPECT_EQ(calibration.name, "mine");
    EXPECT_EQ(calibration.gemm_efficiency, 0.5);
    EXPECT_EQ(calibration.hbm_efficiency, 0.8);  // of the default
}

TEST(Calibration, AnOverridingFileMustNameItsOwnSource) {
    const File file{"name: mine\nprovenance: today\ncompute:\n  gemm_efficiency: 0.5\n"};
    EXPECT_THAT(error_of([&] { load_calibration(catalog, file.name()); }),
                HasSubstr("compute.source: is missing"));
}

TEST(Calibration, AnEfficiencyAboveOneIsRefused) {
    EXPECT_THAT(read_error(replaced(file_text("calibration/default.yaml"), "hbm_efficiency: 0.8",
                                    "hbm_efficiency: 1.2"),
                           read_calibration),
                HasSubstr("compute.hbm_efficiency: must be a number from 0.001 to 1, not '1.2'"));
}

}  // namespace
}  // namespace dualpath
