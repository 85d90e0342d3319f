// A language model as facts, and what follows from them: KV bytes, weights, FLOPs.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"

namespace dualpath {

/// DeepSeek Sparse Attention: a light scorer picks the keys each query attends to.
struct Indexer {
    int heads;
    int dim;
    Tokens top_k;  ///< keys attended per query; the indexer itself scans all of them
};

/// Multi-head latent attention: one compressed vector per token and layer, shared by all heads.
struct Mla {
    int heads;
    int kv_lora_rank;
    int rope_dim;
    int nope_dim;  ///< per head, the part of query and key without position
    int v_dim;     ///< per head
    std::optional<int> q_lora_rank;
    std::optional<Indexer> indexer;
};

struct SlidingWindow {
    Tokens window;    ///< keys a query sees in a sliding layer, itself included
    int full_layers;  ///< layers that see everything; the others slide
};

/// Grouped-query attention (multi-head where kv_heads equals heads). `head_dim` is a fact of its
/// own: hidden / heads is wrong for half of the models.
struct Gqa {
    int heads;
    int kv_heads;
    int head_dim;
    std::optional<SlidingWindow> sliding;
};

using Attention = std::variant<Mla, Gqa>;

struct Moe {
    int routed;  ///< experts per layer among which `active` are picked per token
    int shared;  ///< experts every token passes
    int active;
    int expert_ffn;  ///< inner width of one expert, routed or shared
};

struct Llm {
    std::string name;
    std::vector<std::string> aliases;
    int layers;
    int dense_layers;  ///< the first of them, with a dense feed-forward; all where `moe` is absent
    int hidden;
    int dense_ffn;  ///< inner width; 0 where no layer is dense
    int vocab;
    bool tied_embeddings;  ///< input embedding and output head are one matrix
    Attention attention;
    std::optional<Moe> moe;
    double weight_bytes_per_parameter;  ///< as published: 1 is fp8, 2 is bf16
    Tokens max_context;
};

enum class KvDtype { bf16, fp8 };

/// Bytes of one token in one layer. GQA: 2 * kv_heads * head_dim elements of 2 or 1 B. MLA bf16:
/// (kv_lora + rope) * 2. MLA fp8 is FlashMLA's `fp8_ds_mla`: kv_lora * 1 + a 4 B scale per 128
/// values + rope * 2 (512/64: 656). The indexer's key is fp8 in both: dim * 1 + a 4 B scale per
/// 128 values (dim 128: 132; SGLang and TensorRT-LLM pools).
struct KvLayout {
    Bytes attention;
    Bytes indexer;
    Bytes total() const { return attention + indexer; }
};
KvLayout kv_layout(const Llm& llm, KvDtype dtype);

/// KV-Cache of a sequence of `n` tokens, all layers, one copy, no block rounding. Not linear in n
/// where layers slide: those hold min(n, window).
Bytes kv_bytes(const Llm& llm, KvDtype dtype, Tokens n);
/// False where layers slide.
bool kv_is_linear(const Llm& llm);
/// All layers, for a model linear in n; calling it for another is a bug.
BytesPerToken kv_bytes_per_token(const Llm& llm, KvDtype dtype);
/// One layer of `block_tokens` tokens: the paper's Layer Block.
Bytes layer_block_bytes(const Llm& llm, KvDtype dtype, Tokens block_tokens);

/// Copies of each KV value that `tp` ranks hold together: MLA's latent is on every rank; a GQA
/// head is repeated where ranks outnumber heads (vLLM PR 19691).
int kv_replication(const Llm& llm, int tp);
/// What one of `tp` ranks keeps in HBM for `n` tokens.
Bytes kv_bytes_resident_per_rank(const Llm& llm, KvDtype dtype, Tokens n, int tp);
/// What all `tp` ranks receive for `n` tokens.
Bytes kv_bytes_wire(const Llm& llm, KvDtype dtype, Tokens n, int tp);

/// The model's DSA indexer / sliding window; null where it has none.
const Indexer* sparse_indexer(const Llm& llm);
const SlidingWindow* sliding_window(const Llm& llm);

/// Layers whose feed-forward is a mixture of experts.
int moe_layers(const Llm& llm);

// Parameters, without norms and biases (below 0.01 %).
double parameters(const Llm& llm);
/// One expert, routed or shared: three matrices (gate, up, down); 0 without MoE.
double parameters_per_expert(const Llm& llm);
/// All routed experts of all layers.
double expert_parameters(const Llm& llm);
/// Input embedding and output head (once when tied).
double embedding_parameters(const Llm& llm);
/// Output head alone: what every produced token passes.
double head_parameters(const Llm& llm);
/// Neither routed experts nor embeddings: attention, dense and shared feed-forward, router.
double replicated_parameters(const Llm& llm);
/// What one token passes through: routed experts `active` of `routed`, no input embedding, with
/// the output head.
double active_parameters(const Llm& llm);
/// Weights on one GPU: routed experts divided over `expert_parallel` ranks (of the fullest where
/// they do not divide); embedding and output head, always bf16, too (vocabulary-parallel, as SGLang
/// and vLLM do); everything else whole on each (data-parallel attention).
Bytes weight_bytes_per_gpu(const Llm& llm, int expert_parallel, double bytes_per_parameter);

/// 2 * active parameters * n (one multiply and one add per parameter and token).
Flops linear_flops(const Llm& llm, Tokens n);

struct AttentionWork {
    Flops core;     ///< scores and weighted values
    Flops indexer;  ///< the indexer's scores over all keys; 0 without one
    Flops total() const { return core + indexer; }
};

/// Per pair of query and key and layer: GQA 4 * heads * head_dim; MLA absorbed
/// heads * (2 * (kv_lora + rope) + 2 * kv_lora), which is 2,176 per head at 512/64.
double core_flops_per_pair(const Llm& llm);
/// Likewise for the indexer: 2 * heads * dim; 0 without one.
double indexer_flops_per_pair(const Llm& llm);

/// Attention of `n` new tokens behind `cached` earlier ones, causal, summed over all layers: new
/// token i (1-based) sees cached + i keys, or as many as top_k or the window allows; the indexer
/// sees all of them.
AttentionWork attention_flops(const Llm& llm, Tokens cached, Tokens n);

/// Sum over i = 1..n of min(cached + i, limit): pairs of query and key under the causal mask.
double causal_pairs(Tokens cached, Tokens n, Tokens limit);
/// The same without a limit.
double causal_pairs(Tokens cached, Tokens n);

/// The paper's Table 1: GB (1e9) of attention KV of `context` tokens, without the indexer's keys,
/// per PFLOP of computing `append` tokens behind them, each taken to see `context` keys.
double gb_per_pflop(const Llm& llm, KvDtype dtype, Tokens context, Tokens append);

}  // namespace dualpath
