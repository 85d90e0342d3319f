// From Trajectory to one JSON object a line; fields that hold nothing are left out.
#include "traces/trajectory_writer.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "traces/trajectory_format.h"

namespace dualpath {
namespace {

using Json = nlohmann::ordered_json;  // keys in the order of the format's description

constexpr auto kReplace = Json::error_handler_t::replace;

Json turn_to_json(const Turn& turn) {
    Json json{{"append_tokens", turn.append.value}, {"output_tokens", turn.output.value}};
    if (turn.tool_latency) json["tool_latency_s"] = trajectory_seconds(*turn.tool_latency);
    if (turn.keep) json["keep_tokens"] = turn.keep->value;
    return json;
}

Json trajectory_to_json(const Trajectory& trajectory) {
    Json json{{"schema", kTrajectorySchema}, {"session_id", trajectory.session_id}};
    if (trajectory.arrival) json["arrival_s"] = trajectory_seconds(*trajectory.arrival);
    if (trajectory.group) json["group"] = *trajectory.group;
    if (trajectory.parent) json["parent"] = *trajectory.parent;
    if (trajectory.join) json["join"] = *trajectory.join;
    for (const PrefixSegment& segment : trajectory.prefix) {
        json["prefix"].push_back(Json{{"group", segment.group}, {"tokens", segment.tokens.value}});
    }
    for (const Turn& turn : trajectory.turns) json["turns"].push_back(turn_to_json(turn));
    return json;
}

}  // namespace

void write_trajectories(std::ostream& out, std::span<const Trajectory> trajectories) {
    for (const Trajectory& trajectory : trajectories) {
        out << trajectory_to_json(trajectory).dump(-1, ' ', false, kReplace) << '\n';
    }
}

}  // namespace dualpath
