// The style rules can fail: each finds what it forbids in a small made-up source, and only that.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/tidy/arrows.h"
#include "tests/tidy/function_lengths.h"
#include "tests/tidy/invariants.h"
#include "tests/tidy/rules.h"
#include "tests/tidy/source.h"

namespace dualpath::tidy {
namespace {

/// `file:line` of each finding.
std::vector<std::string> places(const Findings& findings) {
    std::vector<std::string> places;
    for (const Finding& f : findings) places.push_back(f.file + ":" + std::to_string(f.line));
    return places;
}

using Places = std::vector<std::string>;

const std::vector<Room> two_floors = rooms_of(
    "# dualpath_room(nothing SEES all)\n"
    "dualpath_room(base)\n"
    "dualpath_room(control SEES base\n"
    "              USES Boost::graph)\n"
    "dualpath_room(sim\n"
    "              SEES base control)  # a comment\n"
    "dualpath_room(workload SEES base control)\n");

TEST(Arrows, RoomsAreReadOverSeveralLinesWithoutLibraries) {
    ASSERT_EQ(two_floors.size(), 4u);
    EXPECT_EQ(two_floors[1].sees, (std::set<std::string>{"base"}));
    EXPECT_EQ(two_floors[2].sees, (std::set<std::string>{"base", "control"}));
    EXPECT_EQ(two_floors[2].line, 5u);
}

TEST(Arrows, AnIncludeAgainstThemIsFoundInATree) {
    const auto root = std::filesystem::path{testing::TempDir()} / "dualpath_tidy_tree";
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root / "control" / "policies");
    std::filesystem::create_directories(root / "sim");
    std::ofstream{root / "sim" / "engine.h"} << "#include \"control/messages.h\"\n";
    std::ofstream{root / "control" / "policies" / "order.cpp"} << "// Order.\n"
                                                                  "#include \"base/ids.h\"\n"
                                                                  "#include \"sim/engine.h\"\n"
                                                                  "#include \"order.h\"\n"
                                                                  "// #include \"sim/network.h\"\n"
                                                                  "#include <sim/events.h>\n";
    const Findings findings = includes_against_arrows(sources_under(root), two_floors);
    const std::string file = "control/policies/order.cpp";
    EXPECT_EQ(places(findings), (Places{file + ":3", file + ":4", file + ":6"}));
    EXPECT_NE(told(findings).find("control does not see sim"), std::string::npos);
    std::filesystem::remove_all(root);
}

TEST(Arrows, AFolderWithoutARoomIsFound) {
    EXPECT_EQ(places(includes_against_arrows({{"hw/probe.h", "// Probe.\n"}}, two_floors)),
              Places{"hw/probe.h:1"});
    EXPECT_TRUE(
        includes_against_arrows({{"tests/sim/a_test.cpp", "#include \"sim/a.h\"\n"}}, two_floors)
            .empty());
}

TEST(Arrows, UpwardOnesAreFoundAndSoIsSimBesideHw) {
    const auto lines = [](const char* cmake) {
        return places(arrows_not_downward(rooms_of(cmake)));
    };
    EXPECT_TRUE(arrows_not_downward(two_floors).empty());
    EXPECT_EQ(lines("dualpath_room(base SEES sim)\ndualpath_room(sim SEES base)\n"),
              Places{"CMakeLists.txt:1"});
    // hw does not name sim, but would see it through probe.
    EXPECT_EQ(lines("dualpath_room(sim)\ndualpath_room(probe SEES sim)\n"
                    "dualpath_room(hw SEES probe)\n"),
              Places{"CMakeLists.txt:3"});
}

TEST(Arrows, OnlyTheMessagesOfControlReachWorkload) {
    const std::string text = "#include \"control/run.h\"\n#include \"control/memory_ledger.h\"\n";
    EXPECT_EQ(places(includes_past_the_messages({{"workload/a.cpp", text}, {"sim/a.cpp", text}})),
              Places{"workload/a.cpp:2"});
}

TEST(Arrows, BaseFindsLibrariesAndCHeaders) {
    const std::string text =
        "#include <cmath>\n#include <math.h>\n#include <fmt/format.h>\n#include \"base/ids.h\"\n"
        "#include \"models/llm.h\"\n";
    EXPECT_EQ(places(includes_beyond_the_standard({{"base/a.h", text}})),
              (Places{"base/a.h:2", "base/a.h:3", "base/a.h:5"}));
}

TEST(Prose, IsBlankedWithoutMovingTheCode) {
    EXPECT_EQ(without_prose("a // b\nc"), "a     \nc");
    EXPECT_EQ(without_prose("a /* b\n{ */ c"), "a     \n     c");
    EXPECT_EQ(without_prose(R"(f("\"{", '"', 1'000) {)"), "f(     ,    , 1'000) {");
    EXPECT_EQ(without_prose("a(R\"x({\")\")x\") {"), "a(           ) {");
    EXPECT_EQ(without_prose("R\"("), "   ");
}

TEST(Rules, ClocksAreReadOnlyWhereTheUserSeesThem) {
    const std::string text =
        "// steady_clock\nauto t = std::chrono::steady_clock::now();\n"
        "auto u = std::time(nullptr);\nauto v = run_time(nullptr);\n";
    EXPECT_EQ(places(clocks_read({{"sim/a.cpp", text},
                                  {"cli/run.cpp", text},
                                  {"cli/host.cpp", text},
                                  {"hw/a.cpp", text},
                                  {"tests/sim/a_test.cpp", text}})),
              (Places{"sim/a.cpp:2", "sim/a.cpp:3", "cli/run.cpp:2", "cli/run.cpp:3"}));
}

TEST(Rules, SurprisesAreFoundAsWholeWords) {
    const std::string text =
        "int a = rand();\nint b = operand(1);\nstd::thread c;\n"
        "std::unordered_map<int, int> d;\nstd::random_device e;\n";
    EXPECT_EQ(places(surprises({{"sim/a.cpp", text}, {"cli/a.cpp", text}})),
              (Places{"sim/a.cpp:1", "sim/a.cpp:5", "sim/a.cpp:3", "sim/a.cpp:4"}));
}

TEST(Rules, StandardDistributionsAreFoundInTestsToo) {
    const std::string text =
        "std::normal_distribution<double> d;\nint token_distribution;\n"
        "std::shuffle(a, b, c);\n";
    EXPECT_EQ(places(library_dependent_draws({{"tests/sim/a_test.cpp", text}})),
              (Places{"tests/sim/a_test.cpp:1", "tests/sim/a_test.cpp:3"}));
}

TEST(Rules, FormIsHeldLineByLine) {
    const std::string text = "#pragma one\n" + std::string(101, 'x') + "\n" +
                             std::string(100, 'x') + "\n\tint a;\n// \xC2\xB5" +
                             std::string(96, 'x') +
                             "\n// TO"
                             "DO\n" +
                             "METHODS\n";
    const std::vector<Source> sources{{"sim/a.h", text}};
    EXPECT_EQ(places(lines_out_of_form(sources)), (Places{"sim/a.h:2", "sim/a.h:4"}));
    EXPECT_EQ(places(unfinished_business(sources)), Places{"sim/a.h:6"});
    EXPECT_EQ(places(headers_without_pragma_once(sources)), Places{"sim/a.h:1"});
    EXPECT_EQ(places(first_lines_that_tell_nothing(sources)), Places{"sim/a.h:1"});
    const Source good{"sim/b.h", "// One concept.\n#pragma once\n"};
    EXPECT_TRUE(headers_without_pragma_once({good}).empty());
    EXPECT_TRUE(first_lines_that_tell_nothing({good}).empty());
}

TEST(Rules, AHeaderOf201LinesIsFound) {
    EXPECT_TRUE(headers_too_long({{"sim/a.h", std::string(200, '\n')}}).empty());
    EXPECT_EQ(places(headers_too_long({{"sim/a.h", std::string(201, '\n')}})),
              Places{"sim/a.h:201"});
}

TEST(Rules, ATestFileThatCMakeWouldNotBuildIsFound) {
    EXPECT_EQ(places(tests_that_never_run({{"tests/sim/network.cpp", ""},
                                           {"tests/network_test.cpp", ""},
                                           {"tests/sim/deep/network_test.cpp", ""},
                                           {"tests/sim/network_test.cpp", ""},
                                           {"tests/sim/made_up.h", ""},
                                           {"sim/network.cpp", ""}})),
              (Places{"tests/sim/network.cpp:1", "tests/network_test.cpp:1",
                      "tests/sim/deep/network_test.cpp:1"}));
}

/// `name line length` of each function.
std::vector<std::string> measured(const std::string& text) {
    std::vector<std::string> all;
    for (const Function& f : functions_of({"sim/a.cpp", text}))
        all.push_back(f.name + " " + std::to_string(f.line) + " " + std::to_string(f.length));
    return all;
}

TEST(FunctionLengths, CountFromHeadToClosingBrace) {
    EXPECT_EQ(measured("namespace a {\n\nint f(int x) {\n    if (x) {\n    }\n}\n}\n"),
              Places{"f 3 4"});
    EXPECT_EQ(measured("template <class T>\nT f() { return {}; }\n"), Places{"f 1 2"});
    EXPECT_EQ(measured("TEST(Suite, Name) {\n}\n"), Places{"TEST(Suite, Name) 1 2"});
    EXPECT_EQ(measured("void A::f() const noexcept\n{\n}\nvoid g() {}\n"),
              (Places{"A::f 1 3", "g 4 1"}));
    EXPECT_EQ(measured("bool A::operator<(B b) {\n}\nint operator()(B b) {}\n"),
              (Places{"A::operator< 1 2", "operator() 3 1"}));
}

TEST(FunctionLengths, MembersCountAndInitializersDoNot) {
    EXPECT_EQ(
        measured(
            "class Box final : public B<C> {\npublic:\n    Box() : b_{1}, c_(2), d_{3} {\n    }\n"
            "private:\n    int b_{};\n    std::function<void()> g_{};\n};\n"),
        Places{"Box 3 2"});
    EXPECT_EQ(measured("const std::map<int, int> m{{1,\n2}};\nint a[] = {1,\n2};\n"), Places{});
    EXPECT_EQ(measured("enum class E { a,\nb };\nvoid f(E e = {});\nstruct S {\n} s;\n"), Places{});
    EXPECT_EQ(measured("const auto f = [](int x) {\n};\n").size(), 1u);
    EXPECT_EQ(measured("#define M(x) \\\n    do { \\\n    f(x); } while (0)\nvoid f() {\n}\n"),
              Places{"f 4 2"});
}

TEST(FunctionLengths, MayShrinkButNotGrow) {
    const std::vector<Source> three{{"sim/a.cpp", "void f() {\n\n}\n"}};  // three lines long
    EXPECT_TRUE(functions_too_long(three, {}, 3).empty());
    EXPECT_EQ(places(functions_too_long(three, {}, 2)), Places{"sim/a.cpp:1"});
    EXPECT_TRUE(functions_too_long(three, {{"sim/a.cpp f", 3}}, 2).empty());
    const auto told_with = [&](std::size_t known, std::size_t limit) {
        return told(functions_too_long(three, {{"sim/a.cpp f", known}}, limit));
    };
    EXPECT_NE(told_with(4, 2).find("lower it"), std::string::npos);
    EXPECT_NE(told_with(4, 3).find("take it off the list"), std::string::npos);
}

TEST(Invariants, EachNamesATestThatExists) {
    const auto tests = test_names({{"tests/sim/a_test.cpp",
                                    "TEST(Clock, NeverGoesBack) {}\n"
                                    "RC_GTEST_PROP(Link,\n              KeepsBytes, ()) {}\n"
                                    "// TEST(Old, Gone)\n"},
                                   {"sim/a.cpp", "TEST(Not, Here) {}\n"}});
    EXPECT_EQ(tests, (std::set<std::string>{"Clock.NeverGoesBack", "Link.KeepsBytes"}));
    const auto lines = [&](const std::string& text) {
        return places(invariants_without_test({"I.md", text}, tests));
    };
    EXPECT_EQ(lines("# Laws\n1. Back never: `Clock.NeverGoesBack`.\n2. Bytes stay.\n   They do:\n"
                    "   `Link.KeepsBytes`, see `events.log`.\n"),
              Places{});
    EXPECT_EQ(lines("1. A `Clock.NeverGoesBack`\n2. B\n3. C `Link.Gone`\n"),
              (Places{"I.md:2", "I.md:3"}));
    EXPECT_EQ(lines("| 1 | A | `Clock.NeverGoesBack` |\n| 2 | B | - |\n"), Places{"I.md:2"});
    EXPECT_EQ(lines("## 1. A\n\n`Clock.NeverGoesBack`\n\n## 2. B\n"), Places{"I.md:5"});
    EXPECT_EQ(lines("Nothing is numbered.\n"), Places{"I.md:1"});
}

}  // namespace
}  // namespace dualpath::tidy
