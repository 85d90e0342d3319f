// INVARIANTS.md numbers what must always hold; each number names tests that exist.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/source.h"

namespace dualpath::tidy {

/// `Suite.Name` of every test under tests/.
inline std::set<std::string> test_names(const std::vector<Source>& sources) {
    std::set<std::string> names;
    for (const Source& source : sources) {
        if (source.folder() != "tests") continue;
        std::string code;
        for (const std::string& line : source.code) code += line + "\n";
        for (const char* macro : {"TEST(", "TEST_F(", "TEST_P(", "TYPED_TEST(", "TYPED_TEST_P(",
                                  "RC_GTEST_PROP(", "RC_GTEST_FIXTURE_PROP("})
            for (std::size_t at = find_word(code, macro); at != code.npos;
                 at = find_word(code, macro, at + 1)) {
                const std::size_t open = code.find('(', at);
                const std::size_t comma = code.find(',', open);
                const std::size_t end = code.find_first_of(",)", comma + 1);
                if (comma == code.npos || end == code.npos) break;
                names.insert(trimmed(code.substr(open + 1, comma - open - 1)) + "." +
                             trimmed(code.substr(comma + 1, end - comma - 1)));
            }
    }
    return names;
}

/// Does the line begin a numbered item: `3. ...`, `3) ...`, `## 3. ...`, `| 3 | ...`, `**3.** ...`?
inline bool begins_item(std::string_view line) {
    const std::size_t digit = line.find_first_not_of("#|* ");
    if (digit == line.npos || std::isdigit(static_cast<unsigned char>(line[digit])) == 0)
        return false;
    const std::size_t sign = line.find_first_not_of("0123456789", digit);
    if (sign == line.npos) return false;
    const bool in_table = trimmed(line).starts_with('|');
    return in_table ? line.find('|', sign) != line.npos : line[sign] == '.' || line[sign] == ')';
}

/// The words in backticks that look like a test: `Suite.Name`.
inline std::vector<std::string> tests_named_in(std::string_view line) {
    std::vector<std::string> named;
    const auto is_name = [](std::string_view word) {
        return !word.empty() && std::isupper(static_cast<unsigned char>(word[0])) != 0 &&
               std::all_of(word.begin(), word.end(), is_word);
    };
    for (std::size_t open = line.find('`'); open != line.npos;) {
        const std::size_t close = line.find('`', open + 1);
        if (close == line.npos) break;
        const std::string_view word = line.substr(open + 1, close - open - 1);
        const std::size_t dot = word.find('.');
        if (dot != word.npos && is_name(word.substr(0, dot)) && is_name(word.substr(dot + 1)))
            named.emplace_back(word);
        open = line.find('`', close + 1);
    }
    return named;
}

inline Findings invariants_without_test(const Source& invariants,
                                        const std::set<std::string>& tests) {
    Findings findings;
    std::size_t item = 0;  // line of the invariant we are in
    bool held = true;      // does it name a test?
    const auto end_item = [&] {
        if (!held) findings.push_back({invariants.path, item, "name its test, as `Suite.Name`"});
    };
    for (std::size_t i = 0; i < invariants.lines.size(); ++i) {
        const std::string& line = invariants.lines[i];
        if (begins_item(line)) {
            end_item();
            item = i + 1;
            held = false;
        }
        for (const std::string& name : tests_named_in(line)) {
            held = true;
            if (!tests.contains(name))
                findings.push_back({invariants.path, i + 1, "there is no test " + name});
        }
    }
    end_item();
    if (item == 0) findings.push_back({invariants.path, 1, "number the invariants: 1. 2. 3."});
    return findings;
}

}  // namespace dualpath::tidy
