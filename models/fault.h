// A fault: for a while, capacities are a fraction of what was built, or engines are gone.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace dualpath {

/// The smallest fraction a fault may leave. A link without any rate would never end a flow and
/// never say so; at a millionth nothing gets through that matters. `storage: stalled` means this.
inline constexpr double stalled_fraction = 1e-6;

/// Data only: the world applies it, control finds out by its events and queues.
struct Fault {
    struct Slowed {
        ResourceId resource;
        double fraction;  ///< of what was built that is left, stalled_fraction to 1
    };

    Instant from;
    std::optional<Instant> until;  ///< when it ends; absent: never
    std::vector<Slowed> slowed;
    std::vector<EngineId> lost;
};

}  // namespace dualpath
