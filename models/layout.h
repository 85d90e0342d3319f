// The cluster as a list: which engines stand in which node and which groups they form.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace dualpath {

enum class Role : std::uint8_t { prefill, decode };

/// How many nodes of each role, and how their GPUs are grouped.
struct ClusterShape {
    std::uint32_t prefill_nodes = 1;
    std::uint32_t decode_nodes = 1;
    std::uint32_t gpus_per_node = 8;
    std::uint32_t prefill_ep = 8;  ///< GPUs that step together; 1 = each engine alone (plain DP)
    std::uint32_t decode_ep = 8;
};

struct EnginePlace {
    Role role;
    NodeId node;
    FetchGroupId fetch_group;
    ExpertGroupId expert_group;
};

/// Nodes, engines and groups in a fixed order: prefill nodes first, then decode nodes, the GPUs of
/// a node side by side. A fetch group is one node. An expert group is `ep` consecutive engines of
/// one role; it may span nodes or be a part of one.
struct Layout {
    ClusterShape shape;
    std::vector<EnginePlace> engines;                          ///< by EngineId
    std::vector<Role> nodes;                                   ///< role by NodeId
    std::vector<std::vector<EngineId>> fetch_groups;           ///< engines by FetchGroupId
    std::vector<std::vector<EngineId>> expert_groups;          ///< engines by ExpertGroupId
    std::vector<std::vector<FetchGroupId>> fetch_groups_of;    ///< by ExpertGroupId
    std::vector<std::vector<ExpertGroupId>> expert_groups_of;  ///< by FetchGroupId

    Role role_of(EngineId engine) const { return engines[engine.index()].role; }
    NodeId node_of(EngineId engine) const { return engines[engine.index()].node; }
    Role role_of(ExpertGroupId group) const {
        return role_of(expert_groups[group.index()].front());
    }
    Role role_of(FetchGroupId group) const { return role_of(fetch_groups[group.index()].front()); }
    std::uint32_t engine_count(Role role) const;
};

/// Throws InputError when a role's GPUs do not divide into groups of its EP degree, or a count is
/// 0.
Layout make_layout(const ClusterShape& shape);

}  // namespace dualpath
