// Metrics: what a run achieved, as a pure function of what crossed the seam and was measured.
#include "analysis/metrics.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace dualpath {
namespace {

constexpr std::size_t exact_parts = 200'000;  // parts are many and their means matter most
constexpr double backlogged_share = 0.10;     // verdict: share of unfinished requests that wait

std::vector<std::size_t> columns_of(const std::vector<ResourceColumn>& columns,
                                    std::string_view kind, Role role) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].kind == kind && columns[i].role == role) found.push_back(i);
    }
    return found;
}

double seconds(Duration d) { return to_seconds(d); }

}  // namespace

Metrics::Metrics(MetricsInputs inputs)
    : inputs_{std::move(inputs)},
      times_{inputs_.engines_by_group, [this](const RequestRecord& record) { end(record); },
             [this](const RequestRecord& record) {
                 steady_state_.add(*record.first_token, *record.ttft());
             }},
      resources_{inputs_.columns},
      prefill_snic_columns_{columns_of(inputs_.columns, "snic_rx", Role::prefill)},
      decode_snic_columns_{columns_of(inputs_.columns, "snic_rx", Role::decode)},
      all_snics_{prefill_snic_columns_.size() + decode_snic_columns_.size(),
                 std::chrono::seconds{1}},
      all_snics_10s_{prefill_snic_columns_.size() + decode_snic_columns_.size(),
                     std::chrono::seconds{10}},
      prefill_snics_{prefill_snic_columns_.size(), std::chrono::seconds{1}},
      decode_snics_{decode_snic_columns_.size(), std::chrono::seconds{1}},
      queue_{exact_parts},
      allocate_{exact_parts},
      read_{exact_parts},
      prefill_{exact_parts} {}

// ---- the seam ---------------------------------------------------------------------------------

void Metrics::on_event(const TimedEvent& event, std::span<const Command> commands) {
    if (const auto* arrived = std::get_if<RequestArrived>(&event.event)) see(arrived->request);
    for (const Command& command : commands) {
        if (const auto* start = std::get_if<StartStep>(&command)) see(start->step);
    }
    times_.on_event(event, commands);
    backlog_.waiting(event.at, times_.waiting());
}

void Metrics::see(const Request& request) {
    Session& s = session(request.session);
    if (!s.seen) s.first = s.last = request.submitted;
    s.seen = true;
    ++s.under_way;
    const bool first = request.turn == 0;
    backlog_.arrived(request.submitted, first ? Backlog::Turn::first : Backlog::Turn::later);
    if (first && inputs_.loop == Loop::open) agent_arrivals_.push_back(request.submitted);
}

/// Attention per engine of a prefill step: engines of the group without a chunk count as idle.
void Metrics::see(const Step& step) {
    if (step.chunks.empty()) return;
    std::map<EngineId, Duration> attention;
    Duration sum{}, largest{};
    for (const Chunk& chunk : step.chunks) {
        Duration& own = attention[chunk.engine];
        own += chunk.attention;
        sum += chunk.attention;
        largest = std::max(largest, own);
    }
    if (sum <= Duration{0}) return;
    const std::size_t group = step.id.group.index();
    const std::size_t engines = group < inputs_.engines_by_group.size()
                                    ? inputs_.engines_by_group[group]
                                    : attention.size();
    attention_ratios_ += seconds(largest) * static_cast<double>(engines) / seconds(sum);
    ++attention_steps_;
}

void Metrics::end(const RequestRecord& record) {
    Session& s = session(record.request.session);
    CHECK(s.under_way > 0, "a request ends once");
    --s.under_way;
    s.last = record.end;
    last_end_ = record.end;
    counts_.restarts += record.attempts > 1 ? record.attempts - 1 : 0;
    life_s_ += seconds(record.end - record.request.submitted);
    unassigned_s_ += seconds(record.engines_chosen.value_or(record.end) - record.request.submitted);
    switch (record.outcome) {
        case Outcome::finished:
            end_finished(record);
            break;
        case Outcome::aborted:
            ++counts_.aborted;
            break;
        case Outcome::failed:
            ++counts_.failed;
            break;
    }
    if (inputs_.ended) inputs_.ended(record);
}

