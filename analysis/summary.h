// The summary: a run's metrics as JSON for machines and as a table for people.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "analysis/metrics.h"

namespace dualpath {

/// First key of every summary.json of ours; run folders are recognised by it.
inline constexpr char summary_format[] = "dualpath run 1";

/// What the run's owner knows and metrics cannot see.
struct RunFacts {
    std::string scenario;       ///< name or file
    std::string scenario_hash;  ///< of the resolved scenario
    std::uint64_t seed = 1;
    std::string version;
    std::string calibration;
    std::string system;
    std::uint64_t agents = 0;
    std::uint64_t events = 0;
    std::uint64_t flows = 0;  ///< transfers the world has moved
    std::string events_hash;  ///< RunHash::hex()
    bool complete = false;    ///< false: stopped, or still running
};

/// Keys of cli.md and more; SI units, the unit last in a name. Never NaN or infinity: counts, sums,
/// rates and utilisations are 0 where nothing happened; statistics over no sample at all (latencies
/// without a finished request, max/avg without a read) are null. Equal doubles print equal.
nlohmann::ordered_json summary(const Metrics& metrics, const RunFacts& facts);

/// The final table of `dualpath run`: plain text, about 35 lines of up to 80 columns.
std::string table(const nlohmann::ordered_json& summary);

}  // namespace dualpath
