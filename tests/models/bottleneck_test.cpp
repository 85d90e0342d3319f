// The closed form against the paper's numbers.
#include "models/bottleneck.h"

#include <gtest/gtest.h>

namespace dualpath {
namespace {

struct Golden {
    double p, d;
    double pe_read, pe_write, de_read, de_write, pe_dram, de_dram, pe_tx, pe_rx, de_tx, de_rx;
};

// g = 8, s = 1, B = 50 GB/s, so each node's 50 GB/s are 6.25 GB/s per CNIC. For 2P4D, D/P = 2:
// PE write 6.25 * 3 = 18.75; DE read 6.25 * 2.5 = 15.625; DE write 6.25 * 2 = 12.5; DE DRAM
// (3 + 1) * 50 = 200; and so on for the others.
constexpr Golden golden[] = {
    {2, 4, 12.5, 18.75, 15.625, 12.5, 100, 200, 6.25, 12.5, 6.25, 3.125},
    {1, 1, 12.5, 12.5, 18.75, 18.75, 100, 250, 6.25, 6.25, 6.25, 6.25},
    {2, 1, 12.5, 9.375, 25, 31.25, 100, 350, 6.25, 3.125, 6.25, 12.5},
    {1, 7, 12.5, 50, 13.393, 8.036, 100, 164.286, 6.25, 43.75, 6.25, 0.893},
    {7, 2, 12.5, 8.036, 34.375, 50, 100, 500, 6.25, 1.786, 6.25, 21.875},
};

TEST(Bottleneck, LoadsAreThePapers) {
    for (const Golden& row : golden) {
        const auto loads = dual_path_loads({.prefill_nodes = row.p, .decode_nodes = row.d});
        const auto near = [&](BytesPerSecond load, double gb) {
            EXPECT_NEAR(load.value / 1e9, gb, 0.001) << row.p << "P" << row.d << "D";
        };
        near(loads.pe_cnic_read, row.pe_read);
        near(loads.pe_cnic_write, row.pe_write);
        near(loads.de_cnic_read, row.de_read);
        near(loads.de_cnic_write, row.de_write);
        near(loads.pe_dram, row.pe_dram);
        near(loads.de_dram, row.de_dram);
        near(loads.pe_cnic_tx, row.pe_tx);
        near(loads.pe_cnic_rx, row.pe_rx);
        near(loads.de_cnic_tx, row.de_tx);
        near(loads.de_cnic_rx, row.de_rx);
    }
}

// s/(g-s) = 1/7; min of (g-2s)/s = 6, (g-s)/(2s) = 3.5, (500/50 - 3)/2 = 3.5.
TEST(Bottleneck, TypicalNodeIsFreeFromOneSeventhToSevenHalves) {
    const PdRange range = bottleneck_free_range(8, 1, {50e9}, {500e9});
    EXPECT_DOUBLE_EQ(range.min, 1.0 / 7);
    EXPECT_DOUBLE_EQ(range.max, 3.5);
    EXPECT_TRUE(range.feasible);
}

// s = 5 of g = 8: the PE's CNIC would have to read 2 * 5/8 B. No ratio helps.
TEST(Bottleneck, MoreStorageThanHalfTheComputeNicsIsNeverFree) {
    EXPECT_FALSE(bottleneck_free_range(8, 5, {50e9}, {5000e9}).feasible);
}

}  // namespace
}  // namespace dualpath
