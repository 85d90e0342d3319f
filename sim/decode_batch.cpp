// DecodeBatch: the sequences an expert group decodes together, step by step in lock step.
#include "sim/decode_batch.h"

#include <algorithm>

#include "base/check.h"

namespace dualpath::sim {

DecodeBatch::DecodeBatch(std::span<const EngineId> engines, const ComputeModel& model)
    : first_{engines.front()}, model_{model}, ranks_(engines.size(), RankLoad{0, Tokens{0}}) {}

void DecodeBatch::join(const Join& join, std::uint32_t step, Tokens output) {
    CHECK(output > Tokens{0}, "a sequence that decodes has a token to produce");
    const std::uint32_t slot = join.request.slot;
    if (members_.size() <= slot) members_.resize(slot + 1);
    CHECK(!members_[slot].active, "a sequence is in the batch once");
    const auto last = step + static_cast<std::uint32_t>(output.value) - 1;
    members_[slot] = {join.request, join.engine.value - first_.value, step, last, join.context,
                      true};
    RankLoad& rank = ranks_[members_[slot].rank];
    ++rank.sequences;
    rank.context_tokens += join.context;
    finishes_.push_back({last, slot, join.request.serial});
    std::push_heap(finishes_.begin(), finishes_.end());
    ++sequences_;
}

void DecodeBatch::remove(Member& member, std::uint32_t steps_done) {
    RankLoad& rank = ranks_[member.rank];
    --rank.sequences;
    rank.context_tokens -= member.context + Tokens{steps_done};
    member.active = false;
    --sequences_;
}

Tokens DecodeBatch::leave(RequestId request, std::uint32_t step) {
    Member& member = members_[request.slot];
    CHECK(member.active && member.request == request, "only a member leaves");
    const std::uint32_t done = step - member.joined;
    remove(member, done);
    return Tokens{done};
}

std::vector<std::pair<RequestId, Tokens>> DecodeBatch::leave_all(std::uint32_t step) {
    std::vector<std::pair<RequestId, Tokens>> produced;
    for (const Member& member : members_) {
        if (!member.active) continue;
        produced.emplace_back(member.request, leave(member.request, step));
    }
    finishes_.clear();
    return produced;
}

void DecodeBatch::advance(std::uint32_t step, std::vector<RequestId>& finished) {
    for (RankLoad& rank : ranks_) rank.context_tokens += Tokens{rank.sequences};
    while (!finishes_.empty() && finishes_.front().step <= step) {
        std::pop_heap(finishes_.begin(), finishes_.end());
        const Finish due = finishes_.back();
        finishes_.pop_back();
        Member& member = members_[due.slot];
        const bool same = member.request.serial == due.serial && member.last == due.step;
        if (!member.active || !same) continue;  // it left, and may have come back
        remove(member, step - member.joined + 1);
        finished.push_back(member.request);
    }
}

}  // namespace dualpath::sim
