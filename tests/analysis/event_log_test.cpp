// The event log: what is written is read again, and damage is told from an early end.
#include "analysis/event_log.h"

#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "analysis/replay.h"
#include "analysis/run_hash.h"
#include "base/input_error.h"
#include "tests/analysis/seam_feed.h"

namespace dualpath {
namespace {

// ---- any event --------------------------------------------------------------------------------

std::uint32_t any_word() { return *rc::gen::arbitrary<std::uint32_t>(); }
Tokens any_tokens() { return {*rc::gen::arbitrary<std::int64_t>()}; }
Status any_status() { return *rc::gen::element(Status::ok, Status::failed); }
RequestId any_request_id() {
    const auto slot = any_word();
    return {slot, any_word()};
}

Request any_request() {
    Request r;
    r.id = any_request_id();
    r.session = {any_word()};
    r.submitted = Instant{Duration{*rc::gen::arbitrary<std::int64_t>()}};
    r.turn = any_word();
    r.context = any_tokens();
    r.prompt = any_tokens();
    if (*rc::gen::arbitrary<bool>()) r.prefix = PrefixId{any_word()};
    r.prefix_tokens = any_tokens();
    r.max_output = any_tokens();
    return r;
}

/// The kind-th alternative; `finished` holds the ids of a StepDone.
Event any_event(std::size_t kind, std::vector<RequestId>& finished) {
    const StepId step{{any_word()}, any_word()};
    const auto layer = static_cast<LayerIndex>(any_word());
    switch (kind) {
        case 0:
            return RequestArrived{any_request()};
        case 1:
            return GroupFetched{{any_word()}};
        case 2:
            return TransferDone{{step.number, step.group.value}, any_status()};
        case 3:
            return LayersDone{step, layer, any_status()};
        case 4: {
            const auto count = *rc::gen::inRange(0, 5);
            for (int i = 0; i < count; ++i) finished.push_back(any_request_id());
            return StepDone{step, finished, any_status()};
        }
        case 5:
            return TimerFired{{any_word()}};
        case 6:
            return RequestAborted{any_request_id()};
        case 7:
            return EngineLost{{any_word()}};
        case 8:
            return EngineBack{{any_word()}};
        default:
            return WeightsChanged{any_word()};
    }
}

std::uint64_t hash_of(const TimedEvent& event) {
    WordHash hash;
    hash_event(hash, event);
    return hash.value();
}

// Equality by hash: it covers every field, and RunHash tests below show that it sees each change.
RC_GTEST_PROP(EventLog, EveryEventComesBackAsItWas, ()) {
    std::stringstream file;
    std::vector<std::uint64_t> written;
    std::vector<std::size_t> kinds;
    {
        EventLogWriter writer{file};
        Instant now{};
        const auto count = *rc::gen::inRange<std::size_t>(0, 30);
        for (std::size_t i = 0; i < count; ++i) {
            std::vector<RequestId> finished;
            now += Duration{*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 58)};
            kinds.push_back(i < 10 ? i : *rc::gen::inRange<std::size_t>(0, 10));
            const TimedEvent event{now, any_event(kinds.back(), finished)};
            RC_ASSERT(event.event.index() == kinds.back());
            written.push_back(hash_of(event));
            const std::vector<Command> commands(i % 3, Command{SetTimer{{any_word()}, now}});
            writer.on_event(event, commands);
        }
    }
    EventLogReader reader{file, "events.log"};
    for (std::size_t i = 0; i < written.size(); ++i) {
        const auto logged = reader.next();
        RC_ASSERT(logged.has_value());
        RC_ASSERT(logged->event.event.index() == kinds[i]);
        RC_ASSERT(hash_of(logged->event) == written[i]);
        RC_ASSERT(logged->commands == i % 3);
    }
    RC_ASSERT(!reader.next().has_value());
    RC_ASSERT(!reader.truncated());
    RC_ASSERT(reader.records() == written.size());
}

std::string one_turn() {
    std::ostringstream file;
    {
        EventLogWriter writer{file};
        SeamFeed feed{&writer};
        tell_one_turn(feed, {3, 9}, {2}, 0.5);
    }
    return file.str();
}

// One turn of the feed is 9 events. An arrival takes 26 bytes or so, the others about 10 to 15: a
// delta of seconds in ps is 6 bytes, kind, count, hash and check 7.
TEST(EventLog, IsCompact) { EXPECT_LT(one_turn().size(), 9 * 17U + 20U); }

TEST(EventLog, EndsQuietlyWhereItWasCutOff) {
    const std::string whole = one_turn();
    std::uint64_t most = 0;
    for (std::size_t size = 8; size < whole.size(); ++size) {
        std::istringstream file{whole.substr(0, size)};
        EventLogReader reader{file, "events.log"};
        while (reader.next()) {
        }
        EXPECT_GE(reader.records(), most) << size;
        EXPECT_LE(reader.records(), 8U);
        most = reader.records();
        if (size == 8) {
            EXPECT_FALSE(reader.truncated());
        }
        if (size == whole.size() - 1) {
            EXPECT_TRUE(reader.truncated());
        }
    }
    EXPECT_EQ(most, 8U);
}

TEST(EventLog, RefusesAnotherFileNamingIt) {
    std::istringstream file{"request,session\n1,2\n"};
    try {
        EventLogReader reader{file, "runs/a/requests.csv"};
        FAIL() << "accepted";
    } catch (const InputError& error) {
        EXPECT_NE(std::string{error.what()}.find("runs/a/requests.csv"), std::string::npos);
    }
}

TEST(EventLog, RefusesAnotherVersion) {
    std::string log = one_turn();
    log[7] = 2;
    std::istringstream file{log};
    EXPECT_THROW((EventLogReader{file, "events.log"}), InputError);
}

// A changed byte is an error with its record, or (in a length) an early end; never a silent change:
// a check byte misses one change in 256, so of all bytes a few may pass.
TEST(EventLog, FindsChangedBytes) {
    const std::string whole = one_turn();
    int missed = 0;
    for (std::size_t i = 8; i < whole.size(); ++i) {
        std::string log = whole;
        log[i] = static_cast<char>(log[i] ^ 0x15);
        std::istringstream file{log};
        EventLogReader reader{file, "events.log"};
        try {
            while (reader.next()) {
            }
            if (!reader.truncated()) ++missed;
        } catch (const InputError& error) {
            EXPECT_NE(std::string{error.what()}.find("record "), std::string::npos);
        }
    }
    EXPECT_LE(missed, 3);
}

TEST(EventLog, NamesTheDamagedRecord) {
    std::string log = one_turn();
    log[8] = 77;  // the first record's kind
    std::istringstream file{log};
    EventLogReader reader{file, "events.log"};
    try {
        reader.next();
        FAIL() << "accepted";
    } catch (const InputError& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find("events.log: record 1 "), std::string::npos) << what;
        EXPECT_NE(what.find("kind 77"), std::string::npos) << what;
    }
}

