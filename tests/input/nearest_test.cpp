// What a mistyped word meant.
#include "input/nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace dualpath {
namespace {

TEST(Nearest, DistanceCountsSingleEdits) {
    EXPECT_EQ(edit_distance("node", "node"), 0U);
    EXPECT_EQ(edit_distance("nodee", "node"), 1U);      // one letter too many
    EXPECT_EQ(edit_distance("noed", "node"), 1U);       // two neighbours swapped
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);  // k>s, e>i, +g
    EXPECT_EQ(edit_distance("", "abc"), 3U);
}

TEST(Nearest, FindsTheWordThatWasMeant) {
    const std::vector<std::string> keys{"cluster", "node", "model"};
    EXPECT_EQ(nearest("nodee", keys), "node");
    EXPECT_EQ(nearest("Model", keys), "model");  // letter case set aside
}

TEST(Nearest, FindsNothingWhenNoWordIsNear) {
    const std::array<std::string_view, 2> keys{"cluster", "node"};
    EXPECT_EQ(nearest("temperature", keys), std::nullopt);
    EXPECT_EQ(nearest("x", std::span<const std::string_view>{}), std::nullopt);
}

RC_GTEST_PROP(Nearest, DistanceIsSymmetricAndAtMostTheLongerLength, ()) {
    const auto a = *rc::gen::container<std::string>(rc::gen::inRange('a', 'e'));
    const auto b = *rc::gen::container<std::string>(rc::gen::inRange('a', 'e'));
    RC_ASSERT(edit_distance(a, b) == edit_distance(b, a));
    RC_ASSERT(edit_distance(a, b) <= std::max(a.size(), b.size()));
    RC_ASSERT((edit_distance(a, b) == 0) == (a == b));
}

}  // namespace
}  // namespace dualpath
