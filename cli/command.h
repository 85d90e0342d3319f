// A command of the program: its name, what it is for, and what runs it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dualpath::cli {

/// Exit codes of every command.
enum Exit : int { done = 0, check_failed = 1, bad_input = 2, stopped = 3, no_hardware = 77 };

struct Command {
    std::string_view name;
    std::string_view summary;
    /// Gets what stands behind the name; throws InputError for bad input and usage.
    int (*run)(const std::vector<std::string>& arguments);
};

std::span<const Command> commands();

int run_command(const std::vector<std::string>& arguments);
int capacity_command(const std::vector<std::string>& arguments);
int replay_command(const std::vector<std::string>& arguments);
int help_command(const std::vector<std::string>& arguments);

}  // namespace dualpath::cli
