// A scenario: everything one run depends on, read from YAML, with every name resolved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/rng.h"
#include "base/units.h"
#include "control/settings.h"
#include "models/calibration.h"
#include "models/fault.h"
#include "models/gpu.h"
#include "models/layout.h"
#include "models/llm.h"
#include "models/node.h"
#include "workload/settings.h"

namespace dualpath {

/// Where trajectories come from: a file, or a generator by name.
struct TraceSource {
    enum class Kind { file, table2, agents } kind = Kind::table2;
    std::filesystem::path file;
    Place place;                     ///< where the scenario names the file
    std::size_t trajectories = 500;  ///< generated ones
};

/// The latency limits as written; analysis reads them (analysis/slo.h).
struct SloText {
    std::string text = "paper";
    Place place{.field = "slo"};
};

struct StorageSettings {
    std::optional<BytesPerSecond> read, write;  ///< of the cluster; absent: never the limit
    Duration latency{};                         ///< before the first byte of a read
};

struct Scenario {
    std::string name;
    std::filesystem::path file;
    std::string system;  ///< basic, dualpath or oracle
    Seed seed;

    Llm llm;
    double weight_bytes_per_parameter = 1;
    KvDtype kv_dtype = KvDtype::fp8;
    Tokens block{64};

    ClusterShape shape;
    NodeFacts node;
    Gpu gpu;
    Calibration calibration;
    StorageSettings storage;
    bool qos = true;          ///< two traffic classes on the CNICs
    bool collectives = true;  ///< all-to-all as load on the CNICs
    Duration control_latency{};

    ControlSettings control;  ///< alpha and beta are 0 until resolved by the assembly
    WorkloadSettings workload;
    TraceSource trace;
    SloText slo;
    std::vector<Fault> faults;

    std::string text;              ///< the effective YAML: base files merged, --set applied
    std::string calibration_text;  ///< the effective calibration, as YAML
    std::uint64_t hash = 0;        ///< of `text`
};

struct ScenarioOptions {
    std::vector<std::string> assignments;  ///< `--set` values: a.b.c=value
};

/// Reads a scenario, its base files and the catalog entries it names. Throws InputError with file,
/// line and field for whatever is missing, unknown, without unit or impossible.
Scenario load_scenario(const std::filesystem::path& file, const ScenarioOptions& options = {});

/// The same from a run folder: its effective scenario and the calibration it was run with.
Scenario load_recorded_scenario(const std::filesystem::path& scenario,
                                const std::filesystem::path& calibration);

}  // namespace dualpath
