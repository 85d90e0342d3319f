// A world a test scripts: it records what control commands and reports only what the test says.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/control/small_cluster.h"

namespace dualpath {

/// Holds control to its side of the seam: steps only where none runs, batches changed only between
/// steps, every request ended once. Like every world it alone knows the true output lengths.
class ScriptedWorld {
public:
    explicit ScriptedWorld(ControlFacts facts, const ControlSettings& settings = small_settings())
        : layout_{facts.layout}, control_{std::move(facts), settings, model_} {}

    struct RunningStep {
        Step step;
        std::vector<Chunk> chunks;
        std::vector<Join> joins;
    };

    static constexpr Duration later = std::chrono::microseconds{1};
    /// Tells control; keeps what it commands.
    void tell(const Event& event, Duration after = later) {
        std::vector<Command> commands;
        now_ += after;
        control_.handle(now_, event, commands);
        for (const Command& command : commands) {
            std::visit([this](const auto& c) { on(c); }, command);
        }
    }

    void fetch(Role role) {
        for (std::uint32_t i = 0; i < layout_.nodes.size(); ++i) {
            if (layout_.nodes[i] == role) tell(GroupFetched{FetchGroupId{i}});
        }
    }
    void fetch_all() { fetch(Role::prefill), fetch(Role::decode); }

    void arrive(const Request& request, int output) {
        left_[request.id] = output;
        tell(RequestArrived{request});
    }

    /// Reports the oldest transfer of that movement.
    Transfer done(Movement movement, Status status = Status::ok) {
        const auto at = std::find_if(flying_.begin(), flying_.end(), [&](const auto& start) {
            return start.transfer.movement == movement;
        });
        if (at == flying_.end()) return fail("no such transfer is under way"), Transfer{};
        const Transfer transfer = at->transfer;
        flying_.erase(at);
        tell(TransferDone{transfer.id, status});
        return transfer;
    }

    /// Ends the step of a group, with a token for everyone, and lets its leaders fetch.
    void end_step(ExpertGroupId group, Status status = Status::ok) {
        const auto node = steps_.extract(group);
        if (node.empty()) return fail("the group runs no step");
        const RunningStep& step = node.mapped();
        auto& batch = batches_[group];
        std::vector<RequestId> finished;
        const auto token = [&](RequestId id) {
            if (status == Status::ok && --left_[id] == 0) finished.push_back(id);
        };
        for (const Chunk& chunk : step.chunks) {
            if (chunk.end == Chunk::End::last) token(chunk.request);
        }
        for (const Join& join : step.joins) batch.push_back(join.request);
        for (const RequestId id : batch) token(id);
        for (const RequestId id : finished) std::erase(batch, id);
        if (status == Status::failed) batch.clear();
        tell(StepDone{step.step.id, finished, status});
        for (const FetchGroupId fetch : layout_.fetch_groups_of[group.index()]) {
            tell(GroupFetched{fetch});
        }
    }

    void lose(EngineId engine, Duration after = later) {
        const ExpertGroupId group = layout_.engines[engine.index()].expert_group;
        steps_.erase(group);
        batches_[group].clear();
        tell(EngineLost{engine}, after);
    }
    void bring_back(EngineId engine) {
        tell(EngineBack{engine});
        tell(GroupFetched{layout_.engines[engine.index()].fetch_group});
    }

    /// Everything goes well from here on: transfers in order, then steps, until nothing is left.
    void settle() {
        for (int i = 0; i < 10'000; ++i) {
            const auto ready = std::find_if(flying_.begin(), flying_.end(),
                                            [&](const auto& start) { return may_end(start); });
            if (ready != flying_.end()) {
                const TransferId id = ready->transfer.id;
                flying_.erase(ready);
                tell(TransferDone{id});
            } else if (!steps_.empty()) {
                end_step(steps_.begin()->first);
            } else {
                EXPECT_TRUE(flying_.empty()) << "a transfer follows a step that will not come";
                return;
            }
        }
        ADD_FAILURE() << "it does not come to rest";
    }

