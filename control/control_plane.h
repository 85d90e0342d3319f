// The shared brain: request scheduler and traffic manager as one state machine over the seam.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "control/batch_planner.h"
#include "control/kv_index.h"
#include "control/kv_size.h"
#include "control/memory_ledger.h"
#include "control/policies.h"
#include "control/request_state.h"
#include "control/settings.h"
#include "control/world.h"
#include "models/compute.h"
#include "models/layout.h"

namespace dualpath {

/// What control is told of the cluster it runs.
struct ControlFacts {
    Layout layout;
    KvSize kv;
    Bytes prefill_hbm, decode_hbm;        ///< for KV, per engine
    Bytes prefill_buffer, decode_buffer;  ///< host memory, per node
};

/// A request's way: DE (HBM committed), PE and read path, host buffers, storage read, prefill with
/// its layerwise loads and sends, DE buffer to HBM, decode, writeback. See ARCHITECTURE.md.
class DualPathControl final : public ControlPlane {
public:
    /// `model` must outlive this; it is the scheduler's profile of attention time.
    DualPathControl(ControlFacts facts, ControlSettings settings, const ComputeModel& model);

    void handle(Instant now, const Event& event, std::vector<Command>& commands) override;

    const MemoryLedger& memory() const { return memory_; }
    MemoryUse memory_use() const;
    std::size_t unfinished() const { return unfinished_; }
    /// True when nothing is held or counted: no request, transfer, writeback, byte or token.
    bool at_rest() const;

private:
    // control_plane.cpp: events, fetches, scheduling.
    void on(const RequestArrived& event);
    void on(const GroupFetched& event);
    void on(const TransferDone& event);
    void on(const LayersDone& event);
    void on(const StepDone& event);
    void on(const TimerFired& event);
    void on(const RequestAborted& event);
    void on(const EngineLost& event);
    void on(const EngineBack& event);
    void on(const WeightsChanged& event);
    void pump();
    void serve_decode();
    void drain_to_groups();
    void assign_decode(const std::vector<EngineId>& engines, std::deque<Slot>& queue);
    void commit_decode(Slot slot, EngineId engine);
    void serve_prefill();
    void assign_prefill(const std::vector<EngineId>& engines);
    void notice(ExpertGroupId group);
    void start_noticed();
    void start_prefill(ExpertGroupId group);
    void start_decode(ExpertGroupId group);
    void start_step(ExpertGroupId group, const Step& step);
    void prefill_done(ExpertGroupState& group, const StepDone& event);
    void decode_done(ExpertGroupState& group, const StepDone& event);
    void grow(ExpertGroupId group);
    void preempt_youngest(EngineId engine);

    // request_life.cpp: what happens to one request, hop by hop.
    void choose_prefill(Slot slot, EngineId engine);
    std::optional<NodeId> allocate(Slot slot);
    void wait_for_buffer(NodeId node, Slot slot);
    void retry_allocations();
    void read(Slot slot);
    void read_done(Slot slot);
    void admit_to_hbm(EngineId engine);
    void make_ready(Slot slot);
    std::optional<TransferId> start_load(Slot slot);
    void start_send(const Chunk& chunk, StepId step);
    void load_done(Slot slot);
    void send_done(Slot slot);
    void prompt_done(Slot slot, bool finished);
    void stage(Slot slot);
    void join(Slot slot);
    void finish(Slot slot, Outcome outcome);
    void begin_writeback(Slot slot);
    void continue_writeback(std::uint32_t index);
    void persist_to_host(std::uint32_t index);
    void persist_to_storage(std::uint32_t index);
    void end_writeback(std::uint32_t index, bool visible);
    TransferId start_transfer(Movement movement, EngineId from, EngineId to, Bytes size,
                              Purpose purpose, TransferOwner owner, const After& after = {});
    void end_transfer(TransferId id);
    void free_prefill_hbm(EngineId engine, Bytes& size);
    void free_buffer(NodeId node, Bytes& size);
    void wake(NodeId node);

    // recovery.cpp: aborts, losses, restarts.
    void release(Slot slot);
    enum class Attempt { counts, again };  ///< towards max_attempts, or not
    void restart(Slot slot, Attempt attempt = Attempt::counts);
    void abort(Slot slot);
    void leave(Slot slot, Leaving how);
    void leave_batch(Slot slot);
    void lose_group(ExpertGroupId group);
    void unfetch(ExpertGroupId group);
    void fail(const TransferState& transfer);
    void cancel_transfers(TransferOwner owner);
    void remove_from_queues(Slot slot);
    bool computing(const RequestState& r);

    RequestState& state(Slot slot) { return requests_[slot]; }
    EngineState& engine(EngineId id) { return engines_[id.index()]; }
    ExpertGroupState& group(ExpertGroupId id) { return groups_[id.index()]; }
    const EnginePlace& place(EngineId id) const { return facts_.layout.engines[id.index()]; }
    NodeId node_of(EngineId id) const { return place(id).node; }
    bool layerwise() const { return settings_.loading == ControlSettings::Loading::layerwise; }
    bool free_movements() const { return settings_.movements == ControlSettings::Movements::free; }

    ControlFacts facts_;
    ControlSettings settings_;
    BatchPlanner planner_;
    std::unique_ptr<PrefillPolicy> prefill_policy_;
    std::unique_ptr<DecodePolicy> decode_policy_;
    std::unique_ptr<ReadPathPolicy> read_path_;
    KvIndex index_;
    MemoryLedger memory_;

    std::vector<RequestState> requests_;  ///< by slot
    std::vector<TransferState> transfers_;
    std::vector<std::uint32_t> free_transfers_;
    std::vector<Writeback> writebacks_;
    std::vector<std::uint32_t> free_writebacks_;
    std::vector<EngineState> engines_;
    std::vector<ExpertGroupState> groups_;
    std::vector<FetchGroupState> fetch_groups_;
    std::vector<NodeState> nodes_;
    std::vector<EngineId> prefill_engines_, decode_engines_;

    std::deque<Slot> decode_queue_;    ///< global: not yet with a DE group
    std::deque<Slot> prefill_queue_;   ///< with a DE, waiting for a PE
    std::vector<NodeId> freed_nodes_;  ///< host memory came free since the last look
    std::vector<ExpertGroupId> noticed_;
    std::uint32_t open_decode_ = 0, open_prefill_ = 0;  ///< fetch groups that wait for work
    std::size_t unfinished_ = 0, waiting_for_buffers_ = 0, waiting_for_prefill_hbm_ = 0,
                active_writebacks_ = 0;
    std::size_t private_queued_ = 0;
    bool decode_due_ = false, prefill_due_ = false;  ///< something to assign, or to assign to
    Version weights_ = 0;

    Instant now_{};
    std::vector<Command>* commands_ = nullptr;  ///< of the call to handle() under way

    // Scratch, kept to avoid allocation.
    std::vector<EngineId> fetching_;
    std::vector<PrefillCandidate> prefill_candidates_;
    std::vector<DecodeCandidate> decode_candidates_;
    std::vector<DecodeDemand> demands_;
    std::vector<std::size_t> chosen_;
    std::vector<WaitingPrompt> prompts_;
    std::vector<PlannedChunk> batch_;
};

}  // namespace dualpath