void Metrics::end_finished(const RequestRecord& record) {
    ++counts_.finished;
    ++(record.path == ReadPath::prefill ? counts_.prefill_path : counts_.decode_path);
    counts_.prompt += record.request.prompt;
    counts_.context += record.request.context;
    counts_.hit += record.hit;
    counts_.generated += record.generated;
    const auto ttft = record.ttft();
    const auto tpot = record.tpot_s();
    if (ttft) ttft_.add(seconds(*ttft));
    const auto ttst = record.ttst();
    if (ttst) ttst_.add(seconds(*ttst));
    if (tpot) tpot_.add(*tpot);
    if (inputs_.loop == Loop::open) {
        Sample& sample = samples_.emplace_back(Sample{.submitted = record.request.submitted});
        if (ttft) sample.ttft = seconds(*ttft);
        if (ttst) sample.ttst = seconds(*ttst);
        sample.tpot = tpot;
    }
    if (const auto parts = record.ttft_parts()) {
        queue_.add(seconds(parts->queue));
        allocate_.add(seconds(parts->allocate));
        read_.add(seconds(parts->read));
        prefill_.add(seconds(parts->prefill));
    }
    const bool soon = ttft && seconds(*ttft) <= inputs_.slo.ttft_s();
    const bool steady = !tpot || *tpot <= inputs_.slo.tpot_s();
    if (soon && steady) ++counts_.met_slo;
    add_stages(record);
}

void Metrics::add_stages(const RequestRecord& record) {
    const auto parts = record.ttft_parts();
    if (!parts) return;
    stages_.queue += seconds(*record.engines_chosen - *record.decode_chosen);
    stages_.allocate += seconds(parts->allocate);
    const bool by_prefill = record.path == ReadPath::prefill;
    (by_prefill ? stages_.read_prefill : stages_.read_decode) += seconds(parts->read);
    stages_.prefill += seconds(parts->prefill);
    if (!record.second_token) return;
    const double to_second = seconds(*record.ttst());
    const double send = std::max(0.0, to_second - record.tpot_s().value_or(0));
    stages_.send += send;
    stages_.decode += to_second - send + seconds(record.end - *record.second_token);
}

Metrics::Session& Metrics::session(SessionId id) {
    if (sessions_.size() <= id.index()) sessions_.resize(id.index() + 1);
    return sessions_[id.index()];
}

Distribution Metrics::trajectories() const {
    Distribution all;
    for (const Session& s : sessions_) {
        if (s.seen && s.under_way == 0) all.add(seconds(s.last - s.first));
    }
    return all;
}

std::uint64_t Metrics::sessions_ended() const {
    return static_cast<std::uint64_t>(
        std::count_if(sessions_.begin(), sessions_.end(),
                      [](const Session& s) { return s.seen && s.under_way == 0; }));
}

// ---- resources and memory ---------------------------------------------------------------------

void Metrics::on_window(Instant from, Instant to, std::span<const ResourceUse> use) {
    resources_.on_window(from, to, use);
    scratch_.clear();
    for (const std::size_t i : prefill_snic_columns_) scratch_.push_back(use[i].used);
    for (const std::size_t i : decode_snic_columns_) scratch_.push_back(use[i].used);
    const std::span<const double> read{scratch_};
    all_snics_.add(read, to - from);
    all_snics_10s_.add(read, to - from);
    prefill_snics_.add(read.first(prefill_snic_columns_.size()), to - from);
    decode_snics_.add(read.last(decode_snic_columns_.size()), to - from);
    if (inputs_.memory) on_memory(from, to, inputs_.memory());
}

void Metrics::on_memory(Instant from, Instant to, const MemoryUse& use) {
    const double s = seconds(to - from);
    memory_s_ += s;
    memory_sums_.prefill_hbm += s * use.prefill_hbm;
    memory_sums_.decode_hbm += s * use.decode_hbm;
    memory_sums_.prefill_buffer += s * use.prefill_buffer;
    memory_sums_.decode_buffer += s * use.decode_buffer;
    if (use.waiting_for_decode_hbm > 0) memory_sums_.waiting_for_decode_hbm += s;
    if (use.waiting_for_prefill_hbm > 0) memory_sums_.waiting_for_prefill_hbm += s;
    if (use.waiting_for_buffers > 0) memory_sums_.waiting_for_buffers += s;
}

