// CapacitySearch: the highest load that a yes-or-no probe still allows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace dualpath {

struct SearchSettings {
    double start = 1;                ///< the first probe, unless `from` and `to` are given
    std::optional<double> from, to;  ///< no probe below, above
    double tolerance = 0.02;         ///< done when missed <= met * (1 + tolerance)
    enum class Loads : std::uint8_t { real, whole } loads = Loads::real;
};

struct SearchResult {
    std::optional<double> met;     ///< the highest load probed that met; nothing: none did
    std::optional<double> missed;  ///< the lowest probed that did not; nothing: all met
};

/// Doubles or halves the load from `start` until one load meets and one misses, at most 20 times,
/// then bisects. Whole loads are done when they are neighbours.
/// Assumes that below a load that meets all meet; with a probe that is not so monotonic it still
/// returns a load that met within the tolerance of one that missed.
SearchResult search_capacity(const SearchSettings& settings,
                             const std::function<bool(double)>& meets);

}  // namespace dualpath
