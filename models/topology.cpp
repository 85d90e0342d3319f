// The cluster as a graph: where bytes can be, what capacity each hop takes, and the routes.
#include "models/topology.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/graph/breadth_first_search.hpp>

#include "base/check.h"

namespace dualpath {
namespace {

// Order in which a node's and an engine's resources are created; lookups rely on it.
constexpr std::array node_kinds{ResourceKind::snic_rx, ResourceKind::snic_tx, ResourceKind::dram};
constexpr std::array engine_kinds{
    ResourceKind::pcie_in, ResourceKind::pcie_out,  ResourceKind::gpu_in,
    ResourceKind::gpu_out, ResourceKind::cnic_read, ResourceKind::cnic_write,
    ResourceKind::cnic_tx, ResourceKind::cnic_rx,   ResourceKind::hbm};

template <std::size_t N>
std::uint32_t position(const std::array<ResourceKind, N>& kinds, ResourceKind kind) {
    const auto at = std::find(kinds.begin(), kinds.end(), kind);
    CHECK(at != kinds.end(), "this owner has no resource of that kind");
    return static_cast<std::uint32_t>(at - kinds.begin());
}

BytesPerSecond capacity_of(ResourceKind kind, const Capacities& c) {
    switch (kind) {
        case ResourceKind::storage_read:
            return c.storage_read;
        case ResourceKind::storage_write:
            return c.storage_write;
        case ResourceKind::snic_rx:
        case ResourceKind::snic_tx:
            return c.snic;
        case ResourceKind::dram:
            return c.dram;
        case ResourceKind::pcie_in:
        case ResourceKind::pcie_out:
        case ResourceKind::gpu_in:
        case ResourceKind::gpu_out:
            return c.pcie;
        case ResourceKind::cnic_read:
        case ResourceKind::cnic_write:
        case ResourceKind::cnic_tx:
        case ResourceKind::cnic_rx:
            return c.cnic;
        case ResourceKind::hbm:
            return c.hbm;
    }
    CHECK(false, "every kind of resource has a capacity");
}

}  // namespace

Topology::Topology(const Layout& layout, const Capacities& capacities) {
    storage_ = static_cast<Vertex>(boost::add_vertex(graph_));
    switch_ = static_cast<Vertex>(boost::add_vertex(graph_));
    for (const auto kind : {ResourceKind::storage_read, ResourceKind::storage_write}) {
        add_resource(kind, Role::prefill, capacity_of(kind, capacities), "storage");
    }
    for (std::uint32_t node = 0; node < layout.nodes.size(); ++node) {
        build_node(layout, NodeId{node}, capacities);
    }
}

ResourceId Topology::add_resource(ResourceKind kind, Role role, BytesPerSecond capacity,
                                  const std::string& owner) {
    const auto kind_name = resource_kind_names[static_cast<std::size_t>(kind)];
    resources_.push_back(
        {kind, role, capacity,
         owner == "storage" ? std::string{kind_name} : fmt::format("{}.{}", owner, kind_name)});
    return ResourceId{static_cast<std::uint32_t>(resources_.size()) - 1};
}

void Topology::connect(Vertex from, Vertex to, std::vector<ResourceId> resources) {
    boost::add_edge(from, to, Hop{std::move(resources)}, graph_);
}

void Topology::build_node(const Layout& layout, NodeId node, const Capacities& capacities) {
    const Role role = layout.nodes[node.index()];
    const auto first = std::find(layout.nodes.begin(), layout.nodes.end(), role);
    const std::string name =
        fmt::format("{}{}", role == Role::prefill ? "prefill" : "decode",
                    node.value - static_cast<std::uint32_t>(first - layout.nodes.begin()));
    const auto base = static_cast<std::uint32_t>(resources_.size());
    first_of_node_.push_back(base);
    for (const auto kind : node_kinds)
        add_resource(kind, role, capacity_of(kind, capacities), name);
    const ResourceId storage_read{0}, storage_write{1};
    const ResourceId snic_rx{base}, snic_tx{base + 1}, dram_rate{base + 2};
    const auto snic = static_cast<Vertex>(boost::add_vertex(graph_));
    const auto dram = static_cast<Vertex>(boost::add_vertex(graph_));
    connect(storage_, snic, {storage_read, snic_rx});
    connect(snic, storage_, {snic_tx, storage_write});
    connect(snic, dram, {dram_rate});
    connect(dram, snic, {dram_rate});
    for (std::uint32_t gpu = 0; gpu < layout.shape.gpus_per_node; ++gpu) {
        build_engine(dram, role, fmt::format("{}.{}", name, gpu), capacities);
    }
}

void Topology::build_engine(Vertex host, Role role, const std::string& name,
                            const Capacities& capacities) {
    const auto base = static_cast<std::uint32_t>(resources_.size());
    const ResourceId dram_rate{first_of_node_.back() + position(node_kinds, ResourceKind::dram)};
    first_of_engine_.push_back(base);
    for (const auto kind : engine_kinds) {
        add_resource(kind, role, capacity_of(kind, capacities), name);
    }
    const auto own = [&](ResourceKind kind) {
        return ResourceId{base + position(engine_kinds, kind)};
    };
    const auto nic = static_cast<Vertex>(boost::add_vertex(graph_));
    const auto memory = static_cast<Vertex>(boost::add_vertex(graph_));
    using enum ResourceKind;
    connect(host, nic, {dram_rate, own(pcie_in), own(cnic_read)});
    connect(nic, host, {own(cnic_write), own(pcie_out), dram_rate});
    connect(nic, memory, {own(cnic_write), own(gpu_in), own(hbm)});
    connect(memory, nic, {own(hbm), own(gpu_out), own(cnic_read)});
    connect(nic, switch_, {own(cnic_tx)});
    connect(switch_, nic, {own(cnic_rx)});
    std::array<Route, leg_count> legs;
    legs[storage_host] = shortest_path(storage_, host);
    legs[host_storage] = shortest_path(host, storage_);
    legs[host_cnic] = shortest_path(host, nic);
    legs[cnic_host] = shortest_path(nic, host);
    legs[cnic_hbm] = shortest_path(nic, memory);
    legs[hbm_cnic] = shortest_path(memory, nic);
    legs[cnic_switch] = shortest_path(nic, switch_);
    legs[switch_cnic] = shortest_path(switch_, nic);
    legs_.push_back(std::move(legs));
}

Route Topology::shortest_path(Vertex from, Vertex to) const {
    using Edge = boost::graph_traits<Graph>::edge_descriptor;
    struct Found {};
    struct Search : boost::default_bfs_visitor {
        std::vector<Edge>* into;  ///< the edge by which each vertex was reached
        Vertex goal;
        Search(std::vector<Edge>* edges, Vertex target) : into{edges}, goal{target} {}
        void tree_edge(Edge edge, const Graph& graph) const {
            (*into)[boost::target(edge, graph)] = edge;
            if (boost::target(edge, graph) == goal) throw Found{};  // the library's way to stop
        }
    };
    std::vector<Edge> into(boost::num_vertices(graph_));
    bool found = false;
    try {
        boost::breadth_first_search(graph_, from, boost::visitor(Search{&into, to}));
    } catch (const Found&) {
        found = true;
    }
    CHECK(found, "every leg of a movement has a path in the graph");
    std::vector<const Hop*> hops;
    for (auto at = static_cast<std::size_t>(to); at != from; at = boost::source(into[at], graph_)) {
        hops.push_back(&graph_[into[at]]);
    }
    Route route;
    for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
        route.insert(route.end(), (*hop)->resources.begin(), (*hop)->resources.end());
    }
    return route;
}

