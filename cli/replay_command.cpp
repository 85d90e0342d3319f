// dualpath replay: the recorded events of a run, fed to a fresh control plane, must give the
// recorded commands again.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/event_log.h"
#include "analysis/replay.h"
#include "base/input_error.h"
#include "cli/command.h"
#include "cli/options.h"
#include "scenarios/assembly.h"

namespace dualpath::cli {
namespace {

namespace po = boost::program_options;

Usage usage() {
    Usage u{.line = "dualpath replay RUNDIR [options]",
            .about =
                "Feeds the events that a run recorded, simulated or on hardware, to a fresh\n"
                "control plane. Exit 0: identical commands. Exit 1: says where they differ.",
            .examples = "  dualpath replay runs/quickstart\n"};
    u.options.add_options()("help", "this text")("json", "print one JSON object")("quiet",
                                                                                  "print nothing");
    u.hidden.add_options()("folder", po::value<std::string>()->required());
    u.positions.add("folder", 1);
    return u;
}

}  // namespace

int replay_command(const std::vector<std::string>& arguments) {
    const auto values = parse_options(usage(), arguments);
    if (!values) return done;
    const std::filesystem::path folder = (*values)["folder"].as<std::string>();
    const Scenario scenario =
        load_recorded_scenario(folder / "scenario.yaml", folder / "calibration.yaml");
    const Assembly assembly{scenario};
    DualPathControl control{assembly.control_facts(), assembly.control, assembly.model};
    const auto log_file = folder / "events.log";
    std::ifstream in{log_file, std::ios::binary};
    if (!in) {
        throw InputError{Place{.file = log_file.string()}, "cannot be read",
                         "a run folder written without --no-event-log"};
    }
    EventLogReader log{in, log_file.string()};
    const auto difference = replay(log, control);
    if (values->count("json")) {
        fmt::print("{}\n", nlohmann::ordered_json{{"identical", !difference.has_value()},
                                                  {"events", log.records()},
                                                  {"truncated", log.truncated()}}
                               .dump(2));
    } else if (!difference && !values->count("quiet")) {
        fmt::print("identical commands for {} events{}\n", log.records(),
                   log.truncated() ? "; the log ends inside a record" : "");
    }
    if (!difference) return done;
    fmt::print(stderr, "dualpath: {}: event {} ({} at {:.12f} s): {}\n", log_file.string(),
               difference->record, difference->event, to_seconds(difference->at), difference->what);
    return check_failed;
}

}  // namespace dualpath::cli
