// Backlog: whether requests pile up without bound while agents arrive.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace dualpath {

/// Samples, once per second, how many requests wait for their first token. The number of unfinished
/// requests would not do: it rises in every healthy run until as many agents leave as arrive.
///
/// growing() looks at the second half of the arrival period, from half the last agent's arrival to
/// that arrival, and fits a line to the waiting requests. They grow without bound when
/// 1. the slope is above 0 by more than 3 of its standard errors,
/// 2. the line rises by at least 20 % of its end over that half (a queue that grows linearly from
/// an
///    idle start rises by 50 %, one that settles by ever less), and
/// 3. at its end more wait than arrive in 10 s: by Little's law, a wait above 10 s.
/// With fewer than 10 samples there it says no.
class Backlog {
public:
    enum class Turn { first, later };
    void arrived(Instant at, Turn turn);
    /// From `now` on so many wait; instants never go back.
    void waiting(Instant now, std::uint64_t requests);

    bool growing() const;
    std::uint64_t agents_arrived() const { return agents_; }
    Instant last_agent() const { return last_agent_; }

private:
    struct Sample {
        Instant at;
        double waiting = 0, arrived = 0;  ///< then; so far
    };
    void thin_out();

    std::vector<Sample> samples_;
    Duration period_ = std::chrono::seconds{1};
    Instant next_{};
    std::uint64_t waiting_ = 0, arrived_ = 0, agents_ = 0;
    Instant last_agent_{};
};

}  // namespace dualpath
