// SimWorld: the simulated world. It knows how long things take and decides nothing.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "control/world.h"
#include "models/compute.h"
#include "models/layout.h"
#include "models/topology.h"
#include "sim/decode_batch.h"
#include "sim/event_queue.h"
#include "sim/faults.h"
#include "sim/network.h"

namespace dualpath::sim {

struct SimSettings {
    Network::Lanes lanes = Network::Lanes::two;
    std::uint16_t layers = 1;    ///< of the model: milestones of a layerwise transfer
    Duration control_latency{};  ///< from the client's submission to the scheduler
    Duration storage_latency{};  ///< before the first byte of a read
    Duration window = std::chrono::seconds{1};  ///< of the resource records
    bool collectives = true;                    ///< all-to-all as load of the high lane
};

/// What a world of this topology reports per window, in order: its resources, then its GPUs.
std::vector<ResourceColumn> resource_columns(const Layout& layout, const Topology& topology);

/// Coarse granularity: a movement is one flow. A layerwise load has a milestone after its first
/// layer, where the step starts to compute; the step ends when all layers are computed and no
/// earlier than one layer after its last load. A send starts with the computation, runs no faster
/// than it, and keeps its last layer back until the step has ended.
class SimWorld final : public World {
public:
    /// The references must outlive this; `observer` may be null.
    SimWorld(const Layout& layout, const Topology& topology, const ComputeModel& model,
             const SimSettings& settings, ResourceObserver* observer);

    void submit(const Arrival& arrival) override;
    void execute(const Command& command) override;
    std::optional<TimedEvent> next() override;

    /// Makes something happen at `at`: an abort, a lost engine, new weights.
    void schedule(Instant at, const Event& event);
    /// Once, before the run. Faults that lie ahead keep no run going whose requests have all ended.
    void plan(std::vector<Fault> faults);
    /// Reports the last, partial window.
    void close_windows();

    const Network& network() const { return network_; }
    Instant now() const { return now_; }
    std::uint64_t internal_events() const { return internal_events_; }

private:
    struct SimTransfer {
        Transfer transfer;
        enum class State : std::uint8_t {
            ended,
            held,  ///< waits for what it comes after
            flowing,
            at_mark,  ///< a send whose last layer waits for the end of its step
        } state = State::ended;
        FlowIndex flow = 0;
        Bytes rest;                   ///< of a send that waits
        std::optional<StepId> after;  ///< a send: the step it follows
        std::optional<StepId> feeds;  ///< a load: the step that waits for it
        bool first_layer_there = false;
    };
    struct SimRequest {
        Arrival arrival;
        Tokens produced;
        ExpertGroupId decodes_in;
    };
    struct Group {
        std::uint32_t step = 0;
        bool running = false;
        bool computing = false;
        Duration compute{}, layer{};  ///< of the whole step and of one layer
        Instant compute_start{};
        std::uint32_t first_layers_missing = 0, loads_missing = 0;
        std::vector<Chunk> chunks;
        std::vector<std::uint32_t> sends;  ///< slots of the transfers after this step
        std::vector<RequestId> finished;
        std::vector<double> useful;  ///< seconds of useful work per rank in this step
        double collective_rate = 0;
        DecodeBatch batch;
        explicit Group(DecodeBatch b) : batch{std::move(b)} {}
    };
    struct Gpu {
        double useful_s = 0;  ///< done before `since`
        double rate = 0;      ///< useful seconds per second since then
        double work = 0;      ///< of the running step
        Instant since{};
    };
    struct Internal {
        enum class Kind : std::uint8_t {
            arrival,
            step_end,
            timer,
            outside,
            flow_start,
            fault
        } kind;
        std::uint32_t index;
        std::uint32_t serial;
    };

    void on(const StartTransfer& command);
    void on(const StartStep& command);
    void on(const SetTimer& command);
    void on(const Cancel& command);
    void on(const AssignRequest&) {}
    void on(const RequestFinished&) { --unfinished_; }

    void start_prefill(const Step& step);
    void start_decode(const Step& step);
    void begin_compute(ExpertGroupId id);
    void load_progress(StepId step, bool ended);
    void schedule_step_end(ExpertGroupId id, Instant at);
    void end_step(ExpertGroupId id);
    void drop_step(ExpertGroupId id);
    void report_fetches(ExpertGroupId id);
    void set_collective_rate(ExpertGroupId id, BytesPerSecond rate);
    void begin_useful(ExpertGroupId id, Duration over);
    void end_useful(ExpertGroupId id);

    void start_flows();
    void start_flow(std::uint32_t slot);
    void start_send(std::uint32_t slot);
    void end_transfer(std::uint32_t slot);
    void cancel_transfer(TransferId id);
    void on_flow(const FlowEvent& event);
    void on_internal(const Internal& what);
    void outside(const Event& event);
    void turn_fault(const Faults::Turn& turn);
    bool nothing_planned() const;
    PathIndex path(const Transfer& transfer);
    void report(const Event& event) { ready_.push_back({now_, event}); }
    /// Takes back what has happened but was not told yet; false where there is no such event.
    template <class Which>
    bool withdraw_report(Which which) {
        return std::erase_if(ready_, [&](const TimedEvent& e) { return which(e.event); }) > 0;
    }
    bool in_flight(TransferId id) const {
        return transfers_[id.slot].transfer.id == id &&
               transfers_[id.slot].state != SimTransfer::State::ended;
    }
    void close_windows_before(Instant at);
    void close_window(Instant at);
    double useful_seconds(const Gpu& gpu, Instant at) const;
    Group& group(ExpertGroupId id) { return groups_[id.index()]; }

    const Layout& layout_;
    const Topology& topology_;
    const ComputeModel& model_;
    SimSettings settings_;
    ResourceObserver* observer_;
    Network network_;
    EventQueue<Internal> queue_;
    Instant now_{};
    std::uint64_t internal_events_ = 0;
    std::size_t prefill_engines_;

    std::vector<SimTransfer> transfers_;  ///< by slot
    std::vector<SimRequest> requests_;    ///< by slot
    std::vector<Group> groups_;
    std::vector<Gpu> gpus_;
    std::vector<Event> outside_;
    Faults faults_;
    std::size_t fault_turns_ahead_ = 0;
    std::int64_t unfinished_ = 0;          ///< requests submitted and not ended
    std::vector<std::uint32_t> starting_;  ///< transfers to start before time moves on
    std::vector<std::pair<TransferId, std::uint32_t>> followers_;  ///< held behind a transfer
    std::deque<TimedEvent> ready_;
    std::vector<FlowEvent> flow_events_;

    /// Paths by movement and engine, or by pair of engines; opened when first used.
    static constexpr PathIndex unopened = UINT32_MAX;
    std::vector<PathIndex> local_paths_, pair_paths_;

    Instant window_start_{};
    std::vector<FairShare::Usage> network_seen_;
    std::vector<double> useful_seen_;
    std::vector<ResourceUse> use_;
};

}  // namespace dualpath::sim
