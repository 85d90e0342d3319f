// A GPU read from the catalog; peaks that only sparsity reaches are refused.
#include "models/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace dualpath {

namespace {

struct DenseLimit {
    std::string_view architecture;
    double bf16;  // TFLOPS that no chip of the family exceeds without sparsity
    double fp8;
};
constexpr std::array dense_limits{DenseLimit{"ampere", 320, 0}, DenseLimit{"hopper", 1000, 2000},
                                  DenseLimit{"blackwell", 3600, 7200},
                                  DenseLimit{"none", 1e300, 1e300}};  // made up, for tests

void check_dense(const Place& place, std::string_view dtype, FlopsPerSecond peak, double limit,
                 std::string_view architecture) {
    if (peak.value <= limit * 1e12) return;
    throw InputError{place,
                     fmt::format("{:g} TFLOPS is more than any {} chip reaches in {} without "
                                 "sparsity",
                                 peak.value / 1e12, architecture, dtype),
                     fmt::format("give the dense peak, at most {:g} TFLOPS", limit)};
}

}  // namespace

Gpu read_gpu(YamlMap& yaml) {
    static constexpr std::array<std::string_view, 4> architectures{"ampere", "hopper", "blackwell",
                                                                   "none"};
    Gpu gpu;
    yaml.text("source");
    gpu.name = yaml.text("name");
    gpu.architecture = yaml.one_of("architecture", architectures);
    gpu.bf16 = yaml.flops("bf16");
    gpu.fp8 = yaml.optional_flops("fp8");
    gpu.hbm = yaml.bytes("hbm");
    gpu.hbm_rate = yaml.rate("hbm_rate");
    gpu.nvlink = yaml.rate("nvlink", Zero::allowed);
    const auto& limit = *std::find_if(dense_limits.begin(), dense_limits.end(), [&](auto& entry) {
        return entry.architecture == gpu.architecture;
    });
    check_dense(yaml.value("bf16").place(), "bf16", gpu.bf16, limit.bf16, gpu.architecture);
    if (gpu.fp8) {
        check_dense(yaml.value("fp8").place(), "fp8", *gpu.fp8, limit.fp8, gpu.architecture);
    }
    yaml.finish();
    return gpu;
}

}  // namespace dualpath
