// Distribution: mean, extremes and percentiles of many samples in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dualpath {

struct Percentiles {
    double p50 = 0, p90 = 0, p99 = 0;
};

/// Samples at or above 0. Percentiles are nearest rank: the ceil(p/100 * n)-th smallest sample.
/// Exact up to `exact_limit` samples; from then on samples fall into buckets, 128 equal ones per
/// power of two, and a percentile is its bucket's middle: off by at most 1/256 (0.4 %) of the true
/// value between 2^-41 and 2^41; below that it counts as 0, above as 2^41. Mean and extremes stay
/// exact. Only +, *, frexp: the same on every machine.
class Distribution {
public:
    explicit Distribution(std::size_t exact_limit = 2'000'000) : exact_limit_{exact_limit} {}

    void add(double sample);

    std::uint64_t count() const { return count_; }
    double sum() const { return sum_; }
    double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }
    double min() const { return min_; }  ///< 0 without samples, as all below
    double max() const { return max_; }
    bool exact() const { return buckets_.empty(); }
    Percentiles percentiles() const;
    /// percent in 1..100.
    double percentile(std::uint32_t percent) const;

private:
    void add_to_bucket(double sample);
    std::uint64_t rank(std::uint32_t percent) const;
    double from_buckets(std::uint64_t rank) const;

    std::size_t exact_limit_;
    std::vector<double> samples_;         ///< until there are too many
    std::vector<std::uint64_t> buckets_;  ///< counts; from then on
    std::uint64_t count_ = 0;
    double sum_ = 0, min_ = 0, max_ = 0;
};

}  // namespace dualpath
