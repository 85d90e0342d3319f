// The event log: everything a run's world said, and a hash of what control answered, in few bytes.
#include "analysis/event_log.h"

#include <array>
#include <istream>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "analysis/run_hash.h"
#include "base/check.h"
#include "base/input_error.h"

namespace dualpath {
namespace {

constexpr std::size_t buffer_limit = 1U << 16U;
constexpr std::size_t magic_size = sizeof event_log_magic - 1;

std::uint8_t fold(std::uint64_t hash) {
    hash ^= hash >> 32U;
    hash ^= hash >> 16U;
    return static_cast<std::uint8_t>(hash ^ (hash >> 8U));
}

/// Appends fields; the reader mirrors it call by call.
class Writer {
public:
    explicit Writer(std::string& out) : out_{out} {}

    void byte(std::uint8_t value) { out_ += static_cast<char>(value); }
    void number(std::uint64_t value) {
        for (; value >= 0x80U; value >>= 7U) byte(static_cast<std::uint8_t>(value | 0x80U));
        byte(static_cast<std::uint8_t>(value));
    }
    void signed_number(std::int64_t value) {
        const auto bits = static_cast<std::uint64_t>(value);
        number((bits << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0));
    }
    template <class Tag>
    void id(SlotId<Tag> value) {
        number(value.slot);
        number(value.serial);
    }
    void id(StepId value) {
        number(value.group.value);
        number(value.number);
    }
    void status(Status value) { byte(static_cast<std::uint8_t>(value)); }

    void fields(const RequestArrived& e, Instant at) {
        const Request& r = e.request;
        id(r.id);
        number(r.session.value);
        // Unsigned, so that any two instants have a distance.
        const auto distance = static_cast<std::uint64_t>(at.time_since_epoch().count()) -
                              static_cast<std::uint64_t>(r.submitted.time_since_epoch().count());
        signed_number(static_cast<std::int64_t>(distance));
        number(r.turn);
        signed_number(r.context.value);
        signed_number(r.prompt.value);
        byte(r.prefix.has_value() ? 1 : 0);
        if (r.prefix) number(r.prefix->value);
        signed_number(r.prefix_tokens.value);
        signed_number(r.max_output.value);
    }
    void fields(const GroupFetched& e, Instant) { number(e.group.value); }
    void fields(const TransferDone& e, Instant) {
        id(e.id);
        status(e.status);
    }
    void fields(const LayersDone& e, Instant) {
        id(e.step);
        number(e.through);
        status(e.status);
    }
    void fields(const StepDone& e, Instant) {
        id(e.step);
        number(e.finished.size());
        for (const RequestId request : e.finished) id(request);
        status(e.status);
    }
    void fields(const TimerFired& e, Instant) { number(e.id.value); }
    void fields(const RequestAborted& e, Instant) { id(e.id); }
    void fields(const EngineLost& e, Instant) { number(e.id.value); }
    void fields(const EngineBack& e, Instant) { number(e.id.value); }
    void fields(const WeightsChanged& e, Instant) { number(e.version); }

private:
    std::string& out_;
};

std::uint8_t check_byte(std::string_view record) {
    WordHash hash;
    for (const char c : record) hash.add(static_cast<unsigned char>(c));
    return fold(hash.value());
}

struct EndOfLog {};  // inside a record; caught in EventLogReader::next

}  // namespace

// ---- writing ----------------------------------------------------------------------------------

EventLogWriter::EventLogWriter(std::ostream& out) : out_{out} {
    buffer_.append(event_log_magic, magic_size);
    buffer_ += static_cast<char>(event_log_version);
    flush();
}

EventLogWriter::~EventLogWriter() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    out_.flush();
}

void EventLogWriter::on_event(const TimedEvent& event, std::span<const Command> commands) {
    CHECK(event.at >= last_, "the clock never goes back");
    const std::size_t start = buffer_.size();
    Writer writer{buffer_};
    writer.byte(static_cast<std::uint8_t>(event.event.index()));
    writer.number(static_cast<std::uint64_t>((event.at - last_).count()));
    std::visit([&](const auto& e) { writer.fields(e, event.at); }, event.event);
    writer.number(commands.size());
    const std::uint32_t hash = command_hash(commands);
    for (unsigned shift = 0; shift < 32; shift += 8) {
        writer.byte(static_cast<std::uint8_t>(hash >> shift));
    }
    writer.byte(check_byte(std::string_view{buffer_}.substr(start)));
    last_ = event.at;
    if (buffer_.size() >= buffer_limit) flush();
}

void EventLogWriter::flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    out_.flush();
    buffer_.clear();
    if (!out_) throw std::runtime_error{"the event log cannot be written: is the disk full?"};
}

// ---- reading ----------------------------------------------------------------------------------

/// Takes one record's fields off the stream and remembers its bytes' hash.
class EventLogReader::Record {
public:
    explicit Record(EventLogReader& reader) : reader_{reader} {}

