// The run folder: what a run leaves on disk, valid at every moment.
#include "analysis/run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "analysis/summary.h"
#include "base/check.h"
#include "base/input_error.h"

namespace dualpath {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t buffer_limit = 1U << 16U;
constexpr std::array files_of_a_run{"requests.csv",     "resources.csv", "scenario.yaml",
                                    "calibration.yaml", "events.log",    "host.json"};
constexpr char requests_header[] =
    "request,session,turn,outcome,attempts,path,prefill_engine,decode_engine,"
    "prompt_tokens,context_tokens,hit_tokens,generated_tokens,submitted_s,decode_chosen_s,"
    "engines_chosen_s,allocated_s,read_done_s,first_token_s,second_token_s,end_s";
constexpr char resources_header[] = "from_s,to_s,resource,used_per_s,utilisation,at_limit";

[[noreturn]] void cannot_write(const fs::path& path) {
    throw std::system_error{errno, std::generic_category(), "cannot write " + path.string()};
}

const char* outcome_name(Outcome outcome) {
    switch (outcome) {
        case Outcome::finished:
            return "finished";
        case Outcome::aborted:
            return "aborted";
        case Outcome::failed:
            return "failed";
    }
    return "";
}

std::string optional_seconds(const std::optional<Instant>& at) {
    return at ? seconds_text(*at) : std::string{};
}

/// The line a column is summed into; storage has no role.
std::string line_of(const ResourceColumn& column) {
    const std::string& kind = column.kind;
    if (kind == "snic_rx" || kind == "snic_tx" || kind == "dram") return column.name;
    if (kind.starts_with("storage")) return kind;
    return fmt::format("{}.{}", column.role == Role::prefill ? "prefill" : "decode", kind);
}

/// "no" also for text that is no JSON: it was not us who wrote that.
bool says_it_is_ours(const fs::path& summary) {
    std::ifstream in{summary};
    const Json json = Json::parse(in, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("format")) return false;
    return json["format"] == summary_format;
}

}  // namespace

std::string seconds_text(Instant at) {
    const std::int64_t ps = at.time_since_epoch().count();
    const std::uint64_t size =
        ps < 0 ? 0 - static_cast<std::uint64_t>(ps) : static_cast<std::uint64_t>(ps);
    constexpr std::uint64_t per_second = 1'000'000'000'000;
    std::string text =
        fmt::format("{}{}.{:012}", ps < 0 ? "-" : "", size / per_second, size % per_second);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
}

void write_atomically(const fs::path& path, const std::string& text) {
    fs::path beside = path;
    beside += ".tmp";
    {
        std::ofstream out{beside, std::ios::binary | std::ios::trunc};
        out << text;
        out.close();
        if (!out) cannot_write(beside);
    }
    fs::rename(beside, path);
}

// ---- LineFile ---------------------------------------------------------------------------------

LineFile::LineFile(const fs::path& path, std::string_view header)
    : path_{path}, out_{path, std::ios::binary | std::ios::trunc} {
    if (!out_) cannot_write(path_);
    add(header);
    flush();
}

void LineFile::add(std::string_view line) {
    buffer_ += line;
    buffer_ += '\n';
    if (buffer_.size() >= buffer_limit) flush();
}

void LineFile::flush() {
    out_ << buffer_;
    out_.flush();
    if (!out_) cannot_write(path_);
    buffer_.clear();
}

// ---- RunFolder --------------------------------------------------------------------------------

void check_run_folder(const fs::path& directory) {
    std::error_code none;
    if (!fs::exists(directory, none)) return;
    const Place place{.file = directory.string(), .field = "--out"};
    if (!fs::is_directory(directory)) {
        throw InputError{place, "this is a file", "a run folder is a directory, new or empty"};
    }
    if (fs::is_empty(directory) || says_it_is_ours(directory / "summary.json")) return;
    throw InputError{place, "the directory holds other files",
                     "a run folder is a new or empty directory, or a former run folder"};
}

