// Read path: on which side the hits of a request are read (paper 5.4). Per request, never split.
#pragma once

#include "base/units.h"
#include "control/messages.h"

namespace dualpath {

/// Tokens waiting to be read at the SNIC of either node.
struct ReadQueues {
    Tokens prefill, decode;
};

/// The side with the shorter queue; on a tie the prefill side, which needs one hop fewer.
constexpr ReadPath shorter_queue(ReadQueues waiting) {
    return waiting.decode < waiting.prefill ? ReadPath::decode : ReadPath::prefill;
}
static_assert(shorter_queue({.prefill = {9}, .decode = {8}}) == ReadPath::decode);
static_assert(shorter_queue({.prefill = {9}, .decode = {9}}) == ReadPath::prefill);

class ReadPathPolicy {
public:
    virtual ~ReadPathPolicy() = default;
    virtual ReadPath choose(ReadQueues waiting) = 0;
};

/// Basic: only prefill nodes read.
class PrefillOnly final : public ReadPathPolicy {
public:
    ReadPath choose(ReadQueues) override { return ReadPath::prefill; }
};

class ShorterQueue final : public ReadPathPolicy {
public:
    ReadPath choose(ReadQueues waiting) override { return shorter_queue(waiting); }
};

/// Dual-path loading without the paper's scheduling. Each side gets its share of the requests: as
/// many as it has nodes, spread evenly.
class RoundRobinPath final : public ReadPathPolicy {
public:
    RoundRobinPath(std::uint32_t prefill_nodes, std::uint32_t decode_nodes)
        : prefill_{prefill_nodes}, all_{prefill_nodes + decode_nodes} {}
    ReadPath choose(ReadQueues) override {
        credit_ += prefill_;
        if (credit_ < all_) return ReadPath::decode;
        credit_ -= all_;
        return ReadPath::prefill;
    }

private:
    std::uint32_t prefill_, all_, credit_ = 0;
};

}  // namespace dualpath
