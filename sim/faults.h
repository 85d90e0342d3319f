// Faults in force: what is left of each capacity, and which engines are gone.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "control/messages.h"
#include "models/fault.h"
#include "sim/network.h"

namespace dualpath::sim {

/// Several faults may hold one thing. Of those on a resource the smallest fraction counts; an
/// engine is lost with the first that has it and back with the end of the last.
class Faults {
public:
    Faults() = default;
    explicit Faults(std::vector<Fault> faults);

    /// A fault begins or ends.
    struct Turn {
        Instant at;
        enum class Kind : std::uint8_t { begins, ends } kind;
        std::uint32_t fault;
    };
    /// In time order. Where one fault ends as another begins the beginning comes first: what both
    /// hold is not let go in between.
    std::span<const Turn> turns() const { return turns_; }

    /// Sets the capacities that change and appends EngineLost and EngineBack.
    void apply(const Turn& turn, std::span<const Resource> built, Network& network,
               std::vector<Event>& events);

private:
    std::vector<Fault> faults_;
    std::vector<Turn> turns_;
    std::map<ResourceId, std::multiset<double>> fractions_;  ///< in force
    std::map<EngineId, int> holders_;                        ///< how many faults have it
};

}  // namespace dualpath::sim
