// From one JSON object a line to Trajectory; what is wrong is told where it stands.
#include "traces/trajectory_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/input_error.h"
#include "traces/json_object.h"
#include "traces/text_lines.h"
#include "traces/trajectory_format.h"

namespace dualpath {
namespace {

using Keys = std::span<const std::string_view>;

constexpr std::array<std::string_view, 8> kRecordKeys{"schema", "session_id", "arrival_s", "group",
                                                      "prefix", "turns",      "parent",    "join"};
constexpr std::array<std::string_view, 2> kSegmentKeys{"group", "tokens"};
constexpr std::array<std::string_view, 4> kTurnKeys{"append_tokens", "output_tokens",
                                                    "tool_latency_s", "keep_tokens"};

/// Part of the format, but nothing that a replay of token counts needs.
constexpr std::array<std::string_view, 8> kIgnoredKeys{
    "obs", "source", "meta", "model", "hash_ids", "block_size", "hash_scope", "spawn"};

bool contains(Keys keys, std::string_view key) {
    return std::ranges::find(keys, key) != keys.end();
}

/// Warns about a key the first time it is met anywhere in the file.
class UnknownKeys {
public:
    explicit UnknownKeys(std::vector<std::string>& warnings) : warnings_{warnings} {}

    void check(const JsonObject& object, Keys known) {
        for (const auto& [key, value] : object.json().items()) {
            if (contains(known, key) || contains(kIgnoredKeys, key)) continue;
            if (!warned_.insert(key).second) continue;
            const Place place = object.place(key);
            warnings_.push_back(fmt::format("{}:{}: {}: unknown key is ignored (said once)",
                                            place.file, place.line, place.field));
        }
    }

private:
    std::vector<std::string>& warnings_;
    std::set<std::string> warned_;
};

void check_schema(const JsonObject& record, bool first) {
    const auto schema = record.optional_name("schema");
    if (!schema && !first) return;
    const std::string allowed = fmt::format("\"{}\" is expected", kTrajectorySchema);
    if (!schema) {
        throw InputError{record.place("schema"), "is missing in the first record", allowed};
    }
    const std::string minor_version = std::string{kTrajectorySchema} + ".";
    if (*schema != kTrajectorySchema && !schema->starts_with(minor_version)) {
        throw InputError{record.place("schema"), fmt::format("\"{}\" is unknown", *schema),
                         allowed};
    }
}

std::vector<PrefixSegment> read_prefix(const JsonObject& record, UnknownKeys& unknown) {
    std::vector<PrefixSegment> prefix;
    record.for_each("prefix", [&](const JsonObject& segment) {
        unknown.check(segment, kSegmentKeys);
        prefix.push_back({.group = segment.name("group"), .tokens = segment.tokens("tokens")});
    });
    return prefix;
}

Turn read_turn(const JsonObject& json, Tokens context) {
    const Turn turn{.append = json.tokens("append_tokens"),
                    .output = json.tokens("output_tokens"),
                    .tool_latency = json.optional_time("tool_latency_s"),
                    .keep = json.optional_tokens("keep_tokens")};
    if (turn.keep && *turn.keep > context) {
        throw InputError{json.place("keep_tokens"),
                         fmt::format("{} is more than the context", turn.keep->value),
                         fmt::format("0 to {} tokens can be kept here", context.value)};
    }
    return turn;
}

std::vector<Turn> read_turns(const JsonObject& record, Tokens prefix, UnknownKeys& unknown) {
    std::vector<Turn> turns;
    Tokens context = prefix;
    record.for_each("turns", [&](const JsonObject& json) {
        unknown.check(json, kTurnKeys);
        turns.push_back(read_turn(json, context));
        context = lengths_after(context, turns.back()).end;
    });
    if (turns.empty()) {
        throw InputError{record.place("turns"), "there are none", "at least one turn is needed"};
    }
    return turns;
}

std::optional<std::string> read_join(const JsonObject& record) {
    auto join = record.optional_name("join");
    if (join && *join != "wait" && *join != "background") {
        throw InputError{record.place("join"), fmt::format("\"{}\" is unknown", *join),
                         "\"wait\" or \"background\" is expected"};
    }
    return join;
}

Trajectory read_trajectory(const JsonObject& record, UnknownKeys& unknown) {
    unknown.check(record, kRecordKeys);
    Trajectory trajectory;
    trajectory.session_id = record.optional_name("session_id")
                                .value_or(std::to_string(record.place("session_id").line));
    trajectory.arrival = record.optional_time("arrival_s");
    trajectory.prefix = read_prefix(record, unknown);
    trajectory.turns = read_turns(record, prefix_tokens(trajectory), unknown);
    trajectory.group = record.optional_name("group");
    trajectory.parent = record.optional_name("parent");
    trajectory.join = read_join(record);
    return trajectory;
}

}  // namespace

TrajectoryFile read_trajectories(const std::filesystem::path& path) {
    TrajectoryFile file;
    UnknownKeys unknown{file.warnings};
    TextLines lines{path};
    while (const auto line = lines.next()) {
        const auto json = parse_json_line(*line, lines.place());
        const JsonObject record{json, lines.place()};
        check_schema(record, file.trajectories.empty());
        file.trajectories.push_back(read_trajectory(record, unknown));
    }
    if (file.trajectories.empty()) throw InputError{{path.string(), 0, {}}, "has no trajectories"};
    return file;
}

}  // namespace dualpath
