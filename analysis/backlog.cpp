// Backlog: whether requests pile up without bound while agents arrive.
#include "analysis/backlog.h"

#include <cmath>

namespace dualpath {
namespace {

constexpr std::size_t most_samples = 8192;  // then every other one goes, and the period doubles
constexpr std::size_t fewest_samples = 10;
constexpr double standard_errors = 3, least_rise = 0.2, longest_wait_s = 10;

/// y = at_mean + slope * (x - mean_x), by least squares.
struct Line {
    double at_mean = 0, mean_x = 0, slope = 0, slope_error = 0;
    double at(double x) const { return at_mean + slope * (x - mean_x); }
};

Line fit(const std::vector<double>& x, const std::vector<double>& y) {
    const auto n = static_cast<double>(x.size());
    Line line;
    for (std::size_t i = 0; i < x.size(); ++i) {
        line.mean_x += x[i] / n;
        line.at_mean += y[i] / n;
    }
    double xx = 0, xy = 0, residuals = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - line.mean_x) * (x[i] - line.mean_x);
        xy += (x[i] - line.mean_x) * (y[i] - line.at_mean);
    }
    line.slope = xy / xx;
    for (std::size_t i = 0; i < x.size(); ++i) {
        residuals += (y[i] - line.at(x[i])) * (y[i] - line.at(x[i]));
    }
    line.slope_error = std::sqrt(residuals / (n - 2) / xx);
    return line;
}

}  // namespace

void Backlog::arrived(Instant at, Turn turn) {
    ++arrived_;
    if (turn == Turn::later) return;
    ++agents_;
    last_agent_ = at;
}

void Backlog::waiting(Instant now, std::uint64_t requests) {
    while (next_ <= now) {
        samples_.push_back({next_, static_cast<double>(waiting_), static_cast<double>(arrived_)});
        next_ += period_;
        if (samples_.size() == most_samples) thin_out();
    }
    waiting_ = requests;
}

void Backlog::thin_out() {
    for (std::size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
    samples_.resize((samples_.size() + 1) / 2);
    period_ *= 2;
    next_ = samples_.back().at + period_;
}

bool Backlog::growing() const {
    const Instant half{last_agent_.time_since_epoch() / 2};
    std::vector<double> x, y;
    double arrived_before = 0, arrived_after = 0;
    for (const Sample& sample : samples_) {
        if (sample.at < half || sample.at > last_agent_) continue;
        if (x.empty()) arrived_before = sample.arrived;
        arrived_after = sample.arrived;
        x.push_back(to_seconds(sample.at));
        y.push_back(sample.waiting);
    }
    if (x.size() < fewest_samples) return false;
    const Line line = fit(x, y);
    const double end = line.at(x.back()), rise = end - line.at(x.front());
    const double per_second = (arrived_after - arrived_before) / (x.back() - x.front());
    return line.slope > standard_errors * line.slope_error && rise >= least_rise * end &&
           end > longest_wait_s * per_second;
}

}  // namespace dualpath
