// The binding resource: where the holders of decode HBM wait.
#include "analysis/binding_resource.h"

#include <gtest/gtest.h>

namespace dualpath {
namespace {

std::string_view binding(const StageTimes& stages, const Pressure& pressure) {
    return binding_resource(binding_candidates(stages, pressure));
}

TEST(BindingResource, FullDecodeHbmDoesNotBindWhileItsHoldersWaitForPrefillHbm) {
    const StageTimes stages{.read_prefill_path = 5, .prefill = 60, .decode = 20};
    EXPECT_EQ(binding(stages, {.waiting_for_decode_hbm = 1, .waiting_for_prefill_hbm = 0.9}),
              "prefill_hbm");
    EXPECT_EQ(binding(stages, {.waiting_for_decode_hbm = 1}), "prefill_gpu");
    EXPECT_EQ(binding(stages, {.cnic_at_limit = 0.8}), "cnic");
}

TEST(BindingResource, ReadingBindsTheSnicThatIsAtItsLimit) {
    const StageTimes by_prefill{.read_prefill_path = 50, .decode = 20};
    const StageTimes by_decode{.read_prefill_path = 5, .read_decode_path = 50, .decode = 20};
    EXPECT_EQ(binding(by_prefill, {.prefill_snic_at_limit = 0.9}), "prefill_snic");
    EXPECT_EQ(binding(by_decode, {.decode_snic_at_limit = 0.9}), "decode_snic");
    EXPECT_EQ(binding(by_prefill, {.storage_at_limit = 0.9}), "storage");
    EXPECT_EQ(binding(by_prefill, {.prefill_snic_at_limit = 0.2}), "none");
}

TEST(BindingResource, DecodingBindsItsSlotsOnlyWhileOthersWaitForThem) {
    const StageTimes stages{.read_prefill_path = 1, .decode = 20};
    EXPECT_EQ(binding(stages, {.waiting_for_decode_hbm = 0.9}), "decode_hbm");
    EXPECT_EQ(binding(stages, {.waiting_for_decode_hbm = 0.1}), "decode_gpu");
}

TEST(BindingResource, AllocationBindsTheFullerBuffer) {
    const StageTimes stages{.allocate = 20, .decode = 5};
    EXPECT_EQ(binding(stages, {.prefill_buffer = 0.9, .decode_buffer = 0.5}), "prefill_buffer");
    EXPECT_EQ(binding(stages, {.prefill_buffer = 0.5, .decode_buffer = 0.9}), "decode_buffer");
}

TEST(BindingResource, FullBuffersDoNotBindWhileTheirHoldersWait) {
    const StageTimes stages{.allocate = 20, .read_prefill_path = 1, .decode = 5};
    EXPECT_EQ(binding(stages, {.prefill_snic_at_limit = 0.9, .decode_buffer = 1}), "prefill_snic");
    EXPECT_EQ(binding(stages, {.prefill_snic_at_limit = 0.6, .decode_snic_at_limit = 0.7}),
              "decode_snic");
    EXPECT_EQ(binding(stages, {.storage_at_limit = 0.9}), "storage");
    EXPECT_EQ(binding(stages, {.prefill_snic_at_limit = 0.9, .waiting_for_prefill_hbm = 0.7}),
              "prefill_hbm");
}

TEST(BindingResource, SharesAddUpAndEqualOnesGoDownstreamFirst) {
    const auto candidates =
        binding_candidates({.prefill_queue = 10, .prefill = 10, .decode = 20}, {});
    ASSERT_EQ(candidates.size(), 2U);
    EXPECT_EQ(candidates[0].resource, "decode_gpu");
    EXPECT_DOUBLE_EQ(candidates[0].share + candidates[1].share, 1);
    EXPECT_EQ(binding({}, {}), "none");
}

}  // namespace
}  // namespace dualpath
