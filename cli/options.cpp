// Options of a command: parsed strictly, with help and examples.
#include "cli/options.h"

#include <algorithm>
#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "base/input_error.h"
#include "input/nearest.h"

namespace dualpath::cli {
namespace {

namespace po = boost::program_options;

std::vector<std::string> option_names(const po::options_description& options) {
    std::vector<std::string> names;
    for (const auto& option : options.options()) names.push_back("--" + option->long_name());
    return names;
}

void print_help(const Usage& usage) {
    std::ostringstream options;
    options << usage.options;
    fmt::print("usage: {}\n\n{}\n\n{}\nExamples:\n{}", usage.line, usage.about, options.str(),
               usage.examples);
}

}  // namespace

std::optional<po::variables_map> parse_options(const Usage& usage,
                                               const std::vector<std::string>& arguments) {
    po::options_description all;
    all.add(usage.options).add(usage.hidden);
    const auto style = po::command_line_style::unix_style ^ po::command_line_style::allow_guessing;
    po::variables_map values;
    try {
        po::store(po::command_line_parser(arguments)
                      .options(all)
                      .positional(usage.positions)
                      .style(style)
                      .run(),
                  values);
        if (values.count("help")) {
            print_help(usage);
            return std::nullopt;
        }
        po::notify(values);
    } catch (const po::unknown_option& e) {
        const auto names = option_names(usage.options);
        const auto near = nearest(e.get_option_name(), names);
        throw InputError{Place{.field = e.get_option_name()}, "no such option",
                         fmt::format("{}see --help", near ? fmt::format("did you mean {}? ", *near)
                                                          : std::string{})};
    } catch (const po::error& e) {
        throw InputError{Place{}, e.what(), fmt::format("usage: {}", usage.line)};
    }
    return values;
}

}  // namespace dualpath::cli