MemoryMeans Metrics::memory() const {
    if (memory_s_ <= 0) return {};
    MemoryMeans means = memory_sums_;
    for (double* mean : {&means.prefill_hbm, &means.decode_hbm, &means.prefill_buffer,
                         &means.decode_buffer, &means.waiting_for_decode_hbm,
                         &means.waiting_for_prefill_hbm, &means.waiting_for_buffers}) {
        *mean /= memory_s_;
    }
    return means;
}

double Metrics::snic_read_rate(Role role) const {
    return resources_.of("snic_rx", role).rate() / inputs_.snics_per_node;
}

double Metrics::attention_max_over_avg() const {
    return attention_steps_ > 0 ? attention_ratios_ / static_cast<double>(attention_steps_) : 0;
}

// ---- judgement --------------------------------------------------------------------------------

double Metrics::waiting_share() const { return life_s_ > 0 ? unassigned_s_ / life_s_ : 0; }

Verdict Metrics::verdict() const {
    if (inputs_.loop == Loop::open && backlog_.growing()) return Verdict::overloaded;
    return waiting_share() < backlogged_share ? Verdict::stable : Verdict::backlogged;
}

Instant Metrics::warm_up_end() const {
    const auto reached = steady_state_.reached();
    if (reached && *reached < agent_arrivals_.back()) return *reached;
    return agent_arrivals_[agent_arrivals_.size() / 10];
}

std::optional<SteadyPart> Metrics::steady() const {
    if (agent_arrivals_.empty()) return std::nullopt;
    SteadyPart part{.from = warm_up_end(), .to = agent_arrivals_.back()};
    const auto within = [&](Instant at) { return at >= part.from && at <= part.to; };
    for (const Sample& sample : samples_) {
        if (!within(sample.submitted)) continue;
        if (sample.ttft) part.latencies.ttft.add(*sample.ttft);
        if (sample.ttst) part.latencies.ttst.add(*sample.ttst);
        if (sample.tpot) part.latencies.tpot.add(*sample.tpot);
    }
    for (const Session& s : sessions_) {
        if (s.seen && s.under_way == 0 && within(s.first)) {
            part.latencies.trajectory.add(seconds(s.last - s.first));
        }
    }
    return part;
}

std::vector<SloResult> Metrics::slo_results() const {
    if (const auto part = steady()) return judge(inputs_.slo, part->latencies);
    return judge(inputs_.slo, {ttft_, ttst_, tpot_, trajectories()});
}

std::vector<BindingCandidate> Metrics::binding() const {
    if (counts_.finished == 0) return {};
    const auto n = static_cast<double>(counts_.finished);
    const StageTimes mean{stages_.queue / n,       stages_.allocate / n, stages_.read_prefill / n,
                          stages_.read_decode / n, stages_.prefill / n,  stages_.send / n,
                          stages_.decode / n};
    double cnic = 0;
    for (const char* kind : {"cnic_read", "cnic_write", "cnic_tx", "cnic_rx"}) {
        for (const Role role : {Role::prefill, Role::decode}) {
            cnic = std::max(cnic, resources_.of(kind, role).at_limit());
        }
    }
    const MemoryMeans m = memory();
    return binding_candidates(
        mean, {.prefill_snic_at_limit = resources_.of("snic_rx", Role::prefill).at_limit(),
               .decode_snic_at_limit = resources_.of("snic_rx", Role::decode).at_limit(),
               .storage_at_limit = resources_.of("storage_read").at_limit(),
               .cnic_at_limit = cnic,
               .waiting_for_decode_hbm = m.waiting_for_decode_hbm,
               .waiting_for_prefill_hbm = m.waiting_for_prefill_hbm,
               .prefill_buffer = m.prefill_buffer,
               .decode_buffer = m.decode_buffer});
}

}  // namespace dualpath