// ---- replay -----------------------------------------------------------------------------------

/// Answers the n-th event with n % 3 timers; from `changed_at` on, with another instant in them.
class TimersControl final : public ControlPlane {
public:
    explicit TimersControl(std::uint32_t changed_at) : changed_at_{changed_at} {}
    void handle(Instant now, const Event&, std::vector<Command>& commands) override {
        ++events_;
        const Duration more{events_ == changed_at_ ? 1 : 0};
        for (std::uint32_t i = 0; i < events_ % 3; ++i) {
            commands.push_back(SetTimer{{i}, now + more});
        }
    }

private:
    std::uint32_t changed_at_, events_ = 0;
};

std::string record_timers() {
    std::ostringstream file;
    EventLogWriter writer{file};
    TimersControl control{0};
    std::vector<Command> commands;
    for (std::uint32_t i = 1; i <= 10; ++i) {
        const TimedEvent event{at_s(i), GroupFetched{{i}}};
        commands.clear();
        control.handle(event.at, event.event, commands);
        writer.on_event(event, commands);
    }
    writer.flush();
    return file.str();
}

TEST(Replay, TheSameControlGivesTheSameCommands) {
    std::istringstream file{record_timers()};
    EventLogReader log{file, "events.log"};
    TimersControl control{0};
    EXPECT_FALSE(replay(log, control).has_value());
    EXPECT_EQ(log.records(), 10U);
}

// Event 7 has 7 % 3 = 1 timer; moved by a picosecond it is another command.
TEST(Replay, FindsOneChangedCommand) {
    std::istringstream file{record_timers()};
    EventLogReader log{file, "events.log"};
    TimersControl control{7};
    const auto divergence = replay(log, control);
    ASSERT_TRUE(divergence.has_value());
    EXPECT_EQ(divergence->record, 7U);
    EXPECT_EQ(divergence->at, at_s(7));
    EXPECT_EQ(divergence->event, "GroupFetched");
    EXPECT_NE(divergence->what.find("1 SetTimer"), std::string::npos) << divergence->what;
}

}  // namespace
}  // namespace dualpath
