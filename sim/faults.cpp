// Faults in force: what is left of each capacity, and which engines are gone.
#include "sim/faults.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace dualpath::sim {

Faults::Faults(std::vector<Fault> faults) : faults_{std::move(faults)} {
    for (std::uint32_t i = 0; i < faults_.size(); ++i) {
        const Fault& fault = faults_[i];
        turns_.push_back({fault.from, Turn::Kind::begins, i});
        if (!fault.until) continue;
        CHECK(*fault.until > fault.from, "a fault lasts");
        turns_.push_back({*fault.until, Turn::Kind::ends, i});
    }
    std::sort(turns_.begin(), turns_.end(), [](const Turn& a, const Turn& b) {
        return std::tie(a.at, a.kind, a.fault) < std::tie(b.at, b.kind, b.fault);
    });
}

void Faults::apply(const Turn& turn, std::span<const Resource> built, Network& network,
                   std::vector<Event>& events) {
    const Fault& fault = faults_[turn.fault];
    const bool begins = turn.kind == Turn::Kind::begins;
    for (const auto& [resource, fraction] : fault.slowed) {
        auto& in_force = fractions_[resource];
        const double before = in_force.empty() ? 1 : *in_force.begin();
        if (begins)
            in_force.insert(fraction);
        else
            in_force.erase(in_force.find(fraction));
        const double now = in_force.empty() ? 1 : *in_force.begin();
        if (now == before) continue;
        network.set_capacity(resource, {built[resource.index()].capacity.value * now}, turn.at);
    }
    for (const EngineId engine : fault.lost) {
        if (begins) {
            if (holders_[engine]++ == 0) events.emplace_back(EngineLost{engine});
        } else if (--holders_[engine] == 0) {
            events.emplace_back(EngineBack{engine});
        }
    }
}

}  // namespace dualpath::sim
