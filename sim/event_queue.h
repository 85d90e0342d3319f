// The future, in order. Equal times keep the order in which they were scheduled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/units.h"

namespace dualpath::sim {

/// A 4-ary implicit heap, total order by (instant, ticket). Four children share a cache line or
/// two, which makes it about twice as fast as a binary heap at 10^5 entries.
template <class Payload>
class EventQueue {
public:
    struct Entry {
        Instant at;
        std::uint64_t ticket;  ///< breaks ties: first scheduled, first served
        Payload what;
    };

    void schedule(Instant at, Payload what) {
        heap_.push_back({at, next_ticket_++, what});
        std::size_t hole = heap_.size() - 1;
        const Entry entry = heap_[hole];
        while (hole > 0 && earlier(entry, heap_[(hole - 1) / 4])) {
            heap_[hole] = heap_[(hole - 1) / 4];
            hole = (hole - 1) / 4;
        }
        heap_[hole] = entry;
    }

    bool empty() const { return heap_.empty(); }
    std::size_t size() const { return heap_.size(); }
    const Entry& top() const { return heap_.front(); }

    Entry pop() {
        CHECK(!heap_.empty(), "only what was scheduled can happen");
        const Entry first = heap_.front();
        const Entry last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) sink(last);
        return first;
    }

private:
    static bool earlier(const Entry& a, const Entry& b) {
        return a.at != b.at ? a.at < b.at : a.ticket < b.ticket;
    }

    /// Puts `entry` into the hole at the top, moving earlier children up.
    void sink(const Entry& entry) {
        std::size_t hole = 0;
        for (;;) {
            const std::size_t child = 4 * hole + 1;
            if (child >= heap_.size()) break;
            std::size_t best = child;
            const std::size_t end = std::min(child + 4, heap_.size());
            for (std::size_t i = child + 1; i < end; ++i) {
                if (earlier(heap_[i], heap_[best])) best = i;
            }
            if (!earlier(heap_[best], entry)) break;
            heap_[hole] = heap_[best];
            hole = best;
        }
        heap_[hole] = entry;
    }

    std::vector<Entry> heap_;
    std::uint64_t next_ticket_ = 0;
};

}  // namespace dualpath::sim
