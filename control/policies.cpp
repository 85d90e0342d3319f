// The policies by name. A new policy is one file and one line here.
#include "control/policies.h"

#include "base/check.h"

namespace dualpath {

std::unique_ptr<PrefillPolicy> make_prefill_policy(const ControlSettings& s) {
    if (s.prefill_policy == "dualpath") {
        return std::make_unique<ClassedPrefill>(s.read_queue_limit, s.load_limit);
    }
    if (s.prefill_policy == "round_robin") return std::make_unique<RoundRobinPrefill>();
    if (s.prefill_policy == "least_loaded") return std::make_unique<LeastLoadedPrefill>();
    CHECK(false, "the loader knows every prefill policy");
}

std::unique_ptr<DecodePolicy> make_decode_policy(const ControlSettings& s) {
    if (s.decode_policy == "dualpath") return std::make_unique<BalancedDecode>(s.decode_slack);
    if (s.decode_policy == "round_robin") return std::make_unique<RoundRobinDecode>();
    if (s.decode_policy == "least_loaded") return std::make_unique<LeastLoadedDecode>();
    CHECK(false, "the loader knows every decode policy");
}

std::unique_ptr<ReadPathPolicy> make_read_path(const ControlSettings& s,
                                               const ClusterShape& shape) {
    if (s.read_path == "prefill_only") return std::make_unique<PrefillOnly>();
    if (s.read_path == "shorter_queue") return std::make_unique<ShorterQueue>();
    if (s.read_path == "round_robin") {
        return std::make_unique<RoundRobinPath>(shape.prefill_nodes, shape.decode_nodes);
    }
    CHECK(false, "the loader knows every read path policy");
}

}  // namespace dualpath
