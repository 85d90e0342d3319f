// The nearest known word: what somebody who mistyped a name probably meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dualpath {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
/// (restricted Damerau-Levenshtein distance); letter case counts.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, the first of equals; nothing when none is near: more than half
/// of the word's letters would have to change, letter case set aside.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);
std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates);

/// `unknown KIND 'WORD'`, and `; did you mean 'NEAREST'?` where one is near.
std::string unknown_word(std::string_view kind, std::string_view word,
                         std::span<const std::string> candidates);

}  // namespace dualpath
