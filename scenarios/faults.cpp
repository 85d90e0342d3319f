// The faults of a scenario: what goes wrong when, by the names of nodes, engines and resources.
#include "scenarios/faults.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "input/nearest.h"

namespace dualpath {
namespace {

using enum ResourceKind;
constexpr std::array snic_kinds{snic_rx, snic_tx};
constexpr std::array dram_kinds{dram};
constexpr std::array cnic_kinds{cnic_read, cnic_write, cnic_tx, cnic_rx};
constexpr std::array pcie_kinds{pcie_in, pcie_out, gpu_in, gpu_out};

/// What a scenario may call things, in the order of their ids.
struct Names {
    std::vector<std::string> nodes, engines, resources;
};

/// A resource is named after its owner: decode0.dram, decode0.3.cnic_tx.
Names names_of(const Layout& layout, const Topology& topology) {
    const auto owner = [&](ResourceId id) {
        const std::string& name = topology.resources()[id.index()].name;
        return name.substr(0, name.rfind('.'));
    };
    Names names;
    for (std::uint32_t i = 0; i < layout.nodes.size(); ++i) {
        names.nodes.push_back(owner(topology.node_resource(NodeId{i}, dram)));
    }
    for (std::uint32_t i = 0; i < layout.engines.size(); ++i) {
        names.engines.push_back(owner(topology.engine_resource(EngineId{i}, hbm)));
    }
    for (const Resource& resource : topology.resources()) names.resources.push_back(resource.name);
    return names;
}

std::uint32_t find_name(const YamlValue& value, const char* kind,
                        const std::vector<std::string>& names) {
    const std::string name = value.text();
    const auto at = std::find(names.begin(), names.end(), name);
    if (at != names.end()) return static_cast<std::uint32_t>(at - names.begin());
    throw InputError{value.place(), unknown_word(kind, name, names),
                     fmt::format("from {} to {}", names.front(), names.back())};
}

double read_fraction(const YamlValue& value) { return value.real(stalled_fraction, 1); }

/// Reads one item of the list.
class FaultReader {
public:
    FaultReader(YamlMap item, const Layout& layout, const Topology& topology, const Names& names)
        : item_{std::move(item)}, layout_{layout}, topology_{topology}, names_{names} {}

    Fault read() {
        fault_.from = Instant{item_.duration("at", Zero::allowed)};
        if (const auto until = item_.optional_value("until")) {
            fault_.until = Instant{until->duration()};
            if (*fault_.until <= fault_.from) {
                throw InputError{until->place(), "the fault would end before it begins",
                                 "a time after 'at', or no 'until': it never ends"};
            }
        }
        read_target();
        item_.finish();
        return std::move(fault_);
    }

private:
    void read_target() {
        const auto node = item_.optional_value("node"), engine = item_.optional_value("engine"),
                   resource = item_.optional_value("resource"),
                   storage = item_.optional_value("storage");
        if (node.has_value() + engine.has_value() + resource.has_value() + storage.has_value() !=
            1) {
            throw InputError{item_.place(), "a fault hits one thing",
                             "one of: node, engine, resource, storage"};
        }
        if (node) read_node(NodeId{find_name(*node, "node", names_.nodes)});
        if (engine) read_engine(EngineId{find_name(*engine, "engine", names_.engines)});
        if (resource) read_resource(*resource);
        if (storage) read_storage(*storage);
    }

    void read_node(NodeId node) {
        std::vector<EngineId> engines;
        for (std::uint32_t i = 0; i < layout_.engines.size(); ++i) {
            if (layout_.engines[i].node == node) engines.push_back(EngineId{i});
        }
        const auto slow_node = [&](const char* key, std::span<const ResourceKind> kinds) {
            const auto value = item_.optional_value(key);
            if (!value) return;
            for (const auto kind : kinds) {
                slow(topology_.node_resource(node, kind), read_fraction(*value));
            }
        };
        slow_node("snic", snic_kinds);
        slow_node("dram", dram_kinds);
        slow_engines("cnic", cnic_kinds, engines);
        slow_engines("pcie", pcie_kinds, engines);
        read_lost(engines, "snic, cnic, dram, pcie");
    }

    void read_engine(EngineId engine) {
        slow_engines("cnic", cnic_kinds, {engine});
        slow_engines("pcie", pcie_kinds, {engine});
        read_lost({engine}, "cnic, pcie");
    }

    void slow_engines(const char* key, std::span<const ResourceKind> kinds,
                      const std::vector<EngineId>& engines) {
        const auto value = item_.optional_value(key);
        if (!value) return;
        for (const EngineId engine : engines) {
            for (const auto kind : kinds) {
                slow(topology_.engine_resource(engine, kind), read_fraction(*value));
            }
        }
    }

    void read_lost(const std::vector<EngineId>& engines, const char* parts) {
        const bool lost = item_.optional_boolean("lost").value_or(false);
        const std::string allowed =
            fmt::format("one or more of {} with the fraction left, or lost: true", parts);
        if (lost && !fault_.slowed.empty()) {
            throw InputError{item_.place(), "what is lost is not slow", allowed};
        }
        if (!lost && fault_.slowed.empty()) {
            throw InputError{item_.place(), "nothing goes wrong here", allowed};
        }
        if (lost) fault_.lost = engines;
    }

    void read_resource(const YamlValue& name) {
        slow(ResourceId{find_name(name, "resource", names_.resources)},
             read_fraction(item_.value("fraction")));
    }

    void read_storage(const YamlValue& left) {
        const bool stalled = left.text() == "stalled";
        if (stalled && !fault_.until) {
            throw InputError{left.place(), "a storage that stalls for ever serves nobody",
                             "an 'until', or the fraction that is left"};
        }
        const double fraction = stalled ? stalled_fraction : read_fraction(left);
        for (std::uint32_t i = 0; i < topology_.resources().size(); ++i) {
            const auto kind = topology_.resources()[i].kind;
            if (kind == storage_read || kind == storage_write) slow(ResourceId{i}, fraction);
        }
    }

    void slow(ResourceId resource, double fraction) {
        fault_.slowed.push_back({resource, fraction});
    }

    YamlMap item_;
    const Layout& layout_;
    const Topology& topology_;
    const Names& names_;
    Fault fault_;
};

}  // namespace

std::vector<Fault> read_faults(const std::vector<YamlValue>& items, const Layout& layout,
                               const Topology& topology) {
    std::vector<Fault> faults;
    if (items.empty()) return faults;
    const Names names = names_of(layout, topology);
    for (const YamlValue& item : items) {
        faults.push_back(FaultReader{item.map(), layout, topology, names}.read());
    }
    return faults;
}

}  // namespace dualpath
