// Replay: recorded events into a fresh control plane must give the recorded commands again.
#include "analysis/replay.h"

#include <array>

#include <fmt/format.h>

#include "analysis/run_hash.h"

namespace dualpath {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Event>> event_names{
    "RequestArrived", "GroupFetched",   "TransferDone", "LayersDone", "StepDone",
    "TimerFired",     "RequestAborted", "EngineLost",   "EngineBack", "WeightsChanged"};
constexpr std::array<std::string_view, std::variant_size_v<Command>> command_names{
    "StartTransfer", "StartStep", "SetTimer", "Cancel", "AssignRequest", "RequestFinished"};

/// "2 StartTransfer, 1 StartStep"
std::string counted(const std::vector<Command>& commands) {
    std::array<std::size_t, command_names.size()> count{};
    for (const Command& command : commands) ++count[command.index()];
    std::string text;
    for (std::size_t i = 0; i < count.size(); ++i) {
        if (count[i] == 0) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count[i], command_names[i]);
    }
    return text.empty() ? "none" : text;
}

}  // namespace

std::string_view event_name(const Event& event) { return event_names[event.index()]; }

std::optional<Divergence> replay(EventLogReader& log, ControlPlane& control) {
    std::vector<Command> commands;
    while (const auto logged = log.next()) {
        commands.clear();
        const auto& [at, event] = logged->event;
        control.handle(at, event, commands);
        const std::uint32_t hash = command_hash(commands);
        if (commands.size() == logged->commands && hash == logged->command_hash) continue;
        return Divergence{
            log.records(), at, event_name(event),
            fmt::format("{} commands with hash {:08x} were recorded, {} with hash {:08x} came now "
                        "({})",
                        logged->commands, logged->command_hash, commands.size(), hash,
                        counted(commands))};
    }
    return std::nullopt;
}

}  // namespace dualpath
