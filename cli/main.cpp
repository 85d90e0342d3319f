// main: finds the command, runs it, and turns what went wrong into a message and an exit code.
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/input_error.h"
#include "cli/command.h"
#include "input/nearest.h"

namespace {

using namespace dualpath;

int dispatch(const std::vector<std::string>& arguments) {
    if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h") {
        return cli::help_command({});
    }
    if (arguments.front() == "--version") {
        fmt::print("dualpath {}\n", DUALPATH_VERSION);
        return cli::done;
    }
    std::vector<std::string> names;
    for (const cli::Command& command : cli::commands()) {
        if (command.name == arguments.front()) {
            return command.run({arguments.begin() + 1, arguments.end()});
        }
        names.emplace_back(command.name);
    }
    const auto near = nearest(arguments.front(), names);
    throw InputError{Place{.field = arguments.front()}, "no such command",
                     near ? fmt::format("did you mean '{}'? `dualpath help` lists all", *near)
                          : "`dualpath help` lists all"};
}

}  // namespace

int main(int count, char** values) {
    try {
        return dispatch({values + 1, values + count});
    } catch (const InputError& e) {
        fmt::print(stderr, "dualpath: {}\n", e.what());
        return cli::bad_input;
    } catch (const std::exception& e) {  // a full disk, no memory
        fmt::print(stderr, "dualpath: {}\n", e.what());
        return cli::check_failed;
    }
}
