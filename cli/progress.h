// Progress: how far a run is, on a terminal as one live line, elsewhere as a line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/units.h"

namespace dualpath::cli {

struct ProgressState {
    Instant now;
    std::uint64_t agents_done = 0, agents = 0;
    std::uint64_t requests_done = 0, requests = 0;
};

class Progress {
public:
    enum class Output { none, lines, live };
    /// live on a terminal, lines elsewhere, none when quiet. Writes to stderr.
    static Output suitable(bool quiet);

    explicit Progress(Output output);
    /// True every few seconds of real time: the moment to call show() and to save.
    bool due();
    void show(const ProgressState& state);
    /// Ends the live line.
    void finish();

private:
    std::string text(const ProgressState& state) const;

    Output output_;
    std::chrono::steady_clock::time_point start_, next_;
    bool shown_ = false;
};

}  // namespace dualpath::cli
