// SteadyState: when a run's TTFT has settled, by the paper's rule for its online experiments.
#include "analysis/steady_state.h"

#include <cmath>

#include "base/check.h"

namespace dualpath {
namespace {

constexpr std::size_t slices_per_window = 10;

}  // namespace

SteadyState::SteadyState(const Settings& settings)
    : settings_{settings}, slice_{settings.window / std::int64_t{slices_per_window}} {
    CHECK(slice_ > Duration{0} && settings.back >= slice_, "a window has a length");
}

void SteadyState::add(Instant at, Duration ttft) {
    while (at.time_since_epoch() >= slice_ * static_cast<std::int64_t>(slices_.size() + 1)) {
        close_slice();
    }
    open_.sum_s += to_seconds(ttft);
    ++open_.count;
}

void SteadyState::close_slice() {
    slices_.push_back(open_);
    open_ = {};
    const auto back = static_cast<std::size_t>(settings_.back / slice_);
    if (reached_ || slices_.size() < back + slices_per_window) return;
    const auto now = window_mean(), before = mean_before(slices_.size() - back);
    if (now && before && std::abs(*now - *before) < settings_.change * *before) {
        reached_ = Instant{slice_ * static_cast<std::int64_t>(slices_.size())};
    }
}

std::optional<double> SteadyState::mean_before(std::size_t end) const {
    if (end < slices_per_window) return std::nullopt;
    Slice window;
    for (std::size_t i = end - slices_per_window; i < end; ++i) {
        window.sum_s += slices_[i].sum_s;
        window.count += slices_[i].count;
    }
    if (window.count == 0) return std::nullopt;
    return window.sum_s / static_cast<double>(window.count);
}

}  // namespace dualpath
