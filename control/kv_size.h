// KvSize: how many bytes of KV-Cache so many tokens are.
#pragma once

#include "base/check.h"
#include "base/units.h"
#include "models/llm.h"

namespace dualpath {

/// A function of n tokens, not a scalar: sliding-window layers hold min(n, window). One copy.
class KvSize {
public:
    KvSize(const Llm& llm, KvDtype dtype, Tokens block) : llm_{llm}, dtype_{dtype}, block_{block} {
        CHECK(block > Tokens{0}, "a block has tokens");
        if (kv_is_linear(llm)) per_token_ = kv_bytes_per_token(llm, dtype);
    }

    Bytes of(Tokens n) const {
        return per_token_.value > 0 ? n * per_token_ : kv_bytes(llm_, dtype_, n);
    }
    /// KV of `n` tokens that follow `before` others.
    Bytes after(Tokens before, Tokens n) const { return of(before + n) - of(before); }
    /// HBM taken by a sequence of n tokens: whole blocks.
    Bytes resident(Tokens n) const { return of(ceil_to(n, block_)); }
    Tokens block() const { return block_; }
    std::uint16_t layers() const { return static_cast<std::uint16_t>(llm_.layers); }

private:
    Llm llm_;
    KvDtype dtype_;
    Tokens block_;
    BytesPerToken per_token_{};
};

}  // namespace dualpath
