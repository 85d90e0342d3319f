// The summary: a run's metrics as JSON for machines and as a table for people.
#include "analysis/summary.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace dualpath {
namespace {

using Json = nlohmann::ordered_json;

/// 0 for what is no number, so that no NaN or infinity is ever printed.
double finite(double value) { return std::isfinite(value) ? value : 0; }

Json or_null(double value, bool defined) { return defined ? Json(finite(value)) : Json(nullptr); }

Json statistics(const Distribution& d) {
    const bool some = d.count() > 0;
    const Percentiles p = d.percentiles();
    Json out;
    out["mean"] = or_null(d.mean(), some);
    out["p50"] = or_null(p.p50, some);
    out["p90"] = or_null(p.p90, some);
    out["p99"] = or_null(p.p99, some);
    out["max"] = or_null(d.max(), some);
    return out;
}

double ratio(double part, double whole) { return whole > 0 ? finite(part / whole) : 0; }
double ratio(Tokens part, Tokens whole) {
    return ratio(static_cast<double>(part.value), static_cast<double>(whole.value));
}

/// The kinds in the order of the summary: those of cli.md first, under its names.
constexpr std::pair<const char*, const char*> kinds[] = {{"snic", "snic_rx"},
                                                         {"cnic_read", "cnic_read"},
                                                         {"cnic_write", "cnic_write"},
                                                         {"dram", "dram"},
                                                         {"gpu", "gpu"},
                                                         {"hbm", "hbm"},
                                                         {"snic_tx", "snic_tx"},
                                                         {"cnic_tx", "cnic_tx"},
                                                         {"cnic_rx", "cnic_rx"},
                                                         {"pcie_in", "pcie_in"},
                                                         {"pcie_out", "pcie_out"},
                                                         {"gpu_in", "gpu_in"},
                                                         {"gpu_out", "gpu_out"}};

template <class F>
Json by_resource(const ResourceTotals& totals, F of) {
    Json out;
    for (const auto& [name, kind] : kinds) {
        out[name] = {{"prefill", finite(of(totals.of(kind, Role::prefill)))},
                     {"decode", finite(of(totals.of(kind, Role::decode)))}};
    }
    for (const char* kind : {"storage_read", "storage_write"}) {
        out[kind] = finite(of(totals.of(kind)));
    }
    return out;
}

const char* verdict_name(Verdict verdict) {
    switch (verdict) {
        case Verdict::stable:
            return "STABLE";
        case Verdict::backlogged:
            return "BACKLOGGED";
        case Verdict::overloaded:
            return "OVERLOADED";
    }
    return "";
}

void add_facts(Json& out, const Metrics& m, const RunFacts& facts) {
    const Metrics::Counts& c = m.counts();
    out["format"] = summary_format;
    out["complete"] = facts.complete;
    out["scenario"] = facts.scenario;
    out["scenario_hash"] = facts.scenario_hash;
    out["seed"] = facts.seed;
    out["version"] = facts.version;
    out["calibration"] = facts.calibration;
    out["system"] = facts.system;
    out["agents"] = facts.agents;
    out["requests"] = c.finished + c.aborted + c.failed;
    out["outcomes"] = {{"finished", c.finished},
                       {"aborted", c.aborted},
                       {"failed", c.failed},
                       {"restarts", c.restarts},
                       {"unfinished", m.unfinished()}};
}

void add_latencies(Json& out, const Metrics& m) {
    out["jct_s"] = to_seconds(m.jct());
    out["trajectory_s"] = statistics(m.trajectories());
    out["ttft_s"] = statistics(m.ttft());
    out["ttst_s"] = statistics(m.ttst());
    out["tpot_s"] = statistics(m.tpot());
    const std::pair<const char*, const Distribution*> parts[] = {{"queue", &m.queue()},
                                                                 {"allocate", &m.allocate()},
                                                                 {"read", &m.read()},
                                                                 {"prefill", &m.prefill()}};
    Json& means = out["ttft_parts_s"];
    for (const auto& [name, part] : parts) means[name] = or_null(part->mean(), part->count() > 0);
    Json& percentiles = out["ttft_parts_percentiles_s"];
    for (const auto& [name, part] : parts) percentiles[name] = statistics(*part);
}

void add_rates(Json& out, const Metrics& m) {
    const Metrics::Counts& c = m.counts();
    const double jct = to_seconds(m.jct());
    const auto per_second = [&](auto count) { return ratio(static_cast<double>(count), jct); };
    out["agents_per_second"] = per_second(m.sessions_ended());
    out["requests_per_s"] = per_second(c.finished);
    out["prompt_tokens_per_s"] = per_second(c.prompt.value);
    out["output_tokens_per_s"] = per_second(c.generated.value);
    out["prompt_tokens"] = c.prompt.value;
    out["output_tokens"] = c.generated.value;
    out["hit_rate"] = ratio(c.hit, c.prompt);
    out["hit_rate_ideal"] = ratio(c.context, c.prompt);
    out["read_path_share"] = {
        {"prefill", ratio(static_cast<double>(c.prefill_path), static_cast<double>(c.finished))},
        {"decode", ratio(static_cast<double>(c.decode_path), static_cast<double>(c.finished))}};
    out["goodput"] = {
        {"requests_per_s", per_second(c.met_slo)},
        {"share", ratio(static_cast<double>(c.met_slo), static_cast<double>(c.finished))},
        {"slo", {{"ttft_s", m.slo().ttft_s()}, {"tpot_s", m.slo().tpot_s()}}}};
}

void add_slo(Json& out, const Metrics& m) {
    const auto results = m.slo_results();
    out["slo"] = m.slo().text();
    Json& met = out["slo_met"];
    met["all"] = all_met(results);
    for (const SloResult& result : results) met[result.limit.name()] = result.met;
}

void add_steady(Json& out, const Metrics& m) {
    const auto reached = m.steady_state().reached();
    out["steady_state_s"] = reached ? Json(to_seconds(*reached)) : Json(nullptr);
    out["steady"] = nullptr;
    if (const auto part = m.steady()) {
        const Latencies& l = part->latencies;
        out["steady"] = {{"from_s", to_seconds(part->from)},
                         {"to_s", to_seconds(part->to)},
                         {"requests", l.ttft.count()},
                         {"ttft_s", or_null(l.ttft.mean(), l.ttft.count() > 0)},
                         {"ttst_s", or_null(l.ttst.mean(), l.ttst.count() > 0)},
                         {"tpot_s", or_null(l.tpot.mean(), l.tpot.count() > 0)},
                         {"trajectory_s", or_null(l.trajectory.mean(), l.trajectory.count() > 0)}};
    }
}

std::int64_t bytes(const ResourceTotal& total) { return std::llround(finite(total.used)); }

void add_resources(Json& out, const Metrics& m) {
    const ResourceTotals& totals = m.resources();
    out["storage_read_bytes"] = bytes(totals.of("storage_read"));
    out["storage_write_bytes"] = bytes(totals.of("storage_write"));
    out["snic_read_Bps"] = {{"prefill", finite(m.snic_read_rate(Role::prefill))},
                            {"decode", finite(m.snic_read_rate(Role::decode))}};
    const auto imbalance = [](double value) { return or_null(value, value > 0); };
    out["snic_max_over_avg"] = imbalance(m.snic_max_over_avg());
    out["snic_max_over_avg_10s"] = imbalance(m.snic_max_over_avg_10s());
    out["snic_max_over_avg_by_role"] = {{"prefill", imbalance(m.snic_max_over_avg(Role::prefill))},
                                        {"decode", imbalance(m.snic_max_over_avg(Role::decode))}};
    out["attention_max_over_avg"] = imbalance(m.attention_max_over_avg());
    out["utilisation"] =
        by_resource(totals, [](const ResourceTotal& total) { return total.utilisation(); });
    out["time_at_limit"] =
        by_resource(totals, [](const ResourceTotal& total) { return total.at_limit(); });
}

void add_memory(Json& out, const Metrics& m) {
    const MemoryMeans means = m.memory();
    out["memory"] = {{"prefill_hbm", means.prefill_hbm},
                     {"decode_hbm", means.decode_hbm},
                     {"prefill_buffer", means.prefill_buffer},
                     {"decode_buffer", means.decode_buffer}};
    out["memory_waits"] = {{"prefill_hbm", means.waiting_for_prefill_hbm},
                           {"decode_hbm", means.waiting_for_decode_hbm},
                           {"buffers", means.waiting_for_buffers}};
}

}  // namespace

