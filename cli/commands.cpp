// The commands by name, and what `dualpath help` says of them.
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/input_error.h"
#include "cli/command.h"
#include "input/nearest.h"

namespace dualpath::cli {
namespace {

constexpr std::array table{
    Command{"run", "simulate one scenario", run_command},
    Command{"capacity", "find the highest load that meets the SLO", capacity_command},
    Command{"replay", "check that a run's events give the same commands again", replay_command},
    Command{"help", "this text, or that of one command", help_command},
};

}  // namespace

std::span<const Command> commands() { return table; }

int help_command(const std::vector<std::string>& arguments) {
    if (!arguments.empty() && arguments.front() != "help") {
        for (const Command& command : table) {
            if (command.name == arguments.front()) return command.run({"--help"});
        }
    }
    fmt::print(
        "dualpath {}: P/D-disaggregated LLM inference with KV-Cache loaded over two paths\n\n"
        "usage: dualpath COMMAND [options]\n\n",
        DUALPATH_VERSION);
    for (const Command& command : table) fmt::print("  {:10} {}\n", command.name, command.summary);
    fmt::print(
        "\n`dualpath help COMMAND` shows options and examples.\n"
        "Exit: 0 done, 1 a check failed, 2 bad input or usage, 3 stopped by a signal.\n");
    return done;
}

}  // namespace dualpath::cli
