// Distribution: mean, extremes and percentiles of many samples in bounded memory.
#include "analysis/distribution.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace dualpath {
namespace {

constexpr int lowest_exponent = -40;  // frexp: 2^-41 <= sample < 2^-40
constexpr int highest_exponent = 41;
constexpr std::size_t per_octave = 128;
constexpr std::size_t bucket_count =  // the first one is for everything below
    1 + per_octave * static_cast<std::size_t>(highest_exponent - lowest_exponent + 1);

std::size_t bucket_of(double sample) {
    int exponent = 0;
    const double mantissa = std::frexp(sample, &exponent);  // in [0.5, 1)
    if (sample <= 0 || exponent < lowest_exponent) return 0;
    if (exponent > highest_exponent) return bucket_count - 1;
    const auto part = static_cast<std::size_t>((mantissa - 0.5) * 2 * per_octave);
    return 1 + static_cast<std::size_t>(exponent - lowest_exponent) * per_octave + part;
}

double middle_of(std::size_t bucket) {
    if (bucket == 0) return 0;
    const std::size_t octave = (bucket - 1) / per_octave;
    const std::size_t part = (bucket - 1) % per_octave;
    const double mantissa = 0.5 + (static_cast<double>(part) + 0.5) / (2 * per_octave);
    return std::ldexp(mantissa, static_cast<int>(octave) + lowest_exponent);
}

}  // namespace

void Distribution::add(double sample) {
    CHECK(sample >= 0 && std::isfinite(sample), "a sample is a number at or above 0");
    min_ = count_ == 0 ? sample : std::min(min_, sample);
    max_ = std::max(max_, sample);
    sum_ += sample;
    ++count_;
    if (!buckets_.empty()) {
        add_to_bucket(sample);
        return;
    }
    if (samples_.size() < exact_limit_) {
        samples_.push_back(sample);
        return;
    }
    buckets_.assign(bucket_count, 0);
    for (const double earlier : samples_) add_to_bucket(earlier);
    add_to_bucket(sample);
    samples_ = {};
}

void Distribution::add_to_bucket(double sample) { ++buckets_[bucket_of(sample)]; }

/// 1-based; in integers, so that 90 % of 10 is the 9th and not the 10th.
std::uint64_t Distribution::rank(std::uint32_t percent) const {
    CHECK(percent >= 1 && percent <= 100, "a percentile lies in 1..100");
    return (count_ * percent + 99) / 100;
}

double Distribution::from_buckets(std::uint64_t wanted) const {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= wanted) return std::clamp(middle_of(i), min_, max_);
    }
    return max_;
}

double Distribution::percentile(std::uint32_t percent) const {
    if (count_ == 0) return 0;
    if (!exact()) return from_buckets(rank(percent));
    auto sorted = samples_;
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank(percent) - 1);
    std::nth_element(sorted.begin(), at, sorted.end());
    return *at;
}

Percentiles Distribution::percentiles() const {
    if (count_ == 0) return {};
    if (!exact()) return {from_buckets(rank(50)), from_buckets(rank(90)), from_buckets(rank(99))};
    auto sorted = samples_;
    auto from = sorted.begin();  // each selection leaves the larger ones behind its place
    const auto next = [&](std::uint32_t percent) {
        const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank(percent) - 1);
        std::nth_element(from, at, sorted.end());
        from = at;
        return *at;
    };
    const double p50 = next(50), p90 = next(90);
    return {p50, p90, next(99)};
}

}  // namespace dualpath
