// The source tree as the style rules see it: raw lines, and the same lines without prose.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace dualpath::tidy {

/// Something a rule does not allow: where, what, and what to do instead.
struct Finding {
    std::string file;
    std::size_t line;  ///< 1-based
    std::string what;
};
using Findings = std::vector<Finding>;

inline std::string told(const Findings& findings) {
    std::string text = "\n";
    for (const Finding& f : findings)
        text += "  " + f.file + ":" + std::to_string(f.line) + ": " + f.what + "\n";
    return text;
}

inline bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Where `word` starts in `text` as a whole word, from `from` on; npos if nowhere. A `word` that
/// ends in a sign, like `rand(`, is whole whatever follows.
inline std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
    for (std::size_t at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        const bool begun = at == 0 || !is_word(text[at - 1]);
        const bool ended = end == text.size() || !is_word(word.back()) || !is_word(text[end]);
        if (begun && ended) return at;
    }
    return text.npos;
}

inline bool has_word(std::string_view text, std::string_view word) {
    return find_word(text, word) != text.npos;
}

inline std::string trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\n");
    if (first == text.npos) return {};
    return std::string{text.substr(first, text.find_last_not_of(" \t\n") - first + 1)};
}

/// Where the comment or literal that starts at `at` ends; `at` itself if none starts there.
inline std::size_t end_of_prose(std::string_view text, std::size_t at) {
    const auto after = [&](std::string_view closing, std::size_t from) {
        const std::size_t found = text.find(closing, from);
        return found == text.npos ? text.size() : found + closing.size();
    };
    if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
    if (text.substr(at, 2) == "/*") return after("*/", at + 2);
    const bool inside_word = at > 0 && is_word(text[at - 1]);
    if (text.substr(at, 2) == "R\"" && !inside_word) {
        const std::size_t open = std::min(text.find('(', at), text.size() - 1);
        return after(")" + std::string{text.substr(at + 2, open - at - 2)} + "\"", open);
    }
    const bool digit_separator = text[at] == '\'' && inside_word;
    if (text[at] != '"' && (text[at] != '\'' || digit_separator)) return at;
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != text[at] && text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
}

/// The text with comments and literals as spaces: same lines, same columns.
inline std::string without_prose(std::string text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = end_of_prose(text, at);
        for (std::size_t i = at; i < end; ++i)
            if (text[i] != '\n') text[i] = ' ';
        at = std::max(end, at + 1);
    }
    return text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

struct Source {
    std::string path;  ///< from the root of the repository
    std::vector<std::string> lines;
    std::vector<std::string> code;  ///< `lines` without prose

    Source(std::string where, const std::string& text)
        : path{std::move(where)}, lines{lines_of(text)}, code{lines_of(without_prose(text))} {}

    std::string folder() const { return path.substr(0, path.find('/')); }
    bool is_header() const { return path.ends_with(".h"); }
};

/// The folders that hold source; `hw` may be absent, the others may be empty.
inline constexpr std::array folders{"base", "input", "models",    "control",  "traces",
                                    "sim",  "hw",    "workload",  "analysis", "scenarios",
                                    "cli",  "tests", "benchmarks"};

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// Every .h and .cpp file under the source folders of `root`, by path.
inline std::vector<Source> sources_under(const std::filesystem::path& root) {
    std::vector<Source> sources;
    for (const char* folder : folders) {
        if (!std::filesystem::is_directory(root / folder)) continue;
        for (const auto& entry : std::filesystem::recursive_directory_iterator{root / folder}) {
            const auto suffix = entry.path().extension();
            if (!entry.is_regular_file() || (suffix != ".h" && suffix != ".cpp")) continue;
            sources.emplace_back(entry.path().lexically_relative(root).generic_string(),
                                 text_of(entry.path()));
        }
    }
    std::sort(sources.begin(), sources.end(),
              [](const Source& a, const Source& b) { return a.path < b.path; });
    return sources;
}

}  // namespace dualpath::tidy
