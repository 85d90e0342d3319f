// The faults of a scenario: what goes wrong when, by the names of nodes, engines and resources.
#pragma once

#include <vector>

#include "input/yaml_reader.h"
#include "models/fault.h"
#include "models/layout.h"
#include "models/topology.h"

namespace dualpath {

/// Reads the items of `faults:`. Each has `at`, may have `until`, and one of
///
///     node: decode0      with snic, cnic, dram, pcie (the fraction left), or lost: true
///     engine: decode0.3  with cnic, pcie, or lost: true
///     resource: decode0.snic_rx    with fraction
///     storage: 0.25, or stalled (a millionth is left; wants an `until`)
///
/// A slow SNIC is slow in both directions, so is the storage; a slow CNIC on its PCIe side and on
/// the switch's. Throws InputError with file, line and field.
std::vector<Fault> read_faults(const std::vector<YamlValue>& items, const Layout& layout,
                               const Topology& topology);

}  // namespace dualpath
