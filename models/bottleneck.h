// The paper's bottleneck analysis in closed form: loads of a balanced dual-path cluster, and the
// P/D range in which nothing but the storage NICs binds.
#pragma once

#include "base/units.h"

namespace dualpath {

/// Symbols of the paper, section 4: P and D nodes of g GPUs with a compute NIC of B each, storage
/// NICs of s * B per node, memory of M per node. All SNICs read at full rate, hits only, each DE
/// pairs with each PE alike.
struct DualPathShape {
    double prefill_nodes, decode_nodes;  ///< P, D
    double gpus = 8;                     ///< g
    BytesPerSecond cnic{50e9};           ///< B
    double snic_ratio = 1;               ///< s
    BytesPerSecond dram{500e9};          ///< M
};

/// Loads, per CNIC and per node's DRAM. read and write are the CNIC's PCIe side.
struct DualPathLoads {
    BytesPerSecond pe_cnic_read, pe_cnic_write, de_cnic_read, de_cnic_write;
    BytesPerSecond pe_dram, de_dram;
    BytesPerSecond pe_cnic_tx, pe_cnic_rx, de_cnic_tx, de_cnic_rx;  ///< switch side
};

/// Paper equations (1)-(8) with T_p = Bs/(D g^2) and T_c = Bs/(P g^2), the traffic of one PE-DE
/// pair over the prefill and the decode read path.
constexpr DualPathLoads dual_path_loads(const DualPathShape& n) {
    const double p = n.prefill_nodes, d = n.decode_nodes, g = n.gpus;
    const double snic = n.snic_ratio * n.cnic.value;
    const double per_cnic = snic / g;        // a node's storage rate, spread over its CNICs
    return {.pe_cnic_read = {2 * per_cnic},  // PE-3, PE-5
            .pe_cnic_write = {per_cnic * (1 + d / p)},      // PE-4, DE-5
            .de_cnic_read = {per_cnic * (p / d + 2)},       // PE-8, DE-3, DE-6
            .de_cnic_write = {per_cnic * (2 * p / d + 1)},  // PE-7, PE-9, DE-7
            .pe_dram = {2 * snic},
            .de_dram = {(3 + 2 * p / d) * snic},
            .pe_cnic_tx = {per_cnic},
            .pe_cnic_rx = {per_cnic * d / p},
            .de_cnic_tx = {per_cnic},
            .de_cnic_rx = {per_cnic * p / d}};
}

struct PdRange {
    double min, max;  ///< of P/D; empty where min > max
    bool feasible;
};

/// Paper equation (9), with the PE's CNIC read bound 2s/g <= 1 that its text states too loosely.
constexpr PdRange bottleneck_free_range(double g, double s, BytesPerSecond cnic,
                                        BytesPerSecond dram) {
    const double reads = (g - 2 * s) / s;
    const double writes = (g - s) / (2 * s);
    const double memory = (dram.value / (s * cnic.value) - 3) / 2;
    const double max =
        reads < writes ? (reads < memory ? reads : memory) : (writes < memory ? writes : memory);
    const double min = g > s ? s / (g - s) : 1e300;
    return {min, max, 2 * s <= g && min <= max && 2 * s * cnic.value <= dram.value};
}

}  // namespace dualpath
