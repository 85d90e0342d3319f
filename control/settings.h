// What a scenario may set in control; defaults are the paper's where it states one.
#pragma once

#include <string>

#include "base/units.h"

namespace dualpath {

struct ControlSettings {
    // Scheduling (paper 5.2-5.4, appendix A.4); control/policies.h lists the names.
    std::string prefill_policy = "dualpath";  ///< choice of the PE
    std::string decode_policy = "dualpath";   ///< choice of the DE
    std::string read_path = "shorter_queue";  ///< whose SNIC reads
    Tokens read_queue_limit;                  ///< alpha: what a node reads in 3 s
    Tokens load_limit;                        ///< beta: what a GPU prefills in 5 s
    double decode_slack = 1.05;               ///< Z

    // Batching (paper 5.5).
    enum class Batching { compute_quota, token_budget } batching = Batching::compute_quota;
    Duration compute_quota = std::chrono::milliseconds{300};  ///< attention, summed over layers
    Tokens token_budget{8192};                                ///< where the quota is not used

    // Data movement.
    /// Layerwise prefill keeps one layer's KV in HBM at a time; otherwise whole prompts.
    enum class Loading { layerwise, whole_prompt } loading = Loading::layerwise;
    enum class Movements { real, free } movements = Movements::real;  ///< free: the Oracle
    int storage_transfers_in_flight = 2;  ///< per engine and direction; the rest queues

    // Admission.
    Tokens generation_estimate{256};  ///< committed on the DE beside the prompt
    int max_attempts = 3;             ///< a request that is lost so often fails
};

}  // namespace dualpath
