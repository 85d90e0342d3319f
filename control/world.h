// World and ControlPlane: the two sides of the seam. What orders work is control; what takes time
// is a world, simulated or real. There is nothing to ask which one it is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "control/messages.h"

namespace dualpath {

/// Deterministic state machine without clock, threads or I/O: the same events give the same
/// commands, in every world and on every machine.
class ControlPlane {
public:
    virtual ~ControlPlane() = default;
    /// Appends to `commands`. Spans inside them stay valid until the next call.
    virtual void handle(Instant now, const Event& event, std::vector<Command>& commands) = 0;
};

/// A request on its way in, with the length only the world may know.
struct Arrival {
    Instant at;
    Request request;
    Tokens output;  ///< true number of generated tokens, at least 1
};

/// Executes commands and says what happened. Contract, held by tests/contract for every world:
/// events come in time order; each started transfer and step is reported exactly once unless it is
/// cancelled; nothing starts before what it comes after.
class World {
public:
    virtual ~World() = default;
    /// Will report RequestArrived at `arrival.at`, which is not in the past.
    virtual void submit(const Arrival& arrival) = 0;
    /// Starts work; never calls back.
    virtual void execute(const Command& command) = 0;
    /// The next event in time order; nullopt ends the run: nothing is left that could happen.
    virtual std::optional<TimedEvent> next() = 0;
};

/// One capacity of the world, as the run's records show it.
struct ResourceColumn {
    std::string name;  ///< decode0.dram, prefill0.3.gpu
    std::string kind;  ///< dram, snic_rx, gpu ...
    Role role = Role::prefill;
    double capacity = 0;  ///< bytes/s; for kind "gpu" 1 (seconds of useful work per second)
};

/// Usage in a window of run time: bytes (or useful GPU seconds), and the time spent at the limit.
struct ResourceUse {
    double used = 0;
    double at_limit_s = 0;
};

/// How full control's memories are, and how many wait for them; for the run's records.
struct MemoryUse {
    double prefill_hbm = 0, decode_hbm = 0, prefill_buffer = 0, decode_buffer = 0;  ///< 0 to 1
    std::size_t waiting_for_decode_hbm = 0;   ///< requests without a DE
    std::size_t waiting_for_prefill_hbm = 0;  ///< prompts read, without room on their PE
    std::size_t waiting_for_buffers = 0;      ///< requests with engines, without host buffers
};

/// Receives what a world measured, window by window, in the order of its columns.
class ResourceObserver {
public:
    virtual ~ResourceObserver() = default;
    virtual void on_window(Instant from, Instant to, std::span<const ResourceUse> use) = 0;
};

}  // namespace dualpath
