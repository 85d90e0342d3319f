// The worlds that the contract is held against, behind one interface.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/world.h"
#include "models/layout.h"

namespace dualpath {

/// A world with what a test may do to it from outside.
class TestedWorld {
public:
    virtual ~TestedWorld() = default;
    virtual World& world() = 0;
    virtual const Layout& layout() const = 0;
    /// Lets something happen at `at`: a lost engine, an engine that is back.
    virtual void schedule(Instant at, const Event& event) = 0;
};

/// `exact`: time is computed, not measured, so timers are punctual and two runs are the same.
struct WorldFactory {
    std::string name;
    enum class Time { exact, measured } time;
    std::function<std::unique_ptr<TestedWorld>(const ClusterShape&)> make;
};

/// All that this build has.
std::vector<WorldFactory> world_factories();

}  // namespace dualpath
