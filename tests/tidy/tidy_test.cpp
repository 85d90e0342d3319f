// Style is a unit test: the rules of this house, held against the tree the tests run in.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/tidy/arrows.h"
#include "tests/tidy/function_lengths.h"
#include "tests/tidy/invariants.h"
#include "tests/tidy/rules.h"
#include "tests/tidy/source.h"

namespace dualpath::tidy {
namespace {

/// Empty, and to stay empty: a function in this list may shrink, never grow.
const Known known_long_functions{};

class Tidy : public testing::Test {
protected:
    static void SetUpTestSuite() {
        sources() = sources_under(std::filesystem::current_path());
        rooms() = rooms_of(text_of("CMakeLists.txt"));
    }
    static std::vector<Source>& sources() {
        static std::vector<Source> all;
        return all;
    }
    static std::vector<Room>& rooms() {
        static std::vector<Room> all;
        return all;
    }
    static void expect_none(const Findings& findings) {
        EXPECT_TRUE(findings.empty()) << told(findings);
    }
};

TEST_F(Tidy, TestsRunAtTheRootOfTheTree) {
    EXPECT_GE(rooms().size(), 10u) << "run the tests where CMakeLists.txt is";
    EXPECT_FALSE(sources().empty());
    const std::set<std::string> known(folders.begin(), folders.end());
    for (const Room& room : rooms())
        EXPECT_TRUE(known.contains(room.name)) << "add " << room.name << " to tests/tidy/source.h";
}

TEST_F(Tidy, ArrowsPointDownwardAndSimNeverMeetsHw) { expect_none(arrows_not_downward(rooms())); }
TEST_F(Tidy, IncludesKeepToTheArrows) { expect_none(includes_against_arrows(sources(), rooms())); }
TEST_F(Tidy, WorkloadAndAnalysisKnowOnlyTheMessagesOfControl) {
    expect_none(includes_past_the_messages(sources()));
}
TEST_F(Tidy, BaseIncludesOnlyTheStandard) { expect_none(includes_beyond_the_standard(sources())); }

TEST_F(Tidy, TimeIsDeliveredNeverRead) { expect_none(clocks_read(sources())); }
TEST_F(Tidy, NothingMakesTwoRunsDiffer) { expect_none(surprises(sources())); }
TEST_F(Tidy, DrawsAreTheSameWithEveryLibrary) { expect_none(library_dependent_draws(sources())); }

TEST_F(Tidy, EveryHeaderIsIncludedOnce) { expect_none(headers_without_pragma_once(sources())); }
TEST_F(Tidy, TheFirstLineTellsTheConcept) { expect_none(first_lines_that_tell_nothing(sources())); }
TEST_F(Tidy, LinesFitInto100ColumnsWithoutTabs) { expect_none(lines_out_of_form(sources())); }
TEST_F(Tidy, NothingIsLeftForLater) { expect_none(unfinished_business(sources())); }
TEST_F(Tidy, FunctionsFitOnTwoScreens) {
    expect_none(functions_too_long(sources(), known_long_functions));
}
TEST_F(Tidy, HeadersFitInto200Lines) { expect_none(headers_too_long(sources())); }

TEST_F(Tidy, EveryTestFileIsBuilt) { expect_none(tests_that_never_run(sources())); }
TEST_F(Tidy, EveryInvariantNamesATestThatExists) {
    ASSERT_TRUE(std::filesystem::exists("INVARIANTS.md"));
    const Source invariants{"INVARIANTS.md", text_of("INVARIANTS.md")};
    expect_none(invariants_without_test(invariants, test_names(sources())));
}

}  // namespace
}  // namespace dualpath::tidy
