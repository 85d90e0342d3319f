// ResourceTotals: how busy each kind of resource was, over a run or a window, and how evenly.
#include "analysis/resource_totals.h"

#include <algorithm>

#include "base/check.h"

namespace dualpath {

ResourceTotals::ResourceTotals(const std::vector<ResourceColumn>& columns) {
    for (const ResourceColumn& column : columns) {
        const auto [at, added] = keys_.try_emplace({column.kind, column.role}, totals_.size());
        if (added) totals_.emplace_back();
        ++totals_[at->second].resources;
        total_of_.push_back(at->second);
        capacity_.push_back(column.capacity);
    }
}

void ResourceTotals::on_window(Instant from, Instant to, std::span<const ResourceUse> use) {
    CHECK(use.size() == total_of_.size(), "a window has a value for every column");
    const double seconds = to_seconds(to - from);
    for (std::size_t i = 0; i < use.size(); ++i) {
        ResourceTotal& total = totals_[total_of_[i]];
        total.used += use[i].used;
        if (capacity_[i] > 0) total.busy_s += use[i].used / capacity_[i];
        total.at_limit_s += use[i].at_limit_s;
        total.seconds += seconds;
    }
}

ResourceTotal ResourceTotals::of(std::string_view kind, Role role) const {
    const auto at = keys_.find({std::string{kind}, role});
    return at == keys_.end() ? ResourceTotal{} : totals_[at->second];
}

ResourceTotal ResourceTotals::of(std::string_view kind) const {
    ResourceTotal both = of(kind, Role::prefill);
    const ResourceTotal decode = of(kind, Role::decode);
    both.resources += decode.resources;
    both.used += decode.used;
    both.busy_s += decode.busy_s;
    both.at_limit_s += decode.at_limit_s;
    both.seconds += decode.seconds;
    return both;
}

void Imbalance::add(std::span<const double> done, Duration window) {
    CHECK(done.size() == done_.size(), "one value per resource");
    for (std::size_t i = 0; i < done.size(); ++i) done_[i] += done[i];
    length_ += window;
    if (length_ < period_) return;
    if (const double now = ratio(); now > 0) {
        weighted_ += now * to_seconds(length_);
        weight_s_ += to_seconds(length_);
    }
    std::fill(done_.begin(), done_.end(), 0.0);
    length_ = {};
}

/// Of the period under way; 0 when nothing was done.
double Imbalance::ratio() const {
    double largest = 0, sum = 0;
    for (const double done : done_) {
        largest = std::max(largest, done);
        sum += done;
    }
    return sum > 0 ? largest * static_cast<double>(done_.size()) / sum : 0;
}

double Imbalance::max_over_mean() const {
    double weighted = weighted_, weight = weight_s_;
    if (const double now = ratio(); now > 0) {
        weighted += now * to_seconds(length_);
        weight += to_seconds(length_);
    }
    return weight > 0 ? weighted / weight : 0;
}

}  // namespace dualpath