Route Topology::route(Movement movement, EngineId from, EngineId to) const {
    const auto join = [&](std::initializer_list<const Route*> parts) {
        Route route;
        for (const Route* part : parts) route.insert(route.end(), part->begin(), part->end());
        return route;
    };
    switch (movement) {
        case Movement::storage_to_host:
            return leg(to, storage_host);
        case Movement::host_to_storage:
            return leg(from, host_storage);
        case Movement::host_to_hbm:
            return join({&leg(from, host_cnic), &leg(to, cnic_hbm)});
        case Movement::hbm_to_host:
            return join({&leg(from, hbm_cnic), &leg(to, cnic_host)});
        case Movement::host_to_peer_hbm:
            return join({&leg(from, host_cnic), &leg(from, cnic_switch), &leg(to, switch_cnic),
                         &leg(to, cnic_hbm)});
        case Movement::hbm_to_peer_host:
            return join({&leg(from, hbm_cnic), &leg(from, cnic_switch), &leg(to, switch_cnic),
                         &leg(to, cnic_host)});
    }
    CHECK(false, "every movement has a route");
}

ResourceId Topology::engine_resource(EngineId engine, ResourceKind kind) const {
    return {first_of_engine_[engine.index()] + position(engine_kinds, kind)};
}

ResourceId Topology::node_resource(NodeId node, ResourceKind kind) const {
    return {first_of_node_[node.index()] + position(node_kinds, kind)};
}

}  // namespace dualpath
