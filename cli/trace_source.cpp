// Trajectories for a scenario: read from its trace file, or generated.
#include "cli/trace_source.h"

#include <filesystem>

#include <fmt/format.h>

#include "traces/agent_generator.h"
#include "traces/generator.h"
#include "traces/requests_csv.h"
#include "traces/trajectory_reader.h"

namespace dualpath::cli {
namespace {

LoadedTrace read_file(const TraceSource& source) {
    if (!std::filesystem::exists(source.file)) {
        throw InputError{source.place, fmt::format("no trace file '{}'", source.file.string()),
                         "a trajectory file (.jsonl, .jsonl.gz), a request file (.csv), "
                         "'table2' or 'agents'"};
    }
    if (source.file.extension() == ".csv") return {read_requests_csv(source.file), {}};
    TrajectoryFile file = read_trajectories(source.file);
    return {std::move(file.trajectories), std::move(file.warnings)};
}

}  // namespace

LoadedTrace load_trace(const Scenario& scenario) {
    switch (scenario.trace.kind) {
        case TraceSource::Kind::table2: {
            const PopulationParameters population = table2_population();
            return {generate(population, scenario.trace.trajectories, scenario.seed),
                    {describe(population)}};
        }
        case TraceSource::Kind::agents:
            return {generate_agents({}, scenario.workload.agents, scenario.seed), {}};
        case TraceSource::Kind::file:
            break;
    }
    return read_file(scenario.trace);
}

}  // namespace dualpath::cli
