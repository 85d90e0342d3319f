// Signals: Ctrl-C and TERM ask a run to stop; it then closes its files and says so.
#pragma once

namespace dualpath::cli {

/// From now on SIGINT and SIGTERM only set a flag; a second one ends the program at once.
void watch_signals();
bool stop_requested();

}  // namespace dualpath::cli
