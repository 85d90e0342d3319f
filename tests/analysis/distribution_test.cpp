// Distribution: nearest rank against a sort, and the promised error beyond the exact limit.
#include "analysis/distribution.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dualpath {
namespace {

double sorted_percentile(std::vector<double> samples, std::size_t percent) {
    std::sort(samples.begin(), samples.end());
    return samples[(samples.size() * percent + 99) / 100 - 1];
}

std::vector<double> any_samples(int largest_count) {
    const auto count = *rc::gen::inRange(1, largest_count);
    std::vector<double> samples;
    for (int i = 0; i < count; ++i) {
        const auto digits = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
        samples.push_back(std::ldexp(static_cast<double>(digits), *rc::gen::inRange(-50, 15)));
    }
    return samples;
}

// 1..10: the 5th, 9th and, since 99 % of 10 is 9.9, the 10th.
TEST(Distribution, TakesTheNearestRank) {
    Distribution d;
    for (const double sample : {7, 3, 10, 1, 9, 2, 8, 4, 6, 5}) d.add(sample);
    EXPECT_EQ(d.percentiles().p50, 5);
    EXPECT_EQ(d.percentiles().p90, 9);
    EXPECT_EQ(d.percentiles().p99, 10);
    EXPECT_EQ(d.percentile(100), 10);
    EXPECT_EQ(d.mean(), 5.5);
    EXPECT_EQ(d.min(), 1);
    EXPECT_EQ(d.max(), 10);
}

TEST(Distribution, IsZeroWithoutSamples) {
    EXPECT_EQ(Distribution{}.mean(), 0);
    EXPECT_EQ(Distribution{}.percentiles().p99, 0);
}

RC_GTEST_PROP(Distribution, AgreesWithASortWhileExact, ()) {
    const auto samples = any_samples(200);
    Distribution d;
    for (const double sample : samples) d.add(sample);
    RC_ASSERT(d.exact());
    const Percentiles p = d.percentiles();
    RC_ASSERT(p.p50 == sorted_percentile(samples, 50));
    RC_ASSERT(p.p90 == sorted_percentile(samples, 90));
    RC_ASSERT(p.p99 == sorted_percentile(samples, 99));
    for (const std::uint32_t percent : {1U, 37U, 100U}) {
        RC_ASSERT(d.percentile(percent) == sorted_percentile(samples, percent));
    }
}

RC_GTEST_PROP(Distribution, StaysWithinOnePartIn256BeyondTheLimit, ()) {
    const auto samples = any_samples(200);
    Distribution d{*rc::gen::inRange<std::size_t>(0, 5)};
    for (const double sample : samples) d.add(sample);
    double sum = 0;
    for (const double sample : samples) sum += sample;
    RC_ASSERT(d.mean() == sum / static_cast<double>(samples.size()));
    RC_ASSERT(d.max() == *std::max_element(samples.begin(), samples.end()));
    for (const std::uint32_t percent : {1U, 50U, 90U, 99U}) {
        const double exact = sorted_percentile(samples, percent);
        const double error = std::abs(d.percentile(percent) - exact);
        RC_ASSERT(error <= exact / 256 + std::ldexp(1.0, -41));
    }
}

}  // namespace
}  // namespace dualpath
