// From one row to one trajectory of one turn.
#include "traces/requests_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/input_error.h"
#include "traces/text_lines.h"
#include "traces/trajectory_format.h"

namespace dualpath {
namespace {

constexpr std::string_view kHeader = "arrived_at,num_prefill_tokens,num_decode_tokens";

/// The three cells of a row.
std::array<std::string_view, 3> cells_of(std::string_view row, const Place& place) {
    const auto commas = std::ranges::count(row, ',');
    if (commas != 2) {
        throw InputError{place, fmt::format("{} cells", commas + 1),
                         fmt::format("{} is expected", kHeader)};
    }
    const std::size_t first = row.find(',');
    const std::size_t second = row.find(',', first + 1);
    return {row.substr(0, first), row.substr(first + 1, second - first - 1),
            row.substr(second + 1)};
}

/// The whole cell as a number from 0 to `most`, or nullopt.
template <class Number>
std::optional<Number> parse_number(std::string_view cell, Number most) {
    Number number{};
    const char* const end = cell.data() + cell.size();
    const auto [stopped, error] = std::from_chars(cell.data(), end, number);
    const bool in_range = number >= 0 && number <= most;  // false for NaN
    if (error != std::errc{} || stopped != end || !in_range) return std::nullopt;
    return number;
}

Tokens to_tokens(std::string_view cell, const Place& place) {
    const auto count = parse_number(cell, kMostTokens);
    if (!count) {
        throw InputError{place, fmt::format("\"{}\" is no token count", cell),
                         fmt::format("an integer from 0 to {} is expected", kMostTokens)};
    }
    return {*count};
}

Duration to_arrival(std::string_view cell, const Place& place) {
    const auto seconds = parse_number(cell, kLongestSeconds);
    if (!seconds) {
        throw InputError{place, fmt::format("\"{}\" is no arrival", cell),
                         fmt::format("0 to {} seconds is expected", kLongestSeconds)};
    }
    return trajectory_time(*seconds);
}

}  // namespace

std::vector<Trajectory> read_requests_csv(const std::filesystem::path& path) {
    TextLines lines{path};
    const auto header = lines.next();
    if (header != kHeader) {
        throw InputError{lines.place("header"),
                         fmt::format("\"{}\" is unknown", header.value_or("")),
                         fmt::format("\"{}\" is expected", kHeader)};
    }
    std::vector<Trajectory> requests;
    while (const auto row = lines.next()) {
        const auto [arrived, prompt, output] = cells_of(*row, lines.place("row"));
        Trajectory request;
        request.session_id = fmt::format("request_{}", requests.size());
        request.arrival = to_arrival(arrived, lines.place("arrived_at"));
        request.turns.push_back({.append = to_tokens(prompt, lines.place("num_prefill_tokens")),
                                 .output = to_tokens(output, lines.place("num_decode_tokens")),
                                 .tool_latency = {},
                                 .keep = {}});
        requests.push_back(std::move(request));
    }
    if (requests.empty()) throw InputError{{path.string(), 0, {}}, "has no rows below its header"};
    return requests;
}

}  // namespace dualpath
