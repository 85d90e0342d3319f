// The run loop: events from the world into control, commands from control into the world.
#include "control/run.h"

#include "base/check.h"

namespace dualpath {

RunEnd run(World& world, ControlPlane& control, RequestSource& source,
           std::span<RunObserver* const> observers, const std::function<bool()>& stop) {
    std::vector<Arrival> arrivals;
    std::vector<Command> commands;
    source.begin(arrivals);
    for (const Arrival& arrival : arrivals) world.submit(arrival);
    Instant now{};
    while (!stop()) {
        const auto event = world.next();
        if (!event) return RunEnd::complete;
        CHECK(event->at >= now, "the clock never goes back");
        if (event->at > Instant{longest_run}) return RunEnd::too_long;
        now = event->at;
        commands.clear();
        control.handle(now, event->event, commands);
        for (RunObserver* observer : observers) observer->on_event(*event, commands);
        arrivals.clear();
        for (const Command& command : commands) {
            world.execute(command);
            if (const auto* end = std::get_if<RequestFinished>(&command)) {
                source.on_finished(now, end->id, end->outcome, arrivals);
            }
        }
        for (const Arrival& arrival : arrivals) world.submit(arrival);
    }
    return RunEnd::stopped;
}

}  // namespace dualpath
