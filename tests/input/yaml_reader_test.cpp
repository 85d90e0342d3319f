// YAML read strictly: typed values, places in errors, layers.
#include "input/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace dualpath {
namespace {

using namespace std::chrono_literals;
using namespace dualpath::literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::function<void()>& read) {
    try {
        read();
    } catch (const InputError& error) {
        return error.what();
    }
    return "(no error)";
}

YamlDocument parse(const std::string& text) { return YamlDocument::parse(text, "s.yaml"); }

std::string read_error(const std::string& text, const std::function<void(YamlMap&)>& read) {
    return error_of([&] {
        YamlMap root = parse(text).root();
        read(root);
    });
}

/// A folder of files that goes away with the test.
class Folder {
public:
    Folder() {
        const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
        path_ = std::filesystem::temp_directory_path() / "dualpath_yaml_test" / info->name();
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream{path_ / name} << text;
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

TEST(YamlReader, ReadsEveryTypeByItsKey) {
    static constexpr std::array<std::string_view, 2> systems{"basic", "dualpath"};
    YamlMap root =
        parse(
            "name: a b\ncount: 3\nshare: 0.5\nsnic: 400 Gb/s\nhbm: 80 GB\nquota: 300 ms\n"
            "block: 64 tokens\npeak: 989 TFLOPS\nsystem: basic\nlayerwise: true\n"
            "node: {gpus: 8}\nfaults: [{at: 60 s}, {at: 90 s}]\nsizes: [1, 2]\n")
            .root();
    EXPECT_EQ(root.text("name"), "a b");
    EXPECT_EQ(root.integer("count", 1, 8), 3);
    EXPECT_EQ(root.real("share", 0, 1), 0.5);
    EXPECT_EQ(root.rate("snic"), 50_GBps);
    EXPECT_EQ(root.bytes("hbm"), 80_GB);
    EXPECT_EQ(root.duration("quota"), Duration{300ms});
    EXPECT_EQ(root.tokens("block"), 64_tok);
    EXPECT_EQ(root.flops("peak").value, 989e12);
    EXPECT_EQ(root.one_of("system", systems), "basic");
    EXPECT_TRUE(root.boolean("layerwise"));
    YamlMap node = root.map("node");
    EXPECT_EQ(node.count("gpus"), 8);
    EXPECT_EQ(root.list("faults").at(1).map().duration("at"), Duration{90s});
    EXPECT_EQ(root.list("sizes").at(1).integer(), 2);
    EXPECT_NO_THROW(root.finish());
    EXPECT_NO_THROW(node.finish());
}

TEST(YamlReader, AnAbsentOptionalKeyIsNothingAndKnown) {
    YamlMap root = parse("a: 1\n").root();
    EXPECT_EQ(root.optional_rate("snic").value_or(50_GBps), 50_GBps);
    EXPECT_EQ(root.optional_count("a"), 1);
    EXPECT_EQ(root.optional_map("node").has_value(), false);
    EXPECT_TRUE(root.optional_list("faults").empty());
    EXPECT_FALSE(root.has("seed"));
    EXPECT_NO_THROW(root.finish());
}

TEST(YamlReader, AnUnknownKeyIsNamedWithTheNearestKnown) {
    const std::string error = read_error("cluster: 1\nnodee: 2\n", [](YamlMap& root) {
        root.count("cluster");
        root.optional_count("node");
        root.finish();
    });
    EXPECT_EQ(error,
              "s.yaml:2: nodee: unknown key 'nodee'; did you mean 'node'?; known here: cluster, "
              "node");
}

TEST(YamlReader, AMissingKeyIsNamedWithItsPath) {
    EXPECT_EQ(read_error("x: 1\nnode:\n  gpu: 8\n",
                         [](YamlMap& root) { root.map("node").count("gpus"); }),
              "s.yaml:2: node.gpus: is missing; there is 'gpu'");
}

TEST(YamlReader, AValueOfTheWrongKindIsRefusedAtItsLine) {
    const auto snic = [](YamlMap& root) { root.rate("snic"); };
    EXPECT_THAT(read_error("a: 1\nsnic:\n", snic), StartsWith("s.yaml:2: snic: has no value"));
    EXPECT_THAT(read_error("snic: ~\n", snic), HasSubstr("has no value"));
    EXPECT_THAT(read_error("snic: [1]\n", snic),
                HasSubstr("must be a rate such as '50 GB/s', not a list"));
    EXPECT_THAT(read_error("snic: {a: 1}\n", snic), HasSubstr("not a map"));
    EXPECT_THAT(read_error("\n\nsnic: 400\n", snic),
                StartsWith("s.yaml:3: snic: '400' has no unit"));
    EXPECT_THAT(read_error("snic: 400\n", [](YamlMap& root) { root.map("snic"); }),
                HasSubstr("must be a map, not a single value"));
    EXPECT_THAT(read_error("snic: 400\n", [](YamlMap& root) { root.list("snic"); }),
                HasSubstr("must be a list, not a single value"));
    EXPECT_THAT(read_error("snic:\n", [](YamlMap& root) { root.optional_map("snic"); }),
                HasSubstr("must be a map, not empty"));
}

TEST(YamlReader, NumbersOutsideTheirRangeNameTheRange) {
    EXPECT_EQ(read_error("gpus: 9\n", [](YamlMap& root) { root.count("gpus", 1, 8); }),
              "s.yaml:1: gpus: must be a whole number from 1 to 8, not '9'");
    EXPECT_THAT(read_error("gpus: 3.5\n", [](YamlMap& root) { root.count("gpus", 1); }),
                HasSubstr("a whole number, 1 or more, not '3.5'"));
    EXPECT_THAT(read_error("x: 99999999999999999999\n", [](YamlMap& root) { root.integer("x"); }),
                HasSubstr("must be a whole number"));
    EXPECT_THAT(read_error("x: .nan\n", [](YamlMap& root) { root.real("x", 0, 1); }),
                HasSubstr("must be a number from 0 to 1, not '.nan'"));
    EXPECT_THAT(read_error("x: nan\n", [](YamlMap& root) { root.real("x", 0, 1); }),
                HasSubstr("must be a number from 0 to 1, not 'nan'"));
    EXPECT_THAT(read_error("x: yes\n", [](YamlMap& root) { root.boolean("x"); }),
                HasSubstr("must be true or false, not 'yes'"));
}

TEST(YamlReader, AWordOutsideTheChoiceNamesTheChoice) {
    static constexpr std::array<std::string_view, 2> systems{"basic", "dualpath"};
    EXPECT_EQ(
        read_error("system: dualpth\n", [](YamlMap& root) { root.one_of("system", systems); }),
        "s.yaml:1: system: 'dualpth' is none of: basic, dualpath; did you mean 'dualpath'?");
}

TEST(YamlReader, AKeyThatStandsTwiceIsRefused) {
    EXPECT_THAT(
        error_of([] { parse("node:\n  gpus: 1\n  snic: 2\n  gpus: 3\n"); }),
        StartsWith("s.yaml:4: node.gpus: the key 'gpus' stands twice; the first is in line 2"));
}

TEST(YamlReader, TextThatIsNoMapOfKeysIsRefused) {
    EXPECT_THAT(error_of([] { parse("a: 1\nb: [1,\n"); }), HasSubstr("is not valid YAML"));
    EXPECT_THAT(error_of([] { parse("a: 1\nb: [1,\n"); }), StartsWith("s.yaml:"));
    EXPECT_THAT(error_of([] { parse("- 1\n- 2\n"); }),
                HasSubstr("must be a map of keys, not a list"));
    EXPECT_THAT(error_of([] { parse("a: 1\n---\nb: 2\n"); }),
                HasSubstr("more than one YAML document"));
    EXPECT_THAT(error_of([] { parse("[1, 2]: 3\n"); }), HasSubstr("a key must be a word"));
    EXPECT_THAT(error_of([] { parse("a: &x [*x]\n"); }), HasSubstr("s.yaml"));
    EXPECT_NO_THROW(parse("").root().finish());
}

TEST(YamlReader, AliasesThatMultiplyWithoutEndAreRefused) {
    std::string text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
    for (int i = 1; i < 9; ++i) {
        const std::string below = "*a" + std::to_string(i - 1);
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 10; ++j) text += (j ? ", " : "") + below;
        text += "]\n";
    }
    EXPECT_THAT(error_of([&] { parse(text); }), HasSubstr("repeated too often"));
}

TEST(YamlReader, AMissingFileIsNamed) {
    EXPECT_THAT(error_of([] { YamlDocument::load("no/such.yaml"); }),
                StartsWith("no/such.yaml: no such file"));
    EXPECT_THAT(error_of([] { YamlDocument::load("models"); }), StartsWith("models: is a folder"));
}

TEST(YamlLayers, EveryValueKeepsItsOwnFileAndLine) {
    const Folder folder;
    folder.write("base.yaml", "node:\n  gpus: 8\n  snic: 400\n");
    const auto top = folder.write("sub/top.yaml", "base: ../base.yaml\n\nnode:\n  gpus: x\n");
    YamlMap node = load_layered(top).root().map("node");
    EXPECT_THAT(error_of([&] { node.rate("snic"); }), HasSubstr("base.yaml:3: node.snic: "));
    EXPECT_THAT(error_of([&] { node.count("gpus"); }), HasSubstr("top.yaml:4: node.gpus: "));
}

TEST(YamlLayers, MapsMergeAndEverythingElseIsReplaced) {
    const YamlDocument under = parse("node: {gpus: 8, snic: 1 GB/s}\nfaults: [1, 2]\nseed: 1\n");
    const YamlDocument over = parse("node: {snic: 2 GB/s}\nfaults: [3]\n");
    YamlMap root = over.over(under).root();
    EXPECT_EQ(root.map("node").count("gpus"), 8);
    EXPECT_EQ(root.map("node").rate("snic"), 2_GBps);
    EXPECT_EQ(root.list("faults").size(), 1U);
    EXPECT_EQ(root.count("seed"), 1);
}

TEST(YamlLayers, AnAssignmentReplacesAddsAndIsNamedInErrors) {
    const YamlDocument document = parse("node: {gpus: 8}\nfaults: [{at: 1 s}]\ntier:\n")
                                      .with("node.snic=400 Gb/s")
                                      .with("faults.0.at=2 s")
                                      .with("tier.dram=1 GB")
                                      .with("sizes=[1, 2]");
    YamlMap root = document.root();
    EXPECT_EQ(root.map("node").rate("snic"), 50_GBps);
    EXPECT_EQ(root.map("node").count("gpus"), 8);
    EXPECT_EQ(root.list("faults").at(0).map().duration("at"), Duration{2s});
    EXPECT_EQ(root.map("tier").bytes("dram"), 1_GB);
    EXPECT_EQ(root.list("sizes").size(), 2U);
    EXPECT_THAT(error_of([&] { document.with("node.snic=400").root().map("node").rate("snic"); }),
                StartsWith("--set: node.snic: '400' has no unit"));
    EXPECT_THAT(error_of([&] {
                    YamlMap node = document.with("node.gpsu=1").root().map("node");
                    node.count("gpus");
                    node.rate("snic");
                    node.finish();
                }),
                StartsWith("--set: node.gpsu: unknown key 'gpsu'; did you mean 'gpus'?"));
}

TEST(YamlLayers, AnAssignmentThatLeadsNowhereIsRefused) {
    const YamlDocument document = parse("node: {gpus: 8}\nfaults: [1]\n");
    EXPECT_THAT(error_of([&] { document.with("gpus"); }), HasSubstr("'gpus' is no assignment"));
    EXPECT_THAT(error_of([&] { document.with("=3"); }), HasSubstr("no assignment"));
    EXPECT_THAT(error_of([&] { document.with("node..gpus=3"); }), HasSubstr("empty part"));
    EXPECT_THAT(error_of([&] { document.with("node.gpus.x=3"); }),
                HasSubstr("'node.gpus' is a single value and has no parts"));
    EXPECT_THAT(error_of([&] { document.with("faults.1=3"); }),
                HasSubstr("it has 1, counted from 0"));
    EXPECT_THAT(error_of([&] { document.with("node.gpus=[1"); }),
                StartsWith("--set: node.gpus: is not valid YAML"));
}

TEST(YamlLayers, ABaseThatIsMissingOrNamesItselfIsRefused) {
    const Folder folder;
    const auto lost = folder.write("lost.yaml", "a: 1\nbase: gone.yaml\n");
    EXPECT_THAT(error_of([&] { load_layered(lost); }),
                HasSubstr("lost.yaml:2: base: no such file"));
    const auto one = folder.write("one.yaml", "base: two.yaml\n");
    folder.write("two.yaml", "base: one.yaml\n");
    EXPECT_THAT(error_of([&] { load_layered(one); }), HasSubstr("name one another as their base"));
}

TEST(YamlLayers, TheEffectiveDocumentReadsBackTheSame) {
    const YamlDocument document =
        parse("a: '1'\nb: [x: 1, {}]\nc: {d: ~, e: \"two words\", f: 400 Gb/s}\n").with("c.g=2");
    EXPECT_EQ(parse(document.text()).text(), document.text());
    EXPECT_EQ(parse(document.text()).root().map("c").rate("f"), 50_GBps);
}

}  // namespace
}  // namespace dualpath
