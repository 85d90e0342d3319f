// The cluster as lists and routes: what each movement crosses, and which engines stand together.
#include "models/topology.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/input_error.h"

namespace dualpath {
namespace {

using namespace literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StrEq;

constexpr Capacities capacities{.storage_read = 400_GBps,
                                .storage_write = 200_GBps,
                                .snic = 50_GBps,
                                .cnic = 48_GBps,
                                .dram = 500_GBps,
                                .pcie = 55_GBps,
                                .hbm = 3000_GBps};

/// 1 prefill and 2 decode nodes of 8 GPUs: engines 0-7, 8-15 and 16-23.
struct Routes : testing::Test {
    Layout layout = make_layout({.prefill_nodes = 1, .decode_nodes = 2});
    Topology topology{layout, capacities};
    EngineId prefill3{3}, decode10{10}, decode17{17};

    std::vector<std::string> names(Movement movement, EngineId from, EngineId to) const {
        std::vector<std::string> names;
        for (const ResourceId id : topology.route(movement, from, to)) {
            names.push_back(topology.resources()[id.index()].name);
        }
        return names;
    }
};

// The rows of the table in docs/design.md, section 4.

TEST_F(Routes, StorageReadCrossesStorageSnicAndDram) {
    EXPECT_THAT(names(Movement::storage_to_host, prefill3, prefill3),
                ElementsAre("storage_read", "prefill0.snic_rx", "prefill0.dram"));
    EXPECT_THAT(names(Movement::storage_to_host, decode17, decode17),
                ElementsAre("storage_read", "decode1.snic_rx", "decode1.dram"));
}

// Engine 10 is the third of the first decode node: decode0.2.
TEST_F(Routes, LoopbackLoadCrossesItsCnicTwiceOnThePcieSide) {
    EXPECT_THAT(names(Movement::host_to_hbm, decode10, decode10),
                ElementsAre("decode0.dram", "decode0.2.pcie_in", "decode0.2.cnic_read",
                            "decode0.2.cnic_write", "decode0.2.gpu_in", "decode0.2.hbm"));
}

TEST_F(Routes, LayerBlocksGoFromTheDecodeBufferToThePeersHbm) {
    EXPECT_THAT(names(Movement::host_to_peer_hbm, decode10, prefill3),
                ElementsAre("decode0.dram", "decode0.2.pcie_in", "decode0.2.cnic_read",
                            "decode0.2.cnic_tx", "prefill0.3.cnic_rx", "prefill0.3.cnic_write",
                            "prefill0.3.gpu_in", "prefill0.3.hbm"));
}

TEST_F(Routes, LayerBlocksGoFromHbmToThePeersBuffer) {
    EXPECT_THAT(names(Movement::hbm_to_peer_host, prefill3, decode17),
                ElementsAre("prefill0.3.hbm", "prefill0.3.gpu_out", "prefill0.3.cnic_read",
                            "prefill0.3.cnic_tx", "decode1.1.cnic_rx", "decode1.1.cnic_write",
                            "decode1.1.pcie_out", "decode1.dram"));
}

TEST_F(Routes, PersistHasTwoHops) {
    EXPECT_THAT(names(Movement::hbm_to_host, decode10, decode10),
                ElementsAre("decode0.2.hbm", "decode0.2.gpu_out", "decode0.2.cnic_read",
                            "decode0.2.cnic_write", "decode0.2.pcie_out", "decode0.dram"));
    EXPECT_THAT(names(Movement::host_to_storage, decode10, decode10),
                ElementsAre("decode0.dram", "decode0.snic_tx", "storage_write"));
}

// A CNIC's read and write are its PCIe side, tx and rx its switch side: only what leaves the node
// crosses the switch side, and what stays inside it costs the CNIC both PCIe directions.
TEST_F(Routes, OnlyMovementsBetweenPeersReachTheSwitch) {
    for (const auto movement : {Movement::storage_to_host, Movement::host_to_hbm,
                                Movement::hbm_to_host, Movement::host_to_storage}) {
        EXPECT_THAT(names(movement, prefill3, prefill3), Each(Not(HasSubstr("cnic_tx"))));
        EXPECT_THAT(names(movement, prefill3, prefill3), Each(Not(HasSubstr("cnic_rx"))));
    }
    for (const auto movement : {Movement::host_to_peer_hbm, Movement::hbm_to_peer_host}) {
        const auto path = names(movement, decode10, prefill3);
        EXPECT_THAT(path, testing::Contains(HasSubstr("decode0.2.cnic_tx")));
        EXPECT_THAT(path, testing::Contains(HasSubstr("prefill0.3.cnic_rx")));
    }
}

// No movement crosses a resource twice: each byte counts once in every usage.
TEST_F(Routes, NoResourceIsCrossedTwice) {
    for (std::size_t m = 0; m < movement_names.size(); ++m) {
        auto path = topology.route(static_cast<Movement>(m), decode10, prefill3);
        std::sort(path.begin(), path.end());
        EXPECT_EQ(std::adjacent_find(path.begin(), path.end()), path.end()) << movement_names[m];
    }
}

// 2 of storage, 3 per node, 9 per engine: 2 + 3 * 3 + 24 * 9 = 227, each name once.
TEST_F(Routes, EveryResourceHasItsOwnName) {
    const auto& resources = topology.resources();
    EXPECT_THAT(resources, SizeIs(227));
    std::vector<std::string> all;
    for (const Resource& resource : resources) all.push_back(resource.name);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST_F(Routes, ResourcesCarryTheCapacityAndRoleOfTheirPlace) {
    const auto resource = [&](ResourceId id) { return topology.resources()[id.index()]; };
    const Resource dram = resource(topology.node_resource(NodeId{2}, ResourceKind::dram));
    EXPECT_THAT(dram.name, StrEq("decode1.dram"));
    EXPECT_EQ(dram.capacity, 500_GBps);
    EXPECT_EQ(dram.role, Role::decode);
    const Resource cnic = resource(topology.engine_resource(prefill3, ResourceKind::cnic_write));
    EXPECT_THAT(cnic.name, StrEq("prefill0.3.cnic_write"));
    EXPECT_EQ(cnic.capacity, 48_GBps);
    EXPECT_EQ(cnic.kind, ResourceKind::cnic_write);
    EXPECT_EQ(cnic.role, Role::prefill);
    EXPECT_EQ(resource(ResourceId{0}).capacity, 400_GBps);
    EXPECT_EQ(resource(ResourceId{1}).capacity, 200_GBps);
}

// ---- layout -----------------------------------------------------------------------------------

// 2 nodes of 8 with EP 16: one expert group over both nodes, two fetch groups (one per node).
TEST(Layout, ExpertGroupMaySpanNodes) {
    const Layout layout =
        make_layout({.prefill_nodes = 2, .decode_nodes = 1, .prefill_ep = 16, .decode_ep = 8});
    ASSERT_THAT(layout.engines, SizeIs(24));
    ASSERT_THAT(layout.expert_groups, SizeIs(2));
    EXPECT_THAT(layout.expert_groups[0], SizeIs(16));
    EXPECT_THAT(layout.fetch_groups, SizeIs(3));
    EXPECT_THAT(layout.fetch_groups_of[0], ElementsAre(FetchGroupId{0}, FetchGroupId{1}));
    EXPECT_THAT(layout.fetch_groups_of[1], ElementsAre(FetchGroupId{2}));
    EXPECT_THAT(layout.expert_groups_of[1], ElementsAre(ExpertGroupId{0}));
    EXPECT_EQ(layout.role_of(ExpertGroupId{0}), Role::prefill);
    EXPECT_EQ(layout.role_of(ExpertGroupId{1}), Role::decode);
}

// EP 12 over nodes of 8: engines 0-11 and 12-23, so node 1 belongs to both groups.
TEST(Layout, ExpertGroupMayEndInsideANode) {
    const Layout layout =
        make_layout({.prefill_nodes = 3, .decode_nodes = 1, .prefill_ep = 12, .decode_ep = 8});
    EXPECT_THAT(layout.expert_groups_of[1], ElementsAre(ExpertGroupId{0}, ExpertGroupId{1}));
    EXPECT_THAT(layout.fetch_groups_of[0], ElementsAre(FetchGroupId{0}, FetchGroupId{1}));
    EXPECT_THAT(layout.fetch_groups_of[1], ElementsAre(FetchGroupId{1}, FetchGroupId{2}));
}

// Plain data parallelism, EP 1: every engine is its own group, the node still fetches as one.
TEST(Layout, WithoutExpertParallelismEveryEngineIsAlone) {
    const Layout layout = make_layout({.prefill_nodes = 1,
                                       .decode_nodes = 2,
                                       .gpus_per_node = 4,
                                       .prefill_ep = 1,
                                       .decode_ep = 1});
    ASSERT_THAT(layout.expert_groups, SizeIs(12));
    for (std::uint32_t i = 0; i < 12; ++i) {
        EXPECT_THAT(layout.expert_groups[i], ElementsAre(EngineId{i}));
        EXPECT_EQ(layout.node_of(EngineId{i}), NodeId{i / 4});
        EXPECT_EQ(layout.engines[i].fetch_group, FetchGroupId{i / 4});
    }
    EXPECT_THAT(layout.fetch_groups[1],
                ElementsAre(EngineId{4}, EngineId{5}, EngineId{6}, EngineId{7}));
}

// Prefill nodes first: engines 0-7 prefill, 8-23 decode.
TEST(Layout, PrefillNodesComeFirst) {
    const Layout layout = make_layout({.prefill_nodes = 1, .decode_nodes = 2});
    EXPECT_THAT(layout.nodes, ElementsAre(Role::prefill, Role::decode, Role::decode));
    EXPECT_EQ(layout.engine_count(Role::prefill), 8);
    EXPECT_EQ(layout.engine_count(Role::decode), 16);
    EXPECT_EQ(layout.role_of(EngineId{7}), Role::prefill);
    EXPECT_EQ(layout.role_of(EngineId{8}), Role::decode);
    EXPECT_EQ(layout.role_of(FetchGroupId{2}), Role::decode);
}

std::string complaint(const ClusterShape& shape) {
    try {
        make_layout(shape);
    } catch (const InputError& error) {
        return error.what();
    }
    return "no complaint";
}

TEST(Layout, RefusesWhatDoesNotDivide) {
    EXPECT_EQ(complaint({.decode_nodes = 2, .decode_ep = 12}),
              "parallelism.decode.ep: 16 decode GPUs do not divide into groups of 12; "
              "a divisor of 16");
    EXPECT_EQ(complaint({.prefill_ep = 0}),
              "parallelism.prefill.ep: 8 prefill GPUs do not divide into groups of 0; "
              "a divisor of 8");
    EXPECT_EQ(complaint({.prefill_nodes = 0}),
              "cluster.prefill_nodes: a cluster without prefill GPUs cannot serve; at least 1");
    EXPECT_EQ(complaint({.gpus_per_node = 0}),
              "cluster.prefill_nodes: a cluster without prefill GPUs cannot serve; at least 1");
}

}  // namespace
}  // namespace dualpath
