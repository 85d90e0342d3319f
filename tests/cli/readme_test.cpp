// The README shows what this build prints.
#include <sstream>

#include "tests/cli/program.h"

namespace dualpath::test {
namespace {

/// The indented block that follows the line `marker`.
std::string block_after(const std::string& text, const std::string& marker) {
    std::istringstream lines{text.substr(text.find(marker))};
    std::string line, block;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        if (line.starts_with("    "))
            block += line.substr(4) + "\n";
        else if (line.empty() && !block.empty())
            block += "\n";
        else if (!line.empty())
            break;
    }
    while (block.ends_with("\n\n")) block.pop_back();
    return block;
}

TEST(Readme, ShowsWhatTheQuickStartPrints) {
    const Folder folder;
    const Said said = run_program(
        folder, "run scenarios/quickstart.yaml --out " + (folder / "quickstart").string());
    ASSERT_EQ(said.exit, 0) << said.err;
    const std::string table = said.out.substr(0, said.out.find("\nrun folder:"));
    EXPECT_EQ(block_after(text_of("README.md"), "`./dev run` prints"), table)
        << "copy the new output into README.md";
}

TEST(Readme, ShowsWhatCapacityPrints) {
    const Folder folder;
    const Said said = run_program(folder, "capacity scenarios/quickstart.yaml --by agents");
    ASSERT_EQ(said.exit, 0) << said.err;
    EXPECT_EQ(block_after(text_of("README.md"), "--by agents` prints"), said.out)
        << "copy the new output into README.md";
}

}  // namespace
}  // namespace dualpath::test
