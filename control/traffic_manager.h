// TrafficManager: one engine's copies, in order (paper section 6).
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "control/messages.h"

namespace dualpath {

/// Everything in or out of an engine's GPU or its node's SNIC on its behalf goes through here.
/// Reads and writes of storage are first come first served with a bound on how many are in flight,
/// so that the first in the queue is served at full rate; all other movements start at once and are
/// ordered by what they come after.
class TrafficManager {
public:
    explicit TrafficManager(int storage_transfers_in_flight)
        : lanes_{{{storage_transfers_in_flight, {}}, {storage_transfers_in_flight, {}}}} {}

    /// Starts the transfer now, or when its turn comes.
    void submit(const Transfer& transfer, const After& after, std::vector<Command>& commands);
    /// A transfer that was started has ended or was cancelled: the next one may start.
    void ended(Movement movement, std::vector<Command>& commands);
    /// Takes back one that has not started; false when it has.
    bool withdraw(const Transfer& transfer);

private:
    struct Lane {
        int free;
        std::deque<StartTransfer> waiting;
    };
    Lane* lane_of(Movement movement) {
        if (movement == Movement::storage_to_host) return &lanes_[0];
        if (movement == Movement::host_to_storage) return &lanes_[1];
        return nullptr;
    }
    std::array<Lane, 2> lanes_;
};

}  // namespace dualpath
