// The event log: everything a run's world said, and a hash of what control answered, in few bytes.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/run.h"

namespace dualpath {

/// Layout: "DPLOG1\n", the format version as one byte, then a record per event:
///   kind           1 byte: index in Event
///   delta          varint: picoseconds since the event before (the run starts at 0)
///   fields         varints in the order of declaration; signed ones zigzag; `submitted` as its
///                  distance to the event's instant; an optional as 0, or 1 and its value;
///                  `finished` as its length and its elements
///   command count  varint
///   command hash   4 bytes, little endian: command_hash()
///   check          1 byte: the record's other bytes, hashed, so that damage is found
/// A varint is little-endian base 128. A log that ends inside a record is readable up to there.
inline constexpr char event_log_magic[] = "DPLOG1\n";
inline constexpr std::uint8_t event_log_version = 1;

/// Writes as the run goes. Only whole records reach the stream, so a killed run leaves a readable
/// log. Throws std::runtime_error when the stream fails (a full disk).
class EventLogWriter final : public RunObserver {
public:
    /// `out` must be open in binary mode and outlive this.
    explicit EventLogWriter(std::ostream& out);
    ~EventLogWriter() override;
    EventLogWriter(const EventLogWriter&) = delete;
    EventLogWriter& operator=(const EventLogWriter&) = delete;

    void on_event(const TimedEvent& event, std::span<const Command> commands) override;
    void flush();

private:
    std::ostream& out_;
    std::string buffer_;
    Instant last_{};
};

/// One event as recorded, with what control answered at the time.
struct LoggedEvent {
    TimedEvent event;  ///< StepDone::finished is valid until the next call of next()
    std::uint64_t commands = 0;
    std::uint32_t command_hash = 0;
};

class EventLogReader {
public:
    /// `name` is the file in errors. Throws InputError when it is no event log of this version.
    EventLogReader(std::istream& in, std::string name);

    /// nullopt at the end of the log. Throws InputError where a record is damaged.
    std::optional<LoggedEvent> next();

    std::uint64_t records() const { return records_; }  ///< read so far
    bool truncated() const { return truncated_; }       ///< the log ended inside a record
    const std::string& name() const { return name_; }

private:
    class Record;
    std::optional<LoggedEvent> read(int kind);

    std::istream& in_;
    std::string name_;
    std::vector<RequestId> finished_;
    std::uint64_t records_ = 0, offset_ = 0;
    Instant last_{};
    bool truncated_ = false;
};

}  // namespace dualpath
