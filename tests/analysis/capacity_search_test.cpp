// Capacity search: which loads it probes, and what it returns.
#include "analysis/capacity_search.h"

#include <vector>

#include <gtest/gtest.h>

namespace dualpath {
namespace {

struct Found {
    SearchResult result;
    std::vector<double> probed;
};

Found search(const SearchSettings& settings, double truth) {
    Found found;
    found.result = search_capacity(settings, [&](double load) {
        found.probed.push_back(load);
        return load <= truth;
    });
    return found;
}

// 1 and 2 meet, 4 misses, then the middle of what is left: 3, 2.5; 2.75 misses, 0.25 <= 0.1 * 2.5.
TEST(CapacitySearch, DoublesThenHalvesTheGap) {
    const Found found = search({.start = 1, .tolerance = 0.1}, 2.6);
    EXPECT_EQ(found.probed, (std::vector<double>{1, 2, 4, 3, 2.5, 2.75}));
    EXPECT_EQ(found.result.met, 2.5);
    EXPECT_EQ(found.result.missed, 2.75);
}

TEST(CapacitySearch, HalvesFromAStartThatMisses) {
    const Found found = search({.start = 8, .tolerance = 0.5}, 1.5);
    EXPECT_EQ(found.probed, (std::vector<double>{8, 4, 2, 1, 1.5}));
    EXPECT_EQ(found.result.met, 1.5);
}

TEST(CapacitySearch, WholeLoadsEndAsNeighbours) {
    const Found found =
        search({.start = 5, .tolerance = 1e-9, .loads = SearchSettings::Loads::whole}, 7);
    EXPECT_EQ(found.probed, (std::vector<double>{5, 10, 7, 8}));
    EXPECT_EQ(found.result.met, 7);
    EXPECT_EQ(found.result.missed, 8);
    const Found none = search({.start = 3, .loads = SearchSettings::Loads::whole}, 0);
    EXPECT_EQ(none.probed, (std::vector<double>{3, 1}));
    EXPECT_FALSE(none.result.met);
}

TEST(CapacitySearch, StaysBetweenFromAndTo) {
    Found found = search({.from = 1.0, .to = 3.0}, 5);
    EXPECT_EQ(found.probed, (std::vector<double>{1, 3}));
    EXPECT_EQ(found.result.met, 3);
    EXPECT_FALSE(found.result.missed);
    found = search({.from = 1.0, .to = 3.0}, 0.5);
    EXPECT_EQ(found.probed, (std::vector<double>{1}));
    EXPECT_FALSE(found.result.met);
}

TEST(CapacitySearch, GivesUpDoublingWithoutALimit) {
    const Found found = search({.start = 1}, 1e300);
    EXPECT_EQ(found.probed.size(), 21U);
    EXPECT_FALSE(found.result.missed);
}

}  // namespace
}  // namespace dualpath
