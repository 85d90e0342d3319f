// SteadyState: when a run's TTFT has settled, by the paper's rule for its online experiments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"

namespace dualpath {

/// Reached when the mean TTFT in a sliding window differs by less than `change` from that of the
/// same window `back` earlier (paper, 7.4). Looked at ten times per window; both windows need a
/// sample, so nothing is steady before `back + window`.
class SteadyState {
public:
    struct Settings {
        Duration window = std::chrono::seconds{150};
        Duration back = std::chrono::minutes{30};
        double change = 0.05;
    };

    SteadyState() : SteadyState{Settings{}} {}
    explicit SteadyState(const Settings& settings);

    /// A first token at `at`; instants never go back.
    void add(Instant at, Duration ttft);

    std::optional<Instant> reached() const { return reached_; }
    /// Over the newest whole window, in seconds; nothing without a sample in it.
    std::optional<double> window_mean() const { return mean_before(slices_.size()); }

private:
    struct Slice {
        double sum_s = 0;
        std::uint64_t count = 0;
    };
    void close_slice();
    /// Over the window of slices that ends before slice `end`.
    std::optional<double> mean_before(std::size_t end) const;

    Settings settings_;
    Duration slice_;
    std::vector<Slice> slices_;  ///< closed ones, from instant 0 on
    Slice open_;
    std::optional<Instant> reached_;
};

}  // namespace dualpath
