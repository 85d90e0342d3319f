// Options of a command: parsed strictly, with help and examples.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/program_options.hpp>

namespace dualpath::cli {

/// How a command is called: its usage line, options, positional arguments and examples.
struct Usage {
    std::string line;      ///< dualpath run SCENARIO [options]
    std::string about;     ///< a sentence or two
    std::string examples;  ///< whole lines
    boost::program_options::options_description options{"Options"};
    boost::program_options::positional_options_description positions;
    boost::program_options::options_description hidden{};  ///< the positional ones
};

/// Parses; nullopt when --help was asked for and printed. Throws InputError with the nearest known
/// option for a typo, and for a missing value.
std::optional<boost::program_options::variables_map> parse_options(
    const Usage& usage, const std::vector<std::string>& arguments);

}  // namespace dualpath::cli
