// The cluster as a list: which engines stand in which node and which groups they form.
#include "models/layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/input_error.h"

namespace dualpath {
namespace {

void require_whole_groups(const char* role, std::uint32_t gpus, std::uint32_t ep) {
    if (gpus == 0) {
        throw InputError{Place{.field = fmt::format("cluster.{}_nodes", role)},
                         fmt::format("a cluster without {} GPUs cannot serve", role), "at least 1"};
    }
    if (ep == 0 || gpus % ep != 0) {
        throw InputError{Place{.field = fmt::format("parallelism.{}.ep", role)},
                         fmt::format("{} {} GPUs do not divide into groups of {}", gpus, role, ep),
                         fmt::format("a divisor of {}", gpus)};
    }
}

void add_role(Layout& layout, Role role, std::uint32_t nodes, std::uint32_t gpus,
              std::uint32_t ep) {
    for (std::uint32_t i = 0; i < nodes * gpus; ++i) {
        const EngineId engine{static_cast<std::uint32_t>(layout.engines.size())};
        if (i % gpus == 0) {
            layout.nodes.push_back(role);
            layout.fetch_groups.emplace_back();
            layout.expert_groups_of.emplace_back();
        }
        if (i % ep == 0) {
            layout.expert_groups.emplace_back();
            layout.fetch_groups_of.emplace_back();
        }
        const NodeId node{static_cast<std::uint32_t>(layout.nodes.size()) - 1};
        const FetchGroupId fetch{node.value};
        const ExpertGroupId expert{static_cast<std::uint32_t>(layout.expert_groups.size()) - 1};
        layout.engines.push_back({role, node, fetch, expert});
        layout.fetch_groups.back().push_back(engine);
        layout.expert_groups.back().push_back(engine);
        auto& fetches = layout.fetch_groups_of.back();
        if (fetches.empty() || fetches.back() != fetch) fetches.push_back(fetch);
        auto& experts = layout.expert_groups_of.back();
        if (experts.empty() || experts.back() != expert) experts.push_back(expert);
    }
}

}  // namespace

std::uint32_t Layout::engine_count(Role role) const {
    return static_cast<std::uint32_t>(std::count_if(
        engines.begin(), engines.end(), [&](const EnginePlace& e) { return e.role == role; }));
}

Layout make_layout(const ClusterShape& shape) {
    require_whole_groups("prefill", shape.prefill_nodes * shape.gpus_per_node, shape.prefill_ep);
    require_whole_groups("decode", shape.decode_nodes * shape.gpus_per_node, shape.decode_ep);
    Layout layout{.shape = shape};
    add_role(layout, Role::prefill, shape.prefill_nodes, shape.gpus_per_node, shape.prefill_ep);
    add_role(layout, Role::decode, shape.decode_nodes, shape.gpus_per_node, shape.decode_ep);
    return layout;
}

}  // namespace dualpath