    [[noreturn]] void damaged(const std::string& wrong) const {
        throw InputError{Place{.file = reader_.name_},
                         fmt::format("record {} (near byte {}) is damaged: {}",
                                     reader_.records_ + 1, reader_.offset_, wrong),
                         "the records before it are good"};
    }
    std::uint8_t raw_byte() {
        const int c = reader_.in_.get();
        if (c == std::istream::traits_type::eof()) throw EndOfLog{};
        ++reader_.offset_;
        return static_cast<std::uint8_t>(c);
    }
    std::uint8_t byte() {
        const std::uint8_t value = raw_byte();
        hash_.add(value);
        return value;
    }
    void count_in(std::uint8_t value) { hash_.add(value); }
    std::uint64_t number(std::uint64_t largest = UINT64_MAX) {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const std::uint64_t part = byte();
            if (shift == 63 && part > 1) damaged("a number is longer than 64 bits");
            value |= (part & 0x7fU) << shift;
            if (part < 0x80U) break;
        }
        if (value > largest) damaged(fmt::format("{} where at most {} fits", value, largest));
        return value;
    }
    std::uint32_t word() { return static_cast<std::uint32_t>(number(UINT32_MAX)); }
    std::int64_t signed_number() {
        const std::uint64_t bits = number();
        return static_cast<std::int64_t>((bits >> 1U) ^ ((bits & 1U) != 0 ? ~std::uint64_t{0} : 0));
    }
    template <class T>
    T id() {
        const std::uint32_t slot = word();
        return {slot, word()};
    }
    StepId step() {
        const ExpertGroupId group{word()};
        return {group, word()};
    }
    std::uint8_t choice(std::uint8_t largest) {
        const std::uint8_t value = byte();
        if (value > largest) damaged(fmt::format("{} where at most {} fits", value, largest));
        return value;
    }
    Status status() { return static_cast<Status>(choice(1)); }
    void verify() {
        const std::uint8_t expected = fold(hash_.value());
        if (raw_byte() != expected) damaged("its check byte does not fit");
    }

    Request request(Instant at) {
        Request r;
        r.id = id<RequestId>();
        r.session = {word()};
        const auto distance = static_cast<std::uint64_t>(signed_number());
        r.submitted = Instant{Duration{static_cast<std::int64_t>(
            static_cast<std::uint64_t>(at.time_since_epoch().count()) - distance)}};
        r.turn = word();
        r.context = {signed_number()};
        r.prompt = {signed_number()};
        if (choice(1) == 1) r.prefix = PrefixId{word()};
        r.prefix_tokens = {signed_number()};
        r.max_output = {signed_number()};
        return r;
    }

private:
    EventLogReader& reader_;
    WordHash hash_;
};

EventLogReader::EventLogReader(std::istream& in, std::string name)
    : in_{in}, name_{std::move(name)} {
    std::array<char, magic_size + 1> head{};
    in_.read(head.data(), head.size());
    const auto got = static_cast<std::size_t>(in_.gcount());
    const std::string_view text{head.data(), got};
    if (text.substr(0, magic_size) != std::string_view{event_log_magic, magic_size}) {
        throw InputError{Place{.file = name_}, "this is no event log",
                         "it begins with DPLOG1 (events.log of a run folder)"};
    }
    if (got < head.size() || static_cast<std::uint8_t>(head.back()) != event_log_version) {
        throw InputError{Place{.file = name_}, "an event log of another version",
                         fmt::format("version {} is read", event_log_version)};
    }
    offset_ = head.size();
}

std::optional<LoggedEvent> EventLogReader::next() {
    const int kind = in_.get();
    if (kind == std::istream::traits_type::eof()) return std::nullopt;
    ++offset_;
    try {
        auto logged = read(kind);
        ++records_;
        last_ = logged->event.at;
        return logged;
    } catch (const EndOfLog&) {
        truncated_ = true;
        return std::nullopt;
    }
}

std::optional<LoggedEvent> EventLogReader::read(int kind) {
    Record record{*this};
    record.count_in(static_cast<std::uint8_t>(kind));
    const auto left = static_cast<std::uint64_t>((Instant::max() - last_).count());
    const Instant at = last_ + Duration{static_cast<std::int64_t>(record.number(left))};
    LoggedEvent logged{.event = {.at = at}};
    Event& event = logged.event.event;
    switch (kind) {
        case 0:
            event = RequestArrived{record.request(at)};
            break;
        case 1:
            event = GroupFetched{{record.word()}};
            break;
        case 2: {
            const auto id = record.id<TransferId>();
            event = TransferDone{id, record.status()};
            break;
        }
        case 3: {
            const StepId step = record.step();
            const auto through = static_cast<LayerIndex>(record.number(UINT16_MAX));
            event = LayersDone{step, through, record.status()};
            break;
        }
        case 4: {
            const StepId step = record.step();
            const std::uint64_t count = record.number();
            finished_.clear();
            for (std::uint64_t i = 0; i < count; ++i) finished_.push_back(record.id<RequestId>());
            event = StepDone{step, finished_, record.status()};
            break;
        }
        case 5:
            event = TimerFired{{record.word()}};
            break;
        case 6:
            event = RequestAborted{record.id<RequestId>()};
            break;
        case 7:
            event = EngineLost{{record.word()}};
            break;
        case 8:
            event = EngineBack{{record.word()}};
            break;
        case 9:
            event = WeightsChanged{record.word()};
            break;
        default:
            record.damaged(fmt::format("there is no event of kind {}", kind));
    }
    static_assert(std::variant_size_v<Event> == 10, "a new event needs a case here");
    logged.commands = record.number();
    for (unsigned shift = 0; shift < 32; shift += 8) {
        logged.command_hash |= std::uint32_t{record.byte()} << shift;
    }
    record.verify();
    return logged;
}

}  // namespace dualpath
