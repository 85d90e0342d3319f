// The run loop: events from the world into control, commands from control into the world.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "control/world.h"

namespace dualpath {

/// Where requests come from. Told of every end, it answers with what arrives next.
class RequestSource {
public:
    virtual ~RequestSource() = default;
    /// What is known to arrive from the start on.
    virtual void begin(std::vector<Arrival>& arrivals) = 0;
    virtual void on_finished(Instant now, RequestId id, Outcome outcome,
                             std::vector<Arrival>& arrivals) = 0;
};

/// Sees everything that crosses the seam, in order: each event with the commands it caused.
class RunObserver {
public:
    virtual ~RunObserver() = default;
    virtual void on_event(const TimedEvent& event, std::span<const Command> commands) = 0;
};

/// stranded: nothing is left that could happen, and yet requests have not ended. too_long: more
/// than `longest_run` of run time, as when a rate of the scenario is absurdly low.
enum class RunEnd { complete, stopped, stranded, too_long };
inline constexpr Duration longest_run = std::chrono::hours{30 * 24};

/// Runs until the world has nothing left or `stop` says so (asked before each event).
RunEnd run(World& world, ControlPlane& control, RequestSource& source,
           std::span<RunObserver* const> observers, const std::function<bool()>& stop);

}  // namespace dualpath
