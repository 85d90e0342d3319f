// ResourceTotals: how busy each kind of resource was, over a run or a window, and how evenly.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/world.h"

namespace dualpath {

/// Sums over the resources of one kind and role. Means are over resources and time; 0 without any.
struct ResourceTotal {
    std::size_t resources = 0;
    double used = 0;        ///< bytes (kind gpu: useful seconds)
    double busy_s = 0;      ///< used / capacity
    double at_limit_s = 0;  ///< time at the limit
    double seconds = 0;     ///< resources x time

    double utilisation() const { return seconds > 0 ? busy_s / seconds : 0; }
    double at_limit() const { return seconds > 0 ? at_limit_s / seconds : 0; }
    double rate() const { return seconds > 0 ? used / seconds : 0; }  ///< of one resource
};

class ResourceTotals final : public ResourceObserver {
public:
    using Key = std::pair<std::string, Role>;  ///< kind and role

    explicit ResourceTotals(const std::vector<ResourceColumn>& columns);

    void on_window(Instant from, Instant to, std::span<const ResourceUse> use) override;

    /// Empty totals for what the world does not have.
    ResourceTotal of(std::string_view kind, Role role) const;
    /// Both roles; the storage cluster has no role, so this is it.
    ResourceTotal of(std::string_view kind) const;
    const std::map<Key, std::size_t>& keys() const { return keys_; }
    const ResourceTotal& at(std::size_t index) const { return totals_[index]; }

private:
    std::map<Key, std::size_t> keys_;
    std::vector<std::size_t> total_of_;  ///< by column
    std::vector<double> capacity_;       ///< by column
    std::vector<ResourceTotal> totals_;
};

/// Max over mean of what parallel resources did, averaged over periods of at least `period`:
/// 1 = even. Periods in which nothing was done do not count; windows are joined up to a period.
class Imbalance {
public:
    Imbalance(std::size_t resources, Duration period) : done_(resources), period_{period} {}

    /// What each resource did in a window of this length.
    void add(std::span<const double> done, Duration window);
    /// Includes the period under way; 0 when nothing was ever done.
    double max_over_mean() const;

private:
    double ratio() const;

    std::vector<double> done_;  ///< in the period under way
    Duration period_;
    Duration length_{};
    double weighted_ = 0, weight_s_ = 0;
};

/// Passes what a world measured on to several observers.
class ResourceFanOut final : public ResourceObserver {
public:
    explicit ResourceFanOut(std::vector<ResourceObserver*> observers)
        : observers_{std::move(observers)} {}
    void on_window(Instant from, Instant to, std::span<const ResourceUse> use) override {
        for (ResourceObserver* observer : observers_) observer->on_window(from, to, use);
    }

private:
    std::vector<ResourceObserver*> observers_;
};

}  // namespace dualpath
