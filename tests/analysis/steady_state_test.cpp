// Steady state: instants worked out by hand.
#include "analysis/steady_state.h"

#include <gtest/gtest.h>

#include "tests/analysis/seam_feed.h"

namespace dualpath {
namespace {

// Windows of 150 s, 30 min apart: the first pair is whole at 1800 + 150 s.
TEST(SteadyState, ConstantTtftIsSteadyAsSoonAsTwoWindowsExist) {
    SteadyState s;
    for (int t = 0; t < 1950; ++t) s.add(at_s(t), std::chrono::seconds{1});
    EXPECT_FALSE(s.reached());
    s.add(at_s(1950), std::chrono::seconds{1});
    EXPECT_EQ(s.reached(), at_s(1950));
    EXPECT_EQ(s.window_mean(), 1);
}

// TTFT t / 100 at every t: the window that ends at T (samples T - 150 .. T - 1) has the mean
// (T - 75.5) / 100, the one 1800 s earlier (T - 1875.5) / 100. 1800 < 0.05 (T - 1875.5) from
// T > 37875.5 on; looked at every 15 s, that is 37890 = 15 * 2526.
TEST(SteadyState, GrowingTtftIsSteadyOnlyWhenTheGrowthIsSmallAgainstIt) {
    SteadyState s;
    for (int t = 0; t <= 40'000 && !s.reached(); ++t) s.add(at_s(t), from_seconds(t / 100.0));
    EXPECT_EQ(s.reached(), at_s(37'890));
}

// Windows of 10 s, 20 s apart. Samples at 0..9 and at 30 on only: at 30 the earlier window is
// [0, 10) but the newer, [20, 30), is empty; at 40 the earlier is [10, 20), empty. Then [20, 30).
// At 50 the earlier window is [20, 30), empty; the first two whole windows end at 31 and 51: of the
// earlier one the slice [30, 31) has a sample.
TEST(SteadyState, NeedsASampleInBothWindows) {
    SteadyState s{{.window = std::chrono::seconds{10}, .back = std::chrono::seconds{20}}};
    for (int t = 0; t < 60; ++t) {
        if (t < 10 || t >= 30) s.add(at_s(t), std::chrono::seconds{t < 10 ? 1 : 2});
    }
    EXPECT_EQ(s.reached(), at_s(51));
}

}  // namespace
}  // namespace dualpath