RunFolder::RunFolder(const RunFolderInputs& inputs) : directory_{inputs.directory} {
    check_run_folder(directory_);
    std::error_code error;
    fs::create_directories(directory_, error);
    if (error || access(directory_.c_str(), W_OK) != 0) {
        throw InputError{Place{.file = directory_.string(), .field = "--out"},
                         "this folder cannot be written", "a folder of yours"};
    }
    // First of all, so that the folder is known as ours should we be killed now.
    write_atomically(directory_ / "summary.json",
                     Json{{"format", summary_format}, {"complete", false}}.dump(2) + "\n");
    for (const char* file : files_of_a_run) fs::remove(directory_ / file);
    write_atomically(directory_ / "scenario.yaml", inputs.scenario_yaml);
    write_atomically(directory_ / "calibration.yaml", inputs.calibration_yaml);
    requests_.emplace(directory_ / "requests.csv", requests_header);
    resources_.emplace(directory_ / "resources.csv", resources_header);
    if (inputs.event_log) {
        const fs::path path = directory_ / "events.log";
        log_file_.open(path, std::ios::binary | std::ios::trunc);
        if (!log_file_) cannot_write(path);
        log_ = std::make_unique<EventLogWriter>(log_file_);
    }
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < inputs.columns.size(); ++i) {
        const auto [at, added] = known.try_emplace(line_of(inputs.columns[i]), lines_.size());
        if (added) lines_.push_back({at->first, {}, {}});
        lines_[at->second].columns.push_back(i);
        lines_[at->second].capacity.push_back(inputs.columns[i].capacity);
    }
    column_count_ = inputs.columns.size();
}

void RunFolder::add(const RequestRecord& r) {
    const bool assigned = r.attempts > 0;
    requests_->add(fmt::format(
        "{}.{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", r.request.id.slot,
        r.request.id.serial, r.request.session.value, r.request.turn, outcome_name(r.outcome),
        r.attempts, assigned ? (r.path == ReadPath::prefill ? "prefill" : "decode") : "",
        assigned ? fmt::format("{}", r.prefill.value) : "",
        assigned ? fmt::format("{}", r.decode.value) : "", r.request.prompt.value,
        r.request.context.value, r.hit.value, r.generated.value, seconds_text(r.request.submitted),
        optional_seconds(r.decode_chosen), optional_seconds(r.engines_chosen),
        optional_seconds(r.allocated), optional_seconds(r.read_done),
        optional_seconds(r.first_token), optional_seconds(r.second_token), seconds_text(r.end)));
}

void RunFolder::on_window(Instant from, Instant to, std::span<const ResourceUse> use) {
    CHECK(use.size() == column_count_, "a window has a value for every column");
    const double seconds = to_seconds(to - from);
    if (seconds <= 0) return;
    const std::string start = fmt::format("{},{}", seconds_text(from), seconds_text(to));
    for (const Line& line : lines_) {
        double used = 0, busy_s = 0, limit_s = 0;
        for (std::size_t i = 0; i < line.columns.size(); ++i) {
            const ResourceUse& own = use[line.columns[i]];
            used += own.used;
            if (line.capacity[i] > 0) busy_s += own.used / line.capacity[i];
            limit_s += own.at_limit_s;
        }
        const double all = seconds * static_cast<double>(line.columns.size());
        resources_->add(fmt::format("{},{},{:.6g},{:.6g},{:.6g}", start, line.name, used / seconds,
                                    busy_s / all, limit_s / all));
    }
}

void RunFolder::flush() {
    requests_->flush();
    resources_->flush();
    if (log_) log_->flush();
}

void RunFolder::checkpoint(const Json& summary) {
    CHECK(summary.contains("format"), "the folder is recognised by its summary");
    flush();
    write_atomically(directory_ / "summary.json", summary.dump(2) + "\n");
}

void RunFolder::finish(const Json& summary, const Json& host) {
    write_atomically(directory_ / "host.json", host.dump(2) + "\n");
    checkpoint(summary);
}

}  // namespace dualpath
