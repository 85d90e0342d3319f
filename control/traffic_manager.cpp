// TrafficManager: one engine's copies, in order (paper section 6).
#include "control/traffic_manager.h"

#include <algorithm>

namespace dualpath {

void TrafficManager::submit(const Transfer& transfer, const After& after,
                            std::vector<Command>& commands) {
    Lane* lane = lane_of(transfer.movement);
    if (lane && lane->free == 0) {
        lane->waiting.push_back({transfer, after});
        return;
    }
    if (lane) --lane->free;
    commands.push_back(StartTransfer{transfer, after});
}

void TrafficManager::ended(Movement movement, std::vector<Command>& commands) {
    Lane* lane = lane_of(movement);
    if (!lane) return;
    if (lane->waiting.empty()) {
        ++lane->free;
        return;
    }
    commands.push_back(lane->waiting.front());
    lane->waiting.pop_front();
}

bool TrafficManager::withdraw(const Transfer& transfer) {
    Lane* lane = lane_of(transfer.movement);
    if (!lane) return false;
    const auto at =
        std::find_if(lane->waiting.begin(), lane->waiting.end(),
                     [&](const auto& start) { return start.transfer.id == transfer.id; });
    if (at == lane->waiting.end()) return false;
    lane->waiting.erase(at);
    return true;
}

}  // namespace dualpath
