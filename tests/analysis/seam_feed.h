// A scripted run: events and the commands they caused, told to observers second by second.
#pragma once

#include <initializer_list>
#include <vector>

#include "control/run.h"

namespace dualpath {

inline Instant at_s(double seconds) { return Instant{from_seconds(seconds)}; }

class SeamFeed {
public:
    explicit SeamFeed(std::initializer_list<RunObserver*> observers) : observers_{observers} {}

    void tell(double seconds, const Event& event, const std::vector<Command>& commands = {}) {
        const TimedEvent timed{at_s(seconds), event};
        for (RunObserver* observer : observers_) observer->on_event(timed, commands);
    }

    /// Its spans live as long as the feed's current call: pass vectors that outlive it.
    static StartStep prefill_step(StepId id, const std::vector<Chunk>& chunks) {
        return {.step = {.id = id, .role = Role::prefill, .chunks = chunks}};
    }
    static StartStep decode_step(StepId id, const std::vector<Join>& joins) {
        return {.step = {.id = id, .role = Role::decode, .joins = joins}};
    }
    static StartTransfer storage_read(TransferId id, EngineId engine, RequestId request) {
        return {.transfer = {.id = id,
                             .movement = Movement::storage_to_host,
                             .from = engine,
                             .to = engine,
                             .size = Bytes{1000},
                             .request = request}};
    }

private:
    std::vector<RunObserver*> observers_;
};

/// Prefill: engine 0 (group 0); decode: engine 1 (group 1). One session's turn of 100 prompt
/// tokens, 60 of them context and 50 hit, read over the PE path:
///   0 submitted | 1 DE, 2 PE chosen | 3 buffers, read starts | 7 read | 8..12 prefill | 13..15,
///   15..16, 16..18 decode: first token at 12, second at 15, end at 18 with 1 + 3 = 4 tokens.
inline void tell_one_turn(SeamFeed& feed, RequestId id, SessionId session, double t,
                          std::uint32_t step = 0, ReadPath path = ReadPath::prefill) {
    const EngineId pe{0}, de{1};
    const Request request{.id = id,
                          .session = session,
                          .submitted = at_s(t),
                          .context = Tokens{60},
                          .prompt = Tokens{100},
                          .max_output = Tokens{1000}};
    const std::vector<Chunk> chunks{{.request = id,
                                     .engine = pe,
                                     .cached = Tokens{50},
                                     .tokens = Tokens{50},
                                     .attention = std::chrono::milliseconds{300},
                                     .end = Chunk::End::last}};
    const std::vector<Join> joins{{id, de, Tokens{100}}};
    const TransferId read{id.slot, id.serial};
    const StepId prefill{{0}, step};
    const auto decode = [&](std::uint32_t n) { return StepId{{1}, 3 * step + n}; };
    feed.tell(t, RequestArrived{request});
    feed.tell(t + 3, GroupFetched{{0}},
              {AssignRequest{id, pe, de, path, Tokens{50}, at_s(t + 1), at_s(t + 2)},
               SeamFeed::storage_read(read, path == ReadPath::prefill ? pe : de, id)});
    feed.tell(t + 7, TransferDone{read});
    feed.tell(t + 8, GroupFetched{{0}}, {SeamFeed::prefill_step(prefill, chunks)});
    feed.tell(t + 12, StepDone{prefill});
    feed.tell(t + 13, GroupFetched{{1}}, {SeamFeed::decode_step(decode(0), joins)});
    feed.tell(t + 15, StepDone{decode(0)}, {SeamFeed::decode_step(decode(1), {})});
    feed.tell(t + 16, StepDone{decode(1)}, {SeamFeed::decode_step(decode(2), {})});
    const std::vector<RequestId> finished{id};
    feed.tell(t + 18, StepDone{decode(2), finished}, {RequestFinished{id}});
}

}  // namespace dualpath