    const std::vector<StartTransfer>& flying() const { return flying_; }
    bool flies(Movement movement) const {
        return std::any_of(flying_.begin(), flying_.end(),
                           [&](const auto& s) { return s.transfer.movement == movement; });
    }
    bool runs(ExpertGroupId group) const { return steps_.contains(group); }
    const RunningStep& step(ExpertGroupId group) const { return steps_.at(group); }
    const std::vector<AssignRequest>& assigned() const { return assigned_; }
    std::optional<Outcome> outcome(RequestId id) const {
        const auto at = ended_.find(id);
        return at == ended_.end() ? std::nullopt : std::optional{at->second};
    }
    /// Tokens the client still misses; negative when it got too many.
    int missing(RequestId id) const { return left_.at(id); }
    std::size_t cancelled() const { return cancelled_; }
    const DualPathControl& control() const { return control_; }
    Bytes hbm(std::uint32_t engine) const { return control_.memory().hbm(EngineId{engine}).used(); }
    Bytes buffer(std::uint32_t node) const { return control_.memory().buffer(NodeId{node}).used(); }

private:
    static void fail(const char* why) { ADD_FAILURE() << why; }
    bool may_end(const StartTransfer& start) const {
        const auto* step = std::get_if<StepId>(&start.after);
        const auto at = step ? steps_.find(step->group) : steps_.end();
        return at == steps_.end() || at->second.step.id != *step;
    }

    void on(const StartTransfer& c) { flying_.push_back(c); }
    void on(const StartStep& c) {
        EXPECT_FALSE(steps_.contains(c.step.id.group)) << "a group runs one step at a time";
        RunningStep step{c.step, {}, {}};
        step.chunks.assign(c.step.chunks.begin(), c.step.chunks.end());
        step.joins.assign(c.step.joins.begin(), c.step.joins.end());
        steps_[c.step.id.group] = std::move(step);
    }
    void on(const Cancel& c) {
        ++cancelled_;
        if (const auto* transfer = std::get_if<TransferId>(&c.what)) {
            std::erase_if(flying_, [&](const auto& s) { return s.transfer.id == *transfer; });
        } else if (const auto* request = std::get_if<RequestId>(&c.what)) {
            for (auto& [group, batch] : batches_) {
                if (std::erase(batch, *request) == 0) continue;
                EXPECT_FALSE(steps_.contains(group)) << "a batch changes between steps";
            }
        }
    }
    void on(const SetTimer&) { ADD_FAILURE() << "control sets no timer"; }
    void on(const AssignRequest& c) { assigned_.push_back(c); }
    void on(const RequestFinished& c) {
        EXPECT_TRUE(ended_.try_emplace(c.id, c.outcome).second) << "a request ends once";
    }

    ComputeModel model_{small_compute()};
    Layout layout_;
    DualPathControl control_;
    Instant now_{};
    std::vector<StartTransfer> flying_;
    std::map<ExpertGroupId, RunningStep> steps_;
    std::map<ExpertGroupId, std::vector<RequestId>> batches_;
    std::map<RequestId, int> left_;
    std::map<RequestId, Outcome> ended_;
    std::vector<AssignRequest> assigned_;
    std::size_t cancelled_ = 0;
};

// One PE and one DE: groups, engines and nodes are 0 and 1.
inline constexpr ExpertGroupId pe_group{0}, de_group{1};
inline constexpr EngineId pe{0}, de{1};

/// The first turn of session `n`, in slot n.
inline Request first_turn(std::uint32_t n, Tokens prompt) {
    return {.id = {n, 2 * n + 1}, .session = SessionId{n}, .prompt = prompt};
}
/// Its second turn, behind a context of 111 tokens: a prompt of 100 and 11 tokens of output.
/// Storage holds 11 blocks of them; the last token is computed again.
inline Request second_turn(std::uint32_t n, Tokens prompt) {
    return {.id = {n, 2 * n + 2},
            .session = SessionId{n},
            .turn = 1,
            .context = Tokens{111},
            .prompt = prompt};
}

}  // namespace dualpath
