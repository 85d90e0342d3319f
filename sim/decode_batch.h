// DecodeBatch: the sequences an expert group decodes together, step by step in lock step.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "control/messages.h"
#include "models/compute.h"

namespace dualpath::sim {

/// Work per step is proportional to the ranks and to what enters or finishes, not to the batch.
class DecodeBatch {
public:
    DecodeBatch(std::span<const EngineId> engines, const ComputeModel& model);

    /// A sequence enters before `step` and produces `output` tokens (at least 1), one a step.
    void join(const Join& join, std::uint32_t step, Tokens output);
    /// Takes a sequence out between two steps; returns how many tokens it produced here.
    Tokens leave(RequestId request, std::uint32_t step);
    /// Takes all of them out before `step`; tells what each produced here.
    std::vector<std::pair<RequestId, Tokens>> leave_all(std::uint32_t step);

    bool empty() const { return sequences_ == 0; }
    std::uint32_t sequences() const { return sequences_; }
    /// How long the next step takes.
    Duration step_time() const { return model_.decode_step(ranks_); }
    /// Ends `step`: every context grows by a token. Appends the requests whose last token this was.
    void advance(std::uint32_t step, std::vector<RequestId>& finished);
    const std::vector<RankLoad>& ranks() const { return ranks_; }

private:
    struct Member {
        RequestId request;
        std::uint32_t rank = 0;
        std::uint32_t joined = 0;  ///< first step
        std::uint32_t last = 0;    ///< step that produces its last token
        Tokens context;            ///< when it joined
        bool active = false;
    };
    struct Finish {
        std::uint32_t step;
        std::uint32_t slot, serial;
        bool operator<(const Finish& other) const {  // heaps keep the largest on top
            return step != other.step ? step > other.step : slot > other.slot;
        }
    };
    void remove(Member& member, std::uint32_t steps_done);

    EngineId first_;
    const ComputeModel& model_;
    std::vector<RankLoad> ranks_;
    std::vector<Member> members_;   ///< by request slot
    std::vector<Finish> finishes_;  ///< heap
    std::uint32_t sequences_ = 0;
};

}  // namespace dualpath::sim
