// Reads single requests from CSV, in the form Vidur uses: arrival, prompt and output lengths.
#pragma once

#include <filesystem>
#include <vector>

#include "traces/trajectory.h"

namespace dualpath {

/// One trajectory of one turn for each row. The header must be
/// `arrived_at,num_prefill_tokens,num_decode_tokens` (seconds, tokens, tokens); the file may be
/// gzip. Arrivals are kept as written, to the nearest nanosecond. Throws InputError with file,
/// line and column name on the first thing that is wrong; a file without rows is wrong, too.
std::vector<Trajectory> read_requests_csv(const std::filesystem::path& path);

}  // namespace dualpath
