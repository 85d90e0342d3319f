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
    std::size_t waiting = arrivals.size();
    Instant now{};
    while (!stop()) {
        const auto event = world.next();
        if (!event) return waiting == 0 ? RunEnd::complete : RunEnd::stranded;
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
                --waiting;
                source.on_finished(now, end->id, end->outcome, arrivals);
            }
        }
        for (const Arrival& arrival : arrivals) world.submit(arrival);
        waiting += arrivals.size();
    }
    return RunEnd::stopped;
}

}  // namespace dualpath
