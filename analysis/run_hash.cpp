// Hashes of the seam: what a run's events and commands were, in 64 bits.
#include "analysis/run_hash.h"

#include <fmt/format.h>

#include "base/overloaded.h"

namespace dualpath {
namespace {

/// One call per field; a word each, signed values as two's complement.
class Fields {
public:
    explicit Fields(WordHash& hash) : hash_{hash} {}

    template <class... T>
    void add(const T&... values) {
        (word(values), ...);
    }

private:
    template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
    void word(T value) { hash_.add(static_cast<std::uint64_t>(value)); }
    template <class Tag>
    void word(Id<Tag> id) {
        word(id.value);
    }
    template <class Tag>
    void word(SlotId<Tag> id) {
        add(id.slot, id.serial);
    }
    template <class Tag>
    void word(Quantity<Tag, std::int64_t> quantity) {
        word(quantity.value);
    }
    template <class T>
    void word(const std::optional<T>& value) {
        word(value.has_value());
        if (value) word(*value);
    }
    template <class... T>
    void word(const std::variant<T...>& value) {
        word(value.index());
        std::visit([this](const auto& alternative) { word(alternative); }, value);
    }
    template <class T>
    void word(std::span<const T> values) {
        word(values.size());
        for (const T& value : values) word(value);
    }
    void word(std::monostate) {}
    void word(Duration duration) { word(duration.count()); }
    void word(Instant at) { word(at.time_since_epoch()); }
    void word(StepId id) { add(id.group, id.number); }

    void word(const Request& r) {
        add(r.id, r.session, r.submitted, r.turn, r.context, r.prompt, r.prefix, r.prefix_tokens,
            r.max_output);
    }
    void word(const Transfer& t) {
        add(t.id, t.movement, t.from, t.to, t.size, t.layers.first, t.layers.end, t.request);
    }
    void word(const Chunk& c) {
        add(c.request, c.engine, c.cached, c.tokens, c.attention, c.load, c.end);
    }
    void word(const Join& j) { add(j.request, j.engine, j.context); }
    void word(const Step& s) { add(s.id, s.role, s.chunks, s.joins); }

    void word(const RequestArrived& e) { add(e.request); }
    void word(const GroupFetched& e) { add(e.group); }
    void word(const TransferDone& e) { add(e.id, e.status); }
    void word(const LayersDone& e) { add(e.step, e.through, e.status); }
    void word(const StepDone& e) { add(e.step, e.finished, e.status); }
    void word(const TimerFired& e) { add(e.id); }
    void word(const RequestAborted& e) { add(e.id); }
    void word(const EngineLost& e) { add(e.id); }
    void word(const EngineBack& e) { add(e.id); }
    void word(const WeightsChanged& e) { add(e.version); }

    void word(const StartTransfer& c) { add(c.transfer, c.after); }
    void word(const StartStep& c) { add(c.step, c.after); }
    void word(const SetTimer& c) { add(c.id, c.at); }
    void word(const Cancel& c) { add(c.what); }
    void word(const AssignRequest& c) {
        add(c.id, c.prefill, c.decode, c.path, c.hit, c.decode_chosen, c.engines_chosen);
    }
    void word(const RequestFinished& c) { add(c.id, c.outcome); }

    WordHash& hash_;
};

}  // namespace

void hash_command(WordHash& hash, const Command& command) { Fields{hash}.add(command); }

void hash_event(WordHash& hash, const TimedEvent& event) {
    Fields{hash}.add(event.at, event.event);
}

std::uint32_t command_hash(std::span<const Command> commands) {
    WordHash hash;
    for (const Command& command : commands) hash_command(hash, command);
    return static_cast<std::uint32_t>(hash.value() ^ (hash.value() >> 32U));
}

void RunHash::on_event(const TimedEvent& event, std::span<const Command> commands) {
    ++events_;
    commands_ += commands.size();
    hash_event(hash_, event);
    hash_.add(commands.size());
    for (const Command& command : commands) hash_command(hash_, command);
}

std::string RunHash::hex() const { return fmt::format("{:016x}", value()); }

}  // namespace dualpath
