// A model's YAML file becomes an Llm, section by section, each with its source.
#include "models/llm_reader.h"

#include <array>
#include <string_view>

namespace dualpath {

namespace {

constexpr int widest = 1 << 24;  // limit of any width or count: products stay inside 64 bits

int width(YamlMap& yaml, std::string_view key) { return yaml.count(key, 1, widest); }

Mla read_mla(YamlMap& yaml) {
    Mla mla;
    mla.heads = width(yaml, "heads");
    mla.kv_lora_rank = width(yaml, "kv_lora_rank");
    mla.rope_dim = width(yaml, "rope_dim");
    mla.nope_dim = width(yaml, "nope_dim");
    mla.v_dim = width(yaml, "v_dim");
    mla.q_lora_rank = yaml.optional_count("q_lora_rank", 1, widest);
    if (auto indexer = yaml.optional_map("indexer")) {
        mla.indexer = Indexer{.heads = width(*indexer, "heads"),
                              .dim = width(*indexer, "dim"),
                              .top_k = indexer->tokens("top_k")};
        indexer->finish();
    }
    return mla;
}

Gqa read_gqa(YamlMap& yaml, int layers) {
    Gqa gqa;
    gqa.heads = width(yaml, "heads");
    gqa.kv_heads = yaml.count("kv_heads", 1, gqa.heads);
    gqa.head_dim = width(yaml, "head_dim");
    if (gqa.heads % gqa.kv_heads != 0) {
        throw InputError{yaml.value("kv_heads").place(), "does not divide heads"};
    }
    if (auto sliding = yaml.optional_map("sliding")) {
        gqa.sliding = SlidingWindow{.window = sliding->tokens("window"),
                                    .full_layers = sliding->count("full_layers", 0, layers)};
        sliding->finish();
    }
    return gqa;
}

Attention read_attention(YamlMap yaml, int layers) {
    static constexpr std::array<std::string_view, 2> kinds{"mla", "gqa"};
    yaml.text("source");
    const bool is_mla = yaml.one_of("kind", kinds) == "mla";
    Attention attention = is_mla ? Attention{read_mla(yaml)} : Attention{read_gqa(yaml, layers)};
    yaml.finish();
    return attention;
}

Moe read_moe(YamlMap yaml) {
    yaml.text("source");
    Moe moe;
    moe.routed = width(yaml, "routed");
    moe.shared = yaml.count("shared", 0, widest);
    moe.active = yaml.count("active", 1, moe.routed);
    moe.expert_ffn = width(yaml, "expert_ffn");
    yaml.finish();
    return moe;
}

void read_shape(YamlMap yaml, Llm& llm) {
    yaml.text("source");
    llm.layers = yaml.count("layers", 1, 10'000);
    llm.dense_layers = yaml.count("dense_layers", 0, llm.layers);
    llm.hidden = width(yaml, "hidden");
    llm.dense_ffn = llm.dense_layers > 0 ? width(yaml, "dense_ffn") : 0;
    llm.vocab = width(yaml, "vocab");
    llm.tied_embeddings = yaml.boolean("tied_embeddings");
    llm.max_context = yaml.tokens("max_context");
    llm.weight_bytes_per_parameter = yaml.real("weight_bytes_per_parameter", 0.25, 4);
    yaml.finish();
}

}  // namespace

Llm read_llm(YamlMap& yaml) {
    Llm llm;
    llm.name = yaml.text("name");
    for (const YamlValue& alias : yaml.optional_list("aliases")) {
        llm.aliases.push_back(alias.text());
    }
    yaml.optional_text("note");
    read_shape(yaml.map("shape"), llm);
    llm.attention = read_attention(yaml.map("attention"), llm.layers);
    if (auto moe = yaml.optional_map("moe")) llm.moe = read_moe(std::move(*moe));
    if (!llm.moe && llm.dense_layers != llm.layers) {
        throw InputError{yaml.map("shape").value("dense_layers").place(),
                         "without a moe section every layer is dense",
                         "dense_layers must equal layers"};
    }
    if (llm.moe && llm.dense_layers == llm.layers) {
        throw InputError{yaml.map("shape").value("dense_layers").place(),
                         "the moe section has no layer left", "dense_layers must be below layers"};
    }
    yaml.finish();
    return llm;
}

}  // namespace dualpath
