// KV bytes, weights and FLOPs of a language model, from its shape.
#include "models/llm.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/overloaded.h"

namespace dualpath {

namespace {

/// A scale of 4 B stands beside every 128 values kept in fp8.
std::int64_t scale_bytes(int values) { return 4 * ((values + 127) / 128); }

std::int64_t element_bytes(KvDtype dtype) { return dtype == KvDtype::bf16 ? 2 : 1; }

/// Projections of one attention layer. MLA as in DeepSeek-V3: queries through a low rank where
/// there is one; the compressed vector and the rope key from hidden; keys and values out of it.
double attention_parameters(const Llm& llm) {
    const double hidden = llm.hidden;
    return std::visit(
        overloaded{
            [&](const Mla& mla) {
                const double heads = mla.heads;
                const double query_in = mla.q_lora_rank.value_or(llm.hidden);
                double total = query_in * heads * (mla.nope_dim + mla.rope_dim);
                if (mla.q_lora_rank) total += hidden * *mla.q_lora_rank;
                total += hidden * (mla.kv_lora_rank + mla.rope_dim);
                total += static_cast<double>(mla.kv_lora_rank) * heads * (mla.nope_dim + mla.v_dim);
                total += heads * mla.v_dim * hidden;
                if (mla.indexer) {
                    const double index_heads = mla.indexer->heads;
                    total += query_in * index_heads * mla.indexer->dim;
                    total += hidden * mla.indexer->dim + hidden * index_heads;
                }
                return total;
            },
            [&](const Gqa& gqa) {
                return 2 * hidden * gqa.head_dim * (gqa.heads + static_cast<double>(gqa.kv_heads));
            }},
        llm.attention);
}

double triangle(double n) { return n * (n + 1) / 2; }

}  // namespace

const Indexer* sparse_indexer(const Llm& llm) {
    const auto* mla = std::get_if<Mla>(&llm.attention);
    return mla && mla->indexer ? &*mla->indexer : nullptr;
}

const SlidingWindow* sliding_window(const Llm& llm) {
    const auto* gqa = std::get_if<Gqa>(&llm.attention);
    return gqa && gqa->sliding ? &*gqa->sliding : nullptr;
}

double core_flops_per_pair(const Llm& llm) {
    return std::visit(overloaded{[](const Mla& mla) {
                                     const double key = mla.kv_lora_rank + mla.rope_dim;
                                     return mla.heads * (2.0 * key + 2.0 * mla.kv_lora_rank);
                                 },
                                 [](const Gqa& gqa) { return 4.0 * gqa.heads * gqa.head_dim; }},
                      llm.attention);
}

double indexer_flops_per_pair(const Llm& llm) {
    const Indexer* indexer = sparse_indexer(llm);
    return indexer ? 2.0 * indexer->heads * indexer->dim : 0.0;
}

KvLayout kv_layout(const Llm& llm, KvDtype dtype) {
    return std::visit(
        overloaded{[&](const Mla& mla) {
                       const Bytes latent =
                           dtype == KvDtype::bf16
                               ? Bytes{2 * (mla.kv_lora_rank + mla.rope_dim)}
                               : Bytes{mla.kv_lora_rank + scale_bytes(mla.kv_lora_rank) +
                                       2 * mla.rope_dim};
                       const Bytes index_key =
                           mla.indexer ? Bytes{mla.indexer->dim + scale_bytes(mla.indexer->dim)}
                                       : Bytes{};
                       return KvLayout{latent, index_key};
                   },
                   [&](const Gqa& gqa) {
                       return KvLayout{
                           Bytes{2 * gqa.kv_heads * gqa.head_dim * element_bytes(dtype)}, Bytes{}};
                   }},
        llm.attention);
}

Bytes kv_bytes(const Llm& llm, KvDtype dtype, Tokens n) {
    const Bytes layer_token = kv_layout(llm, dtype).total();
    const SlidingWindow* sliding = sliding_window(llm);
    const int growing = sliding ? sliding->full_layers : llm.layers;
    const std::int64_t kept = sliding ? std::min(n, sliding->window).value : 0;
    return layer_token * (growing * n.value) + layer_token * ((llm.layers - growing) * kept);
}

bool kv_is_linear(const Llm& llm) { return sliding_window(llm) == nullptr; }

BytesPerToken kv_bytes_per_token(const Llm& llm, KvDtype dtype) {
    CHECK(kv_is_linear(llm), "a model with sliding layers has no KV bytes per token");
    return {kv_bytes(llm, dtype, Tokens{1}).value};
}

Bytes layer_block_bytes(const Llm& llm, KvDtype dtype, Tokens block_tokens) {
    return kv_layout(llm, dtype).total() * block_tokens.value;
}

int kv_replication(const Llm& llm, int tp) {
    const auto* gqa = std::get_if<Gqa>(&llm.attention);
    return gqa ? std::max(1, tp / gqa->kv_heads) : tp;
}

Bytes kv_bytes_resident_per_rank(const Llm& llm, KvDtype dtype, Tokens n, int tp) {
    const Bytes whole = kv_bytes(llm, dtype, n);
    const auto* gqa = std::get_if<Gqa>(&llm.attention);
    if (!gqa) return whole;
    const int heads_of_rank = (gqa->kv_heads + tp - 1) / tp;
    return whole / gqa->kv_heads * heads_of_rank;  // whole is a multiple of kv_heads
}

Bytes kv_bytes_wire(const Llm& llm, KvDtype dtype, Tokens n, int tp) {
    return kv_bytes_resident_per_rank(llm, dtype, n, tp) * tp;
}

int moe_layers(const Llm& llm) { return llm.moe ? llm.layers - llm.dense_layers : 0; }

double parameters_per_expert(const Llm& llm) {
    return llm.moe ? 3.0 * llm.hidden * llm.moe->expert_ffn : 0.0;
}

double expert_parameters(const Llm& llm) {
    return llm.moe ? parameters_per_expert(llm) * llm.moe->routed * moe_layers(llm) : 0.0;
}

double head_parameters(const Llm& llm) { return static_cast<double>(llm.vocab) * llm.hidden; }

double embedding_parameters(const Llm& llm) {
    return head_parameters(llm) * (llm.tied_embeddings ? 1 : 2);
}

double replicated_parameters(const Llm& llm) {
    const double dense_layers = llm.layers - moe_layers(llm);
    double total = attention_parameters(llm) * llm.layers;
    total += dense_layers * 3.0 * llm.hidden * llm.dense_ffn;
    if (llm.moe) {
        const double router = static_cast<double>(llm.hidden) * llm.moe->routed;
        total += moe_layers(llm) * (router + llm.moe->shared * parameters_per_expert(llm));
    }
    return total;
}

double parameters(const Llm& llm) {
    return replicated_parameters(llm) + expert_parameters(llm) + embedding_parameters(llm);
}

double active_parameters(const Llm& llm) {
    const double experts =
        llm.moe ? parameters_per_expert(llm) * llm.moe->active * moe_layers(llm) : 0.0;
    return replicated_parameters(llm) + experts + head_parameters(llm);
}

Bytes weight_bytes_per_gpu(const Llm& llm, int expert_parallel, double bytes_per_parameter) {
    CHECK(expert_parallel >= 1, "an expert group has at least one rank");
    const int routed = llm.moe ? llm.moe->routed : 0;
    const int experts = (routed + expert_parallel - 1) / expert_parallel;
    const double layers =
        replicated_parameters(llm) + parameters_per_expert(llm) * experts * moe_layers(llm);
    const double embeddings = 2.0 * embedding_parameters(llm) / expert_parallel;
    const double bytes = layers * bytes_per_parameter + embeddings;
    return {static_cast<std::int64_t>(std::ceil(bytes))};
}

Flops linear_flops(const Llm& llm, Tokens n) {
    return {2.0 * active_parameters(llm) * static_cast<double>(n.value)};
}

double causal_pairs(Tokens cached, Tokens n) {
    const auto earlier = static_cast<double>(cached.value);
    const auto fresh = static_cast<double>(n.value);
    return fresh * earlier + triangle(fresh);
}

double causal_pairs(Tokens cached, Tokens n, Tokens limit) {
    // The first `below` new tokens see fewer keys than the limit, the rest exactly the limit.
    const Tokens below = std::clamp(limit - cached, Tokens{0}, n);
    return causal_pairs(cached, below) +
           static_cast<double>((n - below).value) * static_cast<double>(limit.value);
}

AttentionWork attention_flops(const Llm& llm, Tokens cached, Tokens n) {
    const double per_pair = core_flops_per_pair(llm);
    if (const Indexer* indexer = sparse_indexer(llm)) {
        return {Flops{llm.layers * per_pair * causal_pairs(cached, n, indexer->top_k)},
                Flops{llm.layers * indexer_flops_per_pair(llm) * causal_pairs(cached, n)}};
    }
    if (const SlidingWindow* sliding = sliding_window(llm)) {
        const int slide = llm.layers - sliding->full_layers;
        return {Flops{per_pair * (sliding->full_layers * causal_pairs(cached, n) +
                                  slide * causal_pairs(cached, n, sliding->window))},
                Flops{}};
    }
    return {Flops{llm.layers * per_pair * causal_pairs(cached, n)}, Flops{}};
}

double gb_per_pflop(const Llm& llm, KvDtype dtype, Tokens context, Tokens append) {
    const KvLayout layout = kv_layout(llm, dtype);
    const double with_indexer = static_cast<double>(kv_bytes(llm, dtype, context).value);
    const double bytes = with_indexer * (layout.attention / layout.total());
    // One more token behind context - 1 sees exactly `context` keys.
    const Flops per_token =
        linear_flops(llm, Tokens{1}) + attention_flops(llm, context - Tokens{1}, Tokens{1}).total();
    const double flops = per_token.value * static_cast<double>(append.value);
    return (bytes / 1e9) / (flops / 1e15);
}

}  // namespace dualpath
