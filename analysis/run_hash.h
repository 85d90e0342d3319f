// Hashes of the seam: what a run's events and commands were, in 64 bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "control/run.h"

namespace dualpath {

/// Order-sensitive hash over 64-bit words, fixed for all time: h starts at 0xcbf29ce484222325 (the
/// offset of FNV-1a); each word w gives h = (h ^ w) * 0x9e3779b97f4a7c15, then h = h ^ (h >> 29)
/// (a multiply moves bits up only, the shift brings them down again).
class WordHash {
public:
    void add(std::uint64_t word) {
        state_ = (state_ ^ word) * 0x9e3779b97f4a7c15U;
        state_ ^= state_ >> 29U;
    }
    std::uint64_t value() const { return state_; }

private:
    std::uint64_t state_ = 0xcbf29ce484222325U;
};

/// Adds every field, the alternative's index first; spans with their length and every element.
void hash_command(WordHash& hash, const Command& command);
void hash_event(WordHash& hash, const TimedEvent& event);

/// The commands of one event in 32 bits (the 64-bit hash, its halves xored), as the log keeps them.
std::uint32_t command_hash(std::span<const Command> commands);

/// Running hash of a whole run: equal for two runs when all events and commands were equal.
class RunHash final : public RunObserver {
public:
    void on_event(const TimedEvent& event, std::span<const Command> commands) override;

    std::uint64_t events() const { return events_; }
    std::uint64_t commands() const { return commands_; }
    std::uint64_t value() const { return hash_.value(); }
    /// 16 hexadecimal digits: `events_hash` of the summary.
    std::string hex() const;

private:
    WordHash hash_;
    std::uint64_t events_ = 0, commands_ = 0;
};

}  // namespace dualpath
