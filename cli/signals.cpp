// Signals: Ctrl-C and TERM ask a run to stop; it then closes its files and says so.
#include "cli/signals.h"

#include <csignal>

namespace dualpath::cli {
namespace {

// A signal handler has no other way to speak to the program.
volatile std::sig_atomic_t stop_flag = 0;

extern "C" void on_signal(int signal) {
    stop_flag = 1;
    std::signal(signal, SIG_DFL);
}

}  // namespace

void watch_signals() {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
}

bool stop_requested() { return stop_flag != 0; }

}  // namespace dualpath::cli
