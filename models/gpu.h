// A GPU as facts: dense peak rates, HBM, NVLink.
#pragma once

#include <optional>
#include <string>

#include "base/units.h"
#include "input/yaml_reader.h"

namespace dualpath {

struct Gpu {
    std::string name;
    std::string architecture;           ///< ampere, hopper, blackwell; none is made up
    FlopsPerSecond bf16;                ///< dense peak
    std::optional<FlopsPerSecond> fp8;  ///< dense peak; absent where the chip has none
    Bytes hbm;
    BytesPerSecond hbm_rate;
    BytesPerSecond nvlink;  ///< per direction, raw
};

/// Throws InputError, also for a peak that only structured sparsity reaches: more than the dense
/// limit of the architecture (bf16 above 1,000 TFLOPS on Hopper).
Gpu read_gpu(YamlMap& yaml);

}  // namespace dualpath
