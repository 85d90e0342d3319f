// Replay: recorded events into a fresh control plane must give the recorded commands again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/event_log.h"
#include "control/world.h"

namespace dualpath {

/// Where control answered differently than recorded.
struct Divergence {
    std::uint64_t record = 0;  ///< 1-based
    Instant at;
    std::string_view event;  ///< RequestArrived ...
    std::string what;        ///< a sentence: recorded and replayed commands
};

/// The alternative's name, as in control/messages.h.
std::string_view event_name(const Event& event);

/// Feeds the rest of the log to `control`; the first difference, or nullopt when there is none.
/// `log.records()` and `log.truncated()` tell how far it went.
std::optional<Divergence> replay(EventLogReader& log, ControlPlane& control);

}  // namespace dualpath
