// SLO: limits on statistics of a run's latencies, and whether a run meets them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/distribution.h"
#include "base/input_error.h"

namespace dualpath {

/// Latencies, in seconds, of the requests (or sessions) that one looks at.
struct Latencies {
    Distribution ttft{}, ttst{}, tpot{}, trajectory{};
};

struct SloLimit {
    enum class Metric : std::uint8_t { ttft, ttst, tpot, trajectory } metric = Metric::ttft;
    enum class Statistic : std::uint8_t { mean, p50, p90, p99 } statistic = Statistic::mean;
    double limit_s = 0;

    std::string name() const;  ///< ttft_s.mean
    std::string text() const;  ///< ttft_s.mean=4
    const Distribution& of(const Latencies& latencies) const;
};

struct Slo {
    std::vector<SloLimit> limits;

    std::string text() const;  ///< as parse_slo reads it
    /// What goodput asks of one request: the SLO's largest limit on that metric, by default the
    /// paper's 4 s and 0.05 s.
    double ttft_s() const { return request_limit(SloLimit::Metric::ttft).value_or(4); }
    double tpot_s() const { return request_limit(SloLimit::Metric::tpot).value_or(0.05); }

private:
    std::optional<double> request_limit(SloLimit::Metric metric) const;
};

/// `ttft_s.mean=4,tpot_s.p99=0.05`, or `paper`: ttft_s.mean=4,tpot_s.mean=0.05 (its 7.4). Throws
/// InputError at `place` with the nearest name and what is allowed.
Slo parse_slo(std::string_view text, const Place& place = {.field = "slo"});

struct SloResult {
    SloLimit limit;
    std::optional<double> value_s;  ///< nothing without a sample
    bool met = false;
};

/// One result per limit. A limit without a sample holds (answers of one token have no TPOT), but
/// without any first token none does.
std::vector<SloResult> judge(const Slo& slo, const Latencies& latencies);
bool all_met(const std::vector<SloResult>& results);

}  // namespace dualpath
