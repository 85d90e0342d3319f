// The nearest known word, by edit distance.
#include "input/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace dualpath {

namespace {

std::string lower(std::string_view text) {
    std::string result{text};
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return result;
}

template <class Text>
std::optional<std::string> nearest_of(std::string_view word, std::span<const Text> candidates) {
    std::optional<std::string> best;
    std::size_t best_distance = 0;
    for (const Text& candidate : candidates) {
        const std::size_t distance = edit_distance(lower(word), lower(candidate));
        if (2 * distance > std::max(word.size(), candidate.size())) continue;
        if (best && distance >= best_distance) continue;
        best = std::string{candidate};
        best_distance = distance;
    }
    return best;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Three rows of the table: the current prefix of `a`, one letter less, two letters less.
    std::vector<std::size_t> two_less(b.size() + 1);
    std::vector<std::size_t> one_less(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::swap(two_less, one_less);
        std::swap(one_less, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = std::min({one_less[j] + 1, row[j - 1] + 1, one_less[j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], two_less[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    return nearest_of(word, candidates);
}

std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates) {
    return nearest_of(word, candidates);
}

std::string unknown_word(std::string_view kind, std::string_view word,
                         std::span<const std::string> candidates) {
    std::string text = fmt::format("unknown {} '{}'", kind, word);
    if (const auto meant = nearest(word, candidates)) {
        text += fmt::format("; did you mean '{}'?", *meant);
    }
    return text;
}

}  // namespace dualpath
