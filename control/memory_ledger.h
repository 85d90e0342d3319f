// MemoryLedger: who holds how much HBM and host buffer; nothing is promised twice.
#pragma once

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/units.h"

namespace dualpath {

/// One memory of a fixed size.
class MemoryPool {
public:
    explicit MemoryPool(Bytes capacity = {}) : capacity_{capacity} {}

    bool take(Bytes size) {
        if (size > free()) return false;
        used_ += size;
        return true;
    }
    void give_back(Bytes size) {
        used_ -= size;
        CHECK(used_ >= Bytes{0}, "memory is given back once");
    }
    Bytes free() const { return capacity_ - used_; }
    Bytes used() const { return used_; }
    Bytes capacity() const { return capacity_; }

private:
    Bytes capacity_;
    Bytes used_{};
};

/// HBM for KV of every engine, and the reserved host memory of every node (PE buffer or DE buffer).
/// Order of acquisition, everywhere: decode HBM, decode buffer, prefill buffer, prefill HBM; the
/// two buffers at once or not at all. Whoever holds a later one never waits for an earlier one, so
/// there is no deadlock.
class MemoryLedger {
public:
    MemoryLedger(std::vector<Bytes> hbm_by_engine, std::vector<Bytes> buffer_by_node) {
        for (const Bytes size : hbm_by_engine) hbm_.emplace_back(size);
        for (const Bytes size : buffer_by_node) buffer_.emplace_back(size);
    }

    MemoryPool& hbm(EngineId engine) { return hbm_[engine.index()]; }
    MemoryPool& buffer(NodeId node) { return buffer_[node.index()]; }
    const MemoryPool& hbm(EngineId engine) const { return hbm_[engine.index()]; }
    const MemoryPool& buffer(NodeId node) const { return buffer_[node.index()]; }

    /// Both or none.
    bool take_buffers(NodeId decode, Bytes decode_size, NodeId prefill, Bytes prefill_size) {
        if (!buffer(decode).take(decode_size)) return false;
        if (buffer(prefill).take(prefill_size)) return true;
        buffer(decode).give_back(decode_size);
        return false;
    }

private:
    std::vector<MemoryPool> hbm_;
    std::vector<MemoryPool> buffer_;
};

}  // namespace dualpath
