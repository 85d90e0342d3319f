// The host: what this process used and where it ran; it may differ between identical runs.
#pragma once

#include <nlohmann/json.hpp>

namespace dualpath::cli {

/// CPU seconds, wall seconds since the start of the program, peak memory, machine and build.
nlohmann::ordered_json host_facts();

/// User plus system CPU time of this process, in seconds.
double cpu_seconds();

}  // namespace dualpath::cli
