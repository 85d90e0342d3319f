// Kind and range checks of JSON fields.
#include "traces/json_object.h"

#include <fmt/format.h>

#include <utility>

#include "traces/trajectory_format.h"

namespace dualpath {
namespace {

using Json = nlohmann::json;

/// The value as written, shortened: it stands in an error message.
std::string shown(const Json& value) {
    constexpr std::size_t kMost = 40;
    const std::string text = value.dump();
    return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

Tokens to_tokens(const Json& value, const Place& place) {
    const std::string allowed = fmt::format("an integer from 0 to {} is expected", kMostTokens);
    if (!value.is_number_integer()) {
        throw InputError{place, shown(value) + " is no token count", allowed};
    }
    const bool above = value.is_number_unsigned() && value.get<std::uint64_t>() > kMostTokens;
    if (above || value.get<std::int64_t>() < 0) {
        throw InputError{place, shown(value) + " is out of range", allowed};
    }
    return {value.get<std::int64_t>()};
}

}  // namespace

JsonObject::JsonObject(const Json& json, Place place) : json_{&json}, place_{std::move(place)} {
    if (!json.is_object()) {
        throw InputError{place_, shown(json) + " is no JSON object", "{...} is expected"};
    }
}

Place JsonObject::place(std::string_view key) const {
    Place place = place_;
    if (!place.field.empty()) place.field += '.';
    place.field += key;
    return place;
}

const Json* JsonObject::find(std::string_view key) const {
    const auto found = json_->find(key);
    return found == json_->end() || found->is_null() ? nullptr : &*found;
}

void JsonObject::fail_missing(std::string_view key) const {
    throw InputError{place(key), "is missing"};
}

Tokens JsonObject::tokens(std::string_view key) const {
    const Json* const value = find(key);
    if (value == nullptr) fail_missing(key);
    return to_tokens(*value, place(key));
}

std::optional<Tokens> JsonObject::optional_tokens(std::string_view key) const {
    const Json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    return to_tokens(*value, place(key));
}

std::optional<Duration> JsonObject::optional_time(std::string_view key) const {
    const Json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    const std::string allowed = fmt::format("0 to {} seconds or null is expected", kLongestSeconds);
    if (!value->is_number()) throw InputError{place(key), shown(*value) + " is no time", allowed};
    const auto seconds = value->get<double>();
    if (!(seconds >= 0 && seconds <= kLongestSeconds)) {
        throw InputError{place(key), shown(*value) + " is out of range", allowed};
    }
    return trajectory_time(seconds);
}

std::optional<std::string> JsonObject::optional_name(std::string_view key) const {
    const Json* const value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    if (value->is_number_integer()) return value->dump();
    throw InputError{place(key), shown(*value) + " is no name",
                     "a string or an integer is expected"};
}

std::string JsonObject::name(std::string_view key) const {
    auto found = optional_name(key);
    if (!found) fail_missing(key);
    return *std::move(found);
}

std::size_t JsonObject::for_each(std::string_view key,
                                 const std::function<void(const JsonObject&)>& visit) const {
    const Json* const list = find(key);
    if (list == nullptr) return 0;
    if (!list->is_array()) {
        throw InputError{place(key), shown(*list) + " is no list", "[{...}, ...] is expected"};
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
        visit(JsonObject{(*list)[i], place(fmt::format("{}[{}]", key, i))});
    }
    return list->size();
}

Json parse_json_line(const std::string& line, const Place& place) {
    try {
        return Json::parse(line);
    } catch (const Json::parse_error& error) {
        throw InputError{place, fmt::format("is not JSON from column {} on", error.byte),
                         "one JSON object a line is expected"};
    } catch (const Json::out_of_range&) {
        throw InputError{place, "a number is too large to be read"};
    }
}

}  // namespace dualpath
