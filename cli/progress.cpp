// Progress: how far a run is, on a terminal as one live line, elsewhere as a line now and then.
#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace dualpath::cli {
namespace {

using std::chrono::steady_clock;

std::string clock_text(double seconds) {
    const auto s = static_cast<std::int64_t>(seconds);
    return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                    : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

Progress::Output Progress::suitable(bool quiet) {
    if (quiet) return Output::none;
    return isatty(STDERR_FILENO) ? Output::live : Output::lines;
}

Progress::Progress(Output output) : output_{output}, start_{steady_clock::now()}, next_{start_} {
    next_ += output == Output::live ? std::chrono::milliseconds{500} : std::chrono::seconds{5};
}

bool Progress::due() {
    const auto now = steady_clock::now();
    if (now < next_) return false;
    next_ =
        now + (output_ == Output::live ? std::chrono::milliseconds{500} : std::chrono::seconds{10});
    return true;
}

std::string Progress::text(const ProgressState& s) const {
    const double spent = std::chrono::duration<double>(steady_clock::now() - start_).count();
    const double share =
        s.requests > 0 ? static_cast<double>(s.requests_done) / static_cast<double>(s.requests) : 0;
    const std::string left = share > 0.01 ? clock_text(spent / share * (1 - share)) : "?";
    return fmt::format(
        "simulated {:.1f} s, agents {}/{}, requests {}/{} ({:.0f} %), {} spent, about {} left",
        to_seconds(s.now), s.agents_done, s.agents, s.requests_done, s.requests, 100 * share,
        clock_text(spent), left);
}

void Progress::show(const ProgressState& state) {
    if (output_ == Output::none) return;
    if (output_ == Output::live)
        fmt::print(stderr, "\r\033[K{}", text(state));
    else
        fmt::print(stderr, "{}\n", text(state));
    std::fflush(stderr);
    shown_ = true;
}

void Progress::finish() {
    if (output_ == Output::live && shown_) fmt::print(stderr, "\r\033[K");
}

}  // namespace dualpath::cli
