// SLO: limits on statistics of a run's latencies, and whether a run meets them.
#include "analysis/slo.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "input/nearest.h"

namespace dualpath {
namespace {

constexpr std::string_view paper = "ttft_s.mean=4,tpot_s.mean=0.05";
constexpr std::array<std::string_view, 4> metrics{"ttft_s", "ttst_s", "tpot_s", "trajectory_s"};
constexpr std::array<std::string_view, 4> statistics{"mean", "p50", "p90", "p99"};
constexpr const char* form = "METRIC.STATISTIC=SECONDS[,...] or 'paper'";

/// The position of `word` in `names`, as the enumerator it stands for.
template <class Enumerator>
Enumerator named(std::string_view kind, std::string_view word,
                 std::span<const std::string_view> names, const Place& place) {
    const auto found = std::find(names.begin(), names.end(), word);
    if (found != names.end()) return static_cast<Enumerator>(found - names.begin());
    const std::vector<std::string> known{names.begin(), names.end()};
    throw InputError{place, unknown_word(kind, word, known),
                     fmt::format("one of {}", fmt::join(names, ", "))};
}

double seconds_of(std::string_view text, const Place& place) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!whole || !std::isfinite(value) || value <= 0) {
        throw InputError{place, fmt::format("'{}' is no limit", text),
                         "seconds above 0, as a plain number: 4 or 0.05"};
    }
    return value;
}

SloLimit parse_limit(std::string_view text, const Place& place) {
    const auto equals = text.find('='), dot = text.substr(0, equals).find('.');
    if (equals == text.npos || dot == text.npos) {
        throw InputError{place, fmt::format("'{}' is no limit", text), form};
    }
    return {named<SloLimit::Metric>("metric", text.substr(0, dot), metrics, place),
            named<SloLimit::Statistic>("statistic", text.substr(dot + 1, equals - dot - 1),
                                       statistics, place),
            seconds_of(text.substr(equals + 1), place)};
}

double statistic(const Distribution& d, SloLimit::Statistic which) {
    switch (which) {
        case SloLimit::Statistic::mean:
            return d.mean();
        case SloLimit::Statistic::p50:
            return d.percentile(50);
        case SloLimit::Statistic::p90:
            return d.percentile(90);
        case SloLimit::Statistic::p99:
            return d.percentile(99);
    }
    return 0;
}

}  // namespace

std::string SloLimit::name() const {
    return fmt::format("{}.{}", metrics[static_cast<std::size_t>(metric)],
                       statistics[static_cast<std::size_t>(statistic)]);
}

std::string SloLimit::text() const { return fmt::format("{}={}", name(), limit_s); }

const Distribution& SloLimit::of(const Latencies& latencies) const {
    switch (metric) {
        case Metric::ttft:
            return latencies.ttft;
        case Metric::ttst:
            return latencies.ttst;
        case Metric::tpot:
            return latencies.tpot;
        case Metric::trajectory:
            break;
    }
    return latencies.trajectory;
}

std::string Slo::text() const {
    std::vector<std::string> parts;
    for (const SloLimit& limit : limits) parts.push_back(limit.text());
    return fmt::format("{}", fmt::join(parts, ","));
}

std::optional<double> Slo::request_limit(SloLimit::Metric metric) const {
    std::optional<double> largest;
    for (const SloLimit& limit : limits) {
        if (limit.metric == metric) largest = std::max(largest.value_or(0), limit.limit_s);
    }
    return largest;
}

Slo parse_slo(std::string_view text, const Place& place) {
    if (text == "paper") text = paper;
    if (text.find_first_of("=.,") == text.npos) {
        const std::vector<std::string> presets{"paper"};
        throw InputError{place, unknown_word("SLO", text, presets), form};
    }
    Slo slo;
    while (true) {
        const auto comma = text.find(',');
        const SloLimit limit = parse_limit(text.substr(0, comma), place);
        for (const SloLimit& other : slo.limits) {
            if (other.name() == limit.name()) {
                throw InputError{place, fmt::format("{} has two limits", limit.name()), "one each"};
            }
        }
        slo.limits.push_back(limit);
        if (comma == text.npos) return slo;
        text.remove_prefix(comma + 1);
    }
}

std::vector<SloResult> judge(const Slo& slo, const Latencies& latencies) {
    std::vector<SloResult> results;
    const bool some = latencies.ttft.count() > 0;
    for (const SloLimit& limit : slo.limits) {
        const Distribution& d = limit.of(latencies);
        SloResult result{.limit = limit, .met = some};
        if (d.count() > 0) {
            result.value_s = statistic(d, limit.statistic);
            result.met = some && *result.value_s <= limit.limit_s;
        }
        results.push_back(result);
    }
    return results;
}

bool all_met(const std::vector<SloResult>& results) {
    return std::all_of(results.begin(), results.end(), [](const SloResult& r) { return r.met; });
}

}  // namespace dualpath
