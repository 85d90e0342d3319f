// Rules that look at one line or one file at a time: bans, form, and the names of test files.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/source.h"

namespace dualpath::tidy {

struct Ban {
    std::vector<std::string_view> words;  ///< as in code; one that ends in `(` is a call
    std::string_view instead;
};

inline Findings uses_of(const Ban& ban, const Source& source) {
    Findings findings;
    for (std::size_t i = 0; i < source.code.size(); ++i)
        for (const std::string_view word : ban.words)
            if (has_word(source.code[i], word))
                findings.push_back({source.path, i + 1,
                                    "no " + std::string{word} + ": " + std::string{ban.instead}});
    return findings;
}

/// Everywhere but in hw, the tests and the benchmarks; in cli two files may, for the user's sake.
inline Findings clocks_read(const std::vector<Source>& sources) {
    const Ban clocks{{"steady_clock", "system_clock", "high_resolution_clock", "clock_gettime",
                      "gettimeofday", "time(nullptr", "time(NULL", "time(0", "std::clock"},
                     "time comes with an event, take an Instant (in cli: ask cli/host.cpp)"};
    const std::set<std::string> may{
        "hw", "tests", "benchmarks", "cli/progress.h", "cli/progress.cpp", "cli/host.cpp"};
    Findings findings;
    for (const Source& source : sources) {
        if (may.contains(source.folder()) || may.contains(source.path)) continue;
        for (const Finding& finding : uses_of(clocks, source)) findings.push_back(finding);
    }
    return findings;
}

/// What would make two runs of one scenario differ.
inline Findings surprises(const std::vector<Source>& sources) {
    const std::vector<Ban> bans{
        {{"random_device", "rand(", "srand("}, "draw from a named stream of Rng (base/rng.h)"},
        {{"std::thread", "std::jthread", "std::async", "this_thread"},
         "a run has one thread; cli starts several runs side by side"},
        {{"unordered_map", "unordered_set", "unordered_multimap", "unordered_multiset"},
         "its order is not ours: use std::map, a sorted vector, or a vector by dense id"}};
    const std::set<std::string> may{"cli", "hw", "tests", "benchmarks"};
    Findings findings;
    for (const Source& source : sources) {
        if (may.contains(source.folder())) continue;
        for (const Ban& ban : bans)
            for (const Finding& finding : uses_of(ban, source)) findings.push_back(finding);
    }
    return findings;
}

/// The standard fixes the engines' results, but not what distributions and shuffles make of them.
inline Findings library_dependent_draws(const std::vector<Source>& sources) {
    const Ban ban{{"std::uniform_int_distribution",
                   "std::uniform_real_distribution",
                   "std::bernoulli_distribution",
                   "std::binomial_distribution",
                   "std::geometric_distribution",
                   "std::negative_binomial_distribution",
                   "std::poisson_distribution",
                   "std::exponential_distribution",
                   "std::gamma_distribution",
                   "std::weibull_distribution",
                   "std::extreme_value_distribution",
                   "std::normal_distribution",
                   "std::lognormal_distribution",
                   "std::chi_squared_distribution",
                   "std::cauchy_distribution",
                   "std::fisher_f_distribution",
                   "std::student_t_distribution",
                   "std::discrete_distribution",
                   "std::piecewise_constant_distribution",
                   "std::piecewise_linear_distribution",
                   "std::shuffle",
                   "std::sample",
                   "std::generate_canonical"},
                  "its results differ between libraries; Rng (base/rng.h) has its own"};
    Findings findings;
    for (const Source& source : sources)
        for (const Finding& finding : uses_of(ban, source)) findings.push_back(finding);
    return findings;
}

inline Findings headers_without_pragma_once(const std::vector<Source>& sources) {
    Findings findings;
    for (const Source& source : sources) {
        const auto once = [](const std::string& line) { return trimmed(line) == "#pragma once"; };
        if (source.is_header() && std::none_of(source.code.begin(), source.code.end(), once))
            findings.push_back({source.path, 1, "add #pragma once below the first comment"});
    }
    return findings;
}

inline Findings first_lines_that_tell_nothing(const std::vector<Source>& sources) {
    Findings findings;
    for (const Source& source : sources)
        if (source.lines.empty() || !source.lines[0].starts_with("// ") ||
            trimmed(source.lines[0]).size() < 6)
            findings.push_back(
                {source.path, 1,
                 "begin with one line `// ...` that tells the concept of this file"});
    return findings;
}

/// Columns as one sees them: a character of several bytes is one.
inline std::size_t columns(std::string_view line) {
    return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned>(c) & 0xC0U) != 0x80U;
    }));
}

inline Findings lines_out_of_form(const std::vector<Source>& sources) {
    Findings findings;
    for (const Source& source : sources)
        for (std::size_t i = 0; i < source.lines.size(); ++i) {
            const std::string& line = source.lines[i];
            if (columns(line) > 100)
                findings.push_back({source.path, i + 1,
                                    std::to_string(columns(line)) +
                                        " columns, 100 are allowed: run ./dev format"});
            if (line.find('\t') != line.npos)
                findings.push_back({source.path, i + 1, "a tab: run ./dev format (4 spaces)"});
        }
    return findings;
}

inline Findings unfinished_business(const std::vector<Source>& sources) {
    Findings findings;
    for (const Source& source : sources)
        for (std::size_t i = 0; i < source.lines.size(); ++i)
            for (const char* word : {"TO"
                                     "DO",
                                     "FIX"
                                     "ME",
                                     "XX"
                                     "X"})
                if (has_word(source.lines[i], word))
                    findings.push_back({source.path, i + 1,
                                        std::string{word} + ": do it, or say in ARCHITECTURE.md"
                                                            " why it is not done"});
    return findings;
}

inline Findings headers_too_long(const std::vector<Source>& sources) {
    Findings findings;
    for (const Source& source : sources)
        if (source.is_header() && source.lines.size() > 200)
            findings.push_back({source.path, source.lines.size(),
                                "a header has up to 200 lines: split it by concept"});
    return findings;
}

/// CMake builds tests/<folder>/*_test.cpp; any other .cpp file there would silently not run.
inline Findings tests_that_never_run(const std::vector<Source>& sources) {
    Findings findings;
    for (const Source& source : sources) {
        if (source.folder() != "tests" || source.is_header()) continue;
        const bool in_a_folder = std::count(source.path.begin(), source.path.end(), '/') == 2;
        if (!in_a_folder || !source.path.ends_with("_test.cpp"))
            findings.push_back({source.path, 1, "rename it to tests/<folder>/<concept>_test.cpp"});
    }
    return findings;
}

}  // namespace dualpath::tidy
