// `faults:` of a scenario: every form it may take, and every way to get it wrong.
#include "scenarios/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/scenario.h"
#include "tests/control/small_cluster.h"

namespace dualpath {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// One prefill and two decode nodes of two GPUs.
struct Cluster {
    Layout layout{make_layout(small_shape(1, 2, 2))};
    Topology topology{layout, small_capacities()};

    std::vector<Fault> read(const std::string& items) const {
        YamlMap root = YamlDocument::parse("faults:\n" + items, "f.yaml").root();
        return read_faults(root.optional_list("faults"), layout, topology);
    }
    Fault one(const std::string& item) const { return read("  - " + item + "\n").at(0); }
    /// The slowed resources by name with what is left.
    std::vector<std::pair<std::string, double>> slowed(const std::string& item) const {
        std::vector<std::pair<std::string, double>> all;
        for (const auto& [resource, fraction] : one(item).slowed) {
            all.emplace_back(topology.resources()[resource.index()].name, fraction);
        }
        return all;
    }
};

using Left = std::pair<std::string, double>;

TEST(ReadFaults, TimesAreFromTheStartOfTheRunAndTheEndMayBeNever) {
    const auto faults = Cluster{}.read(
        "  - {at: 60 s, until: 600 s, node: decode0, snic: 0.5}\n"
        "  - {at: 0 s, storage: 0.25}\n");
    ASSERT_EQ(faults.size(), 2u);
    EXPECT_EQ(faults[0].from, Instant{seconds{60}});
    EXPECT_EQ(faults[0].until, Instant{seconds{600}});
    EXPECT_EQ(faults[1].from, Instant{});
    EXPECT_EQ(faults[1].until, std::nullopt);
}

TEST(ReadFaults, SlowSnicIsSlowInBothDirections) {
    EXPECT_THAT(Cluster{}.slowed("{at: 1 s, node: decode1, snic: 0.5, dram: 0.25}"),
                UnorderedElementsAre(Left{"decode1.snic_rx", 0.5}, Left{"decode1.snic_tx", 0.5},
                                     Left{"decode1.dram", 0.25}));
}

TEST(ReadFaults, SlowCnicIsSlowOnBothOfItsSides) {
    EXPECT_THAT(
        Cluster{}.slowed("{at: 1 s, engine: decode0.1, cnic: 0.5}"),
        UnorderedElementsAre(Left{"decode0.1.cnic_read", 0.5}, Left{"decode0.1.cnic_write", 0.5},
                             Left{"decode0.1.cnic_tx", 0.5}, Left{"decode0.1.cnic_rx", 0.5}));
}

// Two GPUs: both ends of the PCIe link, in both directions, of each.
TEST(ReadFaults, PartsOfANodesEnginesAreSlowOnAllOfThem) {
    EXPECT_EQ(Cluster{}.slowed("{at: 1 s, node: prefill0, pcie: 0.5}").size(), 8u);
    EXPECT_EQ(Cluster{}.slowed("{at: 1 s, node: prefill0, cnic: 0.5}").size(), 8u);
}

TEST(ReadFaults, ResourceIsNamedAsInTheTopology) {
    EXPECT_THAT(Cluster{}.slowed("{at: 1 s, resource: prefill0.1.hbm, fraction: 0.1}"),
                ElementsAre(Left{"prefill0.1.hbm", 0.1}));
}

TEST(ReadFaults, StorageIsSlowBothWaysAndStalledIsAMillionth) {
    EXPECT_THAT(Cluster{}.slowed("{at: 1 s, storage: 0.25}"),
                ElementsAre(Left{"storage_read", 0.25}, Left{"storage_write", 0.25}));
    EXPECT_THAT(Cluster{}.slowed("{at: 1 s, until: 2 s, storage: stalled}"),
                ElementsAre(Left{"storage_read", 1e-6}, Left{"storage_write", 1e-6}));
}

// Engines 0 and 1 stand in prefill0, 2 and 3 in decode0, 4 and 5 in decode1.
TEST(ReadFaults, LostNodeIsAllItsEngines) {
    const Fault node = Cluster{}.one("{at: 1 s, node: decode0, lost: true}");
    EXPECT_THAT(node.lost, ElementsAre(EngineId{2}, EngineId{3}));
    EXPECT_THAT(node.slowed, IsEmpty());
    const Fault engine = Cluster{}.one("{at: 1 s, engine: decode1.1, lost: true}");
    EXPECT_THAT(engine.lost, ElementsAre(EngineId{5}));
}

struct Mistake {
    std::string name;
    std::string item;
    std::vector<std::string> words;  ///< that the message must hold
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.name; }

class BadFault : public testing::TestWithParam<Mistake> {};

TEST_P(BadFault, IsRefusedWithItsPlace) {
    try {
        Cluster{}.one(GetParam().item);
        FAIL() << "it is taken";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("f.yaml:2: faults.0"));
        for (const std::string& word : GetParam().words) {
            EXPECT_THAT(error.what(), HasSubstr(word));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    ReadFaults, BadFault,
    testing::Values(
        Mistake{"unknown_node",
                "{at: 1 s, node: decod0, snic: 0.5}",
                {"faults.0.node", "'decode0'?", "from prefill0 to decode1"}},
        Mistake{"node_beyond_the_cluster",
                "{at: 1 s, node: decode2, snic: 0.5}",
                {"faults.0.node", "unknown node 'decode2'", "from prefill0 to decode1"}},
        Mistake{"unknown_engine",
                "{at: 1 s, engine: decode0.3, lost: true}",
                {"faults.0.engine", "unknown engine", "'decode0.0'?", "prefill0.0 to decode1.1"}},
        Mistake{"unknown_resource",
                "{at: 1 s, resource: decode0.snic, fraction: 0.5}",
                {"faults.0.resource", "unknown resource", "'decode0.snic_rx'?"}},
        Mistake{"ends_before_it_begins",
                "{at: 9 s, until: 8 s, node: decode0, snic: 0.5}",
                {"faults.0.until", "end before it begins"}},
        Mistake{"lasts_no_time",
                "{at: 9 s, until: 9 s, node: decode0, snic: 0.5}",
                {"faults.0.until", "'at'"}},
        Mistake{"no_time", "{node: decode0, snic: 0.5}", {"at"}},
        Mistake{"time_without_unit", "{at: 9, node: decode0, snic: 0.5}", {"faults.0.at", "9"}},
        Mistake{"nothing_left", "{at: 1 s, node: decode0, snic: 0}", {"faults.0.snic", "'0'"}},
        Mistake{"more_than_all", "{at: 1 s, storage: 1.5}", {"faults.0.storage", "'1.5'"}},
        Mistake{"less_than_a_stall",
                "{at: 1 s, resource: decode0.dram, fraction: 1e-7}",
                {"faults.0.fraction", "'1e-7'"}},
        Mistake{"no_fraction", "{at: 1 s, resource: decode0.dram}", {"fraction"}},
        Mistake{"stall_without_end",
                "{at: 1 s, storage: stalled}",
                {"faults.0.storage", "serves nobody", "until"}},
        Mistake{"stalled_node", "{at: 1 s, node: decode0, snic: stalled}", {"faults.0.snic"}},
        Mistake{"nothing_goes_wrong",
                "{at: 1 s, node: decode0}",
                {"nothing goes wrong", "snic, cnic, dram, pcie", "lost: true"}},
        Mistake{"not_lost", "{at: 1 s, engine: decode0.0, lost: false}", {"cnic, pcie"}},
        Mistake{"lost_and_slow",
                "{at: 1 s, node: decode0, snic: 0.5, lost: true}",
                {"not slow", "or lost: true"}},
        Mistake{"engine_without_snic",
                "{at: 1 s, engine: decode0.0, cnic: 0.5, snic: 0.5}",
                {"faults.0.snic", "unknown key"}},
        Mistake{"nothing_hit", "{at: 1 s, snic: 0.5}", {"node, engine, resource, storage"}},
        Mistake{"two_things_hit",
                "{at: 1 s, node: decode0, storage: 0.5, snic: 0.5}",
                {"one of: node, engine, resource, storage"}},
        Mistake{"typo", "{at: 1 s, node: decode0, snik: 0.5, dram: 0.5}", {"snik", "'snic'?"}}),
    [](const auto& mistake) { return mistake.param.name; });

TEST(ScenarioFaults, AreReadForTheScenariosOwnCluster) {
    const Scenario s =
        load_scenario("scenarios/quickstart.yaml",
                      {{"faults=[{at: 10 s, until: 60 s, node: decode1, lost: true}]"}});
    ASSERT_EQ(s.faults.size(), 1u);
    EXPECT_EQ(s.faults[0].lost.size(), 8u);
    EXPECT_EQ(s.faults[0].lost.front(), EngineId{16});  // behind prefill0 and decode0
}

TEST(ScenarioFaults, AreNoneByDefault) {
    EXPECT_THAT(load_scenario("scenarios/quickstart.yaml").faults, IsEmpty());
}

}  // namespace
}  // namespace dualpath