Json summary(const Metrics& metrics, const RunFacts& facts) {
    Json out;
    add_facts(out, metrics, facts);
    add_latencies(out, metrics);
    add_rates(out, metrics);
    add_resources(out, metrics);
    add_memory(out, metrics);
    add_slo(out, metrics);
    out["verdict"] = verdict_name(metrics.verdict());
    out["waiting_share"] = metrics.waiting_share();
    add_steady(out, metrics);
    const auto candidates = metrics.binding();
    out["binding_resource"] = binding_resource(candidates);
    out["binding_candidates"] = Json::array();
    for (const BindingCandidate& candidate : candidates) {
        out["binding_candidates"].push_back(
            {{"resource", candidate.resource}, {"share", candidate.share}});
    }
    out["events"] = facts.events;
    out["flows"] = facts.flows;
    out["events_hash"] = facts.events_hash;
    return out;
}

// ---- the table --------------------------------------------------------------------------------

namespace {

/// Four significant digits, "-" for null.
std::string number(const Json& value) {
    if (!value.is_number()) return "-";
    const double v = value.get<double>();
    if (v == 0) return "0";
    const int before = static_cast<int>(std::floor(std::log10(std::abs(v)))) + 1;
    return fmt::format("{:.{}f}", v, before >= 4 ? 0 : std::min(4 - before, 6));
}

std::string percent(const Json& value) {
    if (!value.is_number()) return "-";
    return fmt::format("{:.1f} %", value.get<double>() * 100);
}

/// 12.3 GB/s, decimal prefixes.
std::string prefixed(double value, const char* unit) {
    const char* prefix = "";
    for (const char* larger : {"k", "M", "G", "T", "P"}) {
        if (std::abs(value) < 1000) break;
        value /= 1000;
        prefix = larger;
    }
    return fmt::format("{} {}{}", number(Json(value)), prefix, unit);
}

std::string latency_line(const char* name, const Json& statistics) {
    return fmt::format("  {:<16}{:>11}{:>11}{:>11}{:>11}{:>11}\n", name, number(statistics["mean"]),
                       number(statistics["p50"]), number(statistics["p90"]),
                       number(statistics["p99"]), number(statistics["max"]));
}

std::string slo_text(const Json& s) {
    std::string missed;
    for (const auto& [name, met] : s["slo_met"].items()) {
        if (name != "all" && !met.get<bool>()) missed += " " + name;
    }
    return missed.empty() ? "SLO met" : "SLO missed:" + missed;
}

std::string result_lines(const Json& s) {
    const Json& outcomes = s["outcomes"];
    std::string text =
        fmt::format("{}  system {}, {} agents, seed {}, calibration {}\n",
                    s["scenario"].get<std::string>(), s["system"].get<std::string>(),
                    s["agents"].dump(), s["seed"].dump(), s["calibration"].get<std::string>());
    if (!s["complete"].get<bool>()) text += "  STOPPED before its end: all numbers up to here\n";
    text += fmt::format("  JCT {} s, {} requests, {}, {}\n", number(s["jct_s"]),
                        s["requests"].dump(), s["verdict"].get<std::string>(), slo_text(s));
    if (outcomes["aborted"] != 0 || outcomes["failed"] != 0 || outcomes["restarts"] != 0) {
        text += fmt::format("  {} aborted, {} failed, {} restarts\n", outcomes["aborted"].dump(),
                            outcomes["failed"].dump(), outcomes["restarts"].dump());
    }
    return text;
}

std::string latency_lines(const Json& s) {
    std::string text = fmt::format("\n{:<18}{:>11}{:>11}{:>11}{:>11}{:>11}\n", "latency (s)",
                                   "mean", "p50", "p90", "p99", "max");
    text += latency_line("TTFT", s["ttft_s"]);
    for (const char* part : {"queue", "allocate", "read", "prefill"}) {
        text +=
            latency_line(fmt::format("  {}", part).c_str(), s["ttft_parts_percentiles_s"][part]);
    }
    text += latency_line("TTST", s["ttst_s"]);
    text += latency_line("TPOT", s["tpot_s"]);
    text += latency_line("trajectory", s["trajectory_s"]);
    return text;
}

std::string throughput_lines(const Json& s) {
    const Json& goodput = s["goodput"];
    return fmt::format(
        "\nthroughput\n  {} prompt tokens/s, {} output tokens/s, {} agents/s\n"
        "  goodput {} requests/s, {} of all within TTFT {:g} s and TPOT {:g} s\n"
        "  hit rate {} (ideal {}), read {}, written {}\n",
        number(s["prompt_tokens_per_s"]), number(s["output_tokens_per_s"]),
        number(s["agents_per_second"]), number(goodput["requests_per_s"]),
        percent(goodput["share"]), goodput["slo"]["ttft_s"].get<double>(),
        goodput["slo"]["tpot_s"].get<double>(), percent(s["hit_rate"]),
        percent(s["hit_rate_ideal"]), prefixed(s["storage_read_bytes"].get<double>(), "B"),
        prefixed(s["storage_write_bytes"].get<double>(), "B"));
}

std::string resource_lines(const Json& s) {
    std::string text = fmt::format("\n{:<18}{:>16}{:>16}{:>16}{:>16}\n", "resources",
                                   "prefill used", "at limit", "decode used", "at limit");
    for (const char* kind : {"snic", "cnic_read", "cnic_write", "dram", "gpu", "hbm"}) {
        const Json& used = s["utilisation"][kind];
        const Json& limit = s["time_at_limit"][kind];
        text += fmt::format("  {:<16}{:>16}{:>16}{:>16}{:>16}\n", kind, percent(used["prefill"]),
                            percent(limit["prefill"]), percent(used["decode"]),
                            percent(limit["decode"]));
    }
    const Json& rate = s["snic_read_Bps"];
    text +=
        fmt::format("  SNIC reads       {} prefill, {} decode; max/avg {}\n",
                    prefixed(rate["prefill"].get<double>(), "B/s"),
                    prefixed(rate["decode"].get<double>(), "B/s"), number(s["snic_max_over_avg"]));
    text += fmt::format("  attention        max/avg {}\n", number(s["attention_max_over_avg"]));
    return text;
}

std::string memory_lines(const Json& s) {
    const Json& use = s["memory"];
    const Json& waits = s["memory_waits"];
    std::string text = fmt::format(
        "\nmemory, mean use (time somebody waited for it)\n"
        "  HBM              prefill {} ({}), decode {} ({})\n"
        "  host buffers     prefill {}, decode {} ({})\n",
        percent(use["prefill_hbm"]), percent(waits["prefill_hbm"]), percent(use["decode_hbm"]),
        percent(waits["decode_hbm"]), percent(use["prefill_buffer"]), percent(use["decode_buffer"]),
        percent(waits["buffers"]));
    text += fmt::format("\nbinding resource   {}; share of the time with a decode engine:\n ",
                        s["binding_resource"].get<std::string>());
    for (const Json& candidate : s["binding_candidates"]) {
        if (candidate["share"].get<double>() < 0.01) continue;
        text += fmt::format(" {} {}", candidate["resource"].get<std::string>(),
                            percent(candidate["share"]));
    }
    return text + "\n";
}

}  // namespace

std::string table(const Json& s) {
    return result_lines(s) + latency_lines(s) + throughput_lines(s) + resource_lines(s) +
           memory_lines(s) +
           fmt::format("\n{} events, {} flows, events hash {}\n", s["events"].dump(),
                       s["flows"].dump(), s["events_hash"].get<std::string>());
}

}  // namespace dualpath
