// The run folder: what a run leaves on disk, valid at every moment.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/event_log.h"
#include "analysis/request_times.h"
#include "control/world.h"

namespace dualpath {

/// A text file of whole lines: only whole ones are handed to the system, many at a time.
class LineFile {
public:
    LineFile(const std::filesystem::path& path, std::string_view header);
    ~LineFile() { out_ << buffer_; }
    LineFile(const LineFile&) = delete;
    LineFile& operator=(const LineFile&) = delete;

    void add(std::string_view line);  ///< without its line end
    void flush();                     ///< throws std::system_error naming the file

private:
    std::filesystem::path path_;
    std::ofstream out_;
    std::string buffer_;
};

/// Throws InputError when `directory` exists, is not empty and is no run folder of ours (its
/// summary.json must say so), or is not a directory. Changes nothing.
void check_run_folder(const std::filesystem::path& directory);

struct RunFolderInputs {
    std::filesystem::path directory;
    std::string scenario_yaml;  ///< resolved
    std::string calibration_yaml;
    std::vector<ResourceColumn> columns;  ///< of the world's windows
    bool event_log = true;
};

/// requests.csv and resources.csv grow as the run goes; summary.json is replaced as a whole. Make
/// it once the scenario is known to be good: the constructor makes the directory, or removes the
/// files of a former run, and writes a first summary.json with "complete": false.
class RunFolder final : public ResourceObserver {
public:
    explicit RunFolder(const RunFolderInputs& inputs);

    /// A line of requests.csv: times in seconds of run time, exact; empty where not reached.
    void add(const RequestRecord& record);
    /// Lines of resources.csv: SNICs and DRAM per node, storage, all others per role. used_per_s is
    /// the sum over the resources of the line, utilisation and at_limit are means over them.
    void on_window(Instant from, Instant to, std::span<const ResourceUse> use) override;
    /// The writer of events.log, nullptr without one.
    RunObserver* event_log() { return log_.get(); }

    /// All so far reaches the disk; `summary` replaces summary.json.
    void checkpoint(const nlohmann::ordered_json& summary);
    /// The same, and host.json: what may differ between identical runs.
    void finish(const nlohmann::ordered_json& summary, const nlohmann::ordered_json& host);

    const std::filesystem::path& directory() const { return directory_; }

private:
    struct Line {
        std::string name;
        std::vector<std::size_t> columns;
        std::vector<double> capacity;
    };
    void flush();

    std::filesystem::path directory_;
    std::vector<Line> lines_;
    std::size_t column_count_ = 0;
    std::optional<LineFile> requests_, resources_;
    std::ofstream log_file_;
    std::unique_ptr<EventLogWriter> log_;
};

/// Writes beside the file and renames: a reader sees the old text or the new one.
void write_atomically(const std::filesystem::path& path, const std::string& text);

/// Exact decimal seconds without trailing zeros: 1.5, 0.000000000001.
std::string seconds_text(Instant at);

}  // namespace dualpath
