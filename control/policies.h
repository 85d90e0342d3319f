// The policies by name. A new policy is one file and one line here.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "control/decode_scheduler.h"
#include "control/prefill_scheduler.h"
#include "control/read_path.h"
#include "control/settings.h"
#include "models/layout.h"

namespace dualpath {

inline constexpr std::array<std::string_view, 3> prefill_policy_names{"dualpath", "round_robin",
                                                                      "least_loaded"};
inline constexpr std::array<std::string_view, 3> decode_policy_names{"dualpath", "round_robin",
                                                                     "least_loaded"};
inline constexpr std::array<std::string_view, 3> read_path_names{"prefill_only", "shorter_queue",
                                                                 "round_robin"};

// The scenario loader has checked the names; an unknown one here is a bug.
std::unique_ptr<PrefillPolicy> make_prefill_policy(const ControlSettings& settings);
std::unique_ptr<DecodePolicy> make_decode_policy(const ControlSettings& settings);
std::unique_ptr<ReadPathPolicy> make_read_path(const ControlSettings& settings,
                                               const ClusterShape& shape);

}  // namespace dualpath
