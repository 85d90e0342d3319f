// A JSON object that knows where it stands, so that whatever is wrong in it names its place.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/input_error.h"
#include "base/units.h"

namespace dualpath {

/// Checked access to the fields of one object. Every function throws InputError naming file, line
/// and field where the value is of the wrong kind or out of range. `null` counts as absent.
/// Refers to the parsed value: it must not outlive it.
class JsonObject {
public:
    /// `place.field` is the path of the object itself: empty for a whole line.
    JsonObject(const nlohmann::json& json, Place place);

    const nlohmann::json& json() const { return *json_; }
    Place place(std::string_view key) const;

    /// The value of a key, or nullptr.
    const nlohmann::json* find(std::string_view key) const;

    Tokens tokens(std::string_view key) const;  ///< 0 to kMostTokens; must be there
    std::optional<Tokens> optional_tokens(std::string_view key) const;
    /// Decimal seconds, 0 to kLongestSeconds, to the nearest nanosecond.
    std::optional<Duration> optional_time(std::string_view key) const;
    /// A string; an integer is taken as its digits.
    std::optional<std::string> optional_name(std::string_view key) const;
    std::string name(std::string_view key) const;  ///< as optional_name; must be there

    /// Calls `visit` for each element of an array of objects; returns their number, 0 if absent.
    std::size_t for_each(std::string_view key,
                         const std::function<void(const JsonObject&)>& visit) const;

private:
    [[noreturn]] void fail_missing(std::string_view key) const;

    const nlohmann::json* json_;
    Place place_;
};

/// Parses one line. Throws InputError with the column where it is not JSON or no object.
nlohmann::json parse_json_line(const std::string& line, const Place& place);

}  // namespace dualpath
