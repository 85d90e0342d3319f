// The cluster as a graph: where bytes can be, what capacity each hop takes, and the routes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/graph/adjacency_list.hpp>

#include "base/ids.h"
#include "base/units.h"
#include "models/layout.h"
#include "models/movement.h"

namespace dualpath {

/// What a byte can cross. "read" and "write" of a CNIC are its PCIe side (it reads from, or writes
/// into, DRAM or HBM); tx and rx are its switch side. DRAM and HBM are half-duplex: both directions
/// add up in one resource.
enum class ResourceKind : std::uint8_t {
    storage_read,
    storage_write,
    snic_rx,
    snic_tx,
    dram,
    pcie_in,
    pcie_out,  ///< host to PCIe switch and back, one link per GPU
    gpu_in,
    gpu_out,  ///< the GPU's own PCIe port
    cnic_read,
    cnic_write,
    cnic_tx,
    cnic_rx,
    hbm,
};
inline constexpr std::size_t resource_kind_count = 14;
inline constexpr std::array<std::string_view, resource_kind_count> resource_kind_names{
    "storage_read", "storage_write", "snic_rx",   "snic_tx",    "dram",    "pcie_in", "pcie_out",
    "gpu_in",       "gpu_out",       "cnic_read", "cnic_write", "cnic_tx", "cnic_rx", "hbm"};

/// True where two traffic classes share by priority: inference first, KV-Cache on what is left.
constexpr bool has_lanes(ResourceKind kind) {
    return kind == ResourceKind::cnic_read || kind == ResourceKind::cnic_write ||
           kind == ResourceKind::cnic_tx || kind == ResourceKind::cnic_rx;
}

/// Achievable capacities, all in one direction except DRAM and HBM.
struct Capacities {
    BytesPerSecond storage_read, storage_write;  ///< of the whole storage cluster
    BytesPerSecond snic;                         ///< of a node, all its storage NICs together
    BytesPerSecond cnic;                         ///< of one GPU's NIC
    BytesPerSecond dram;                         ///< of a node, reads and writes added up
    BytesPerSecond pcie;                         ///< of one GPU's link
    BytesPerSecond hbm;                          ///< of one GPU
};

struct Resource {
    ResourceKind kind;
    Role role;  ///< of its node; prefill for the storage cluster, which has none
    BytesPerSecond capacity;
    std::string name;  ///< as in faults and resources.csv: decode0.dram, prefill1.3.cnic_read
};

/// Resources of a route in travel order. A resource crossed twice is listed twice.
using Route = std::vector<ResourceId>;

class Topology {
public:
    Topology(const Layout& layout, const Capacities& capacities);

    const std::vector<Resource>& resources() const { return resources_; }

    /// The route of a movement. `from` and `to` are the engines whose CNIC, or whose node's SNIC,
    /// do the work; they are the same engine for a movement inside one node.
    Route route(Movement movement, EngineId from, EngineId to) const;

    /// One engine's or node's resource of a kind.
    ResourceId engine_resource(EngineId engine, ResourceKind kind) const;
    ResourceId node_resource(NodeId node, ResourceKind kind) const;

private:
    struct Hop {
        std::vector<ResourceId> resources;
    };
    using Graph =
        boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Hop>;
    using Vertex = std::uint32_t;
    /// The legs all routes are made of, found on the graph once per engine.
    enum Leg : std::size_t {
        storage_host,
        host_storage,
        host_cnic,
        cnic_host,
        cnic_hbm,
        hbm_cnic,
        cnic_switch,
        switch_cnic,
        leg_count
    };

    ResourceId add_resource(ResourceKind kind, Role role, BytesPerSecond capacity,
                            const std::string& owner);
    void connect(Vertex from, Vertex to, std::vector<ResourceId> resources);
    void build_node(const Layout& layout, NodeId node, const Capacities& capacities);
    void build_engine(Vertex host, Role role, const std::string& name, const Capacities& c);
    Route shortest_path(Vertex from, Vertex to) const;
    const Route& leg(EngineId engine, Leg which) const { return legs_[engine.index()][which]; }

    Graph graph_;
    Vertex storage_ = 0, switch_ = 0;
    std::vector<Resource> resources_;
    std::vector<std::uint32_t> first_of_node_, first_of_engine_;  ///< first resource of each
    std::vector<std::array<Route, leg_count>> legs_;
};

}  // namespace dualpath
