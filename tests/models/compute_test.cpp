// Times of attention, layers, collectives and decode steps, against hand-derived numbers.
#include "models/compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "models/catalog.h"

namespace dualpath {
namespace {

using namespace std::chrono_literals;
using namespace dualpath::literals;

const std::filesystem::path catalog = "models/catalog";

ComputeFacts facts(std::string_view model, std::string_view calibration, int prefill_ep,
                   int decode_ep) {
    const Llm llm = load_llm(catalog, model);
    return {.llm = llm,
            .gpu = load_gpu(catalog, "h800-sxm"),
            .calibration = load_calibration(catalog, calibration),
            .kv_dtype = llm.moe ? KvDtype::fp8 : KvDtype::bf16,
            .weight_bytes_per_parameter = llm.weight_bytes_per_parameter,
            .prefill_ep = prefill_ep,
            .decode_ep = decode_ep,
            .gpus_per_node = 8,
            .cnic = 50_GBps};
}

ComputeModel ds660b(std::string_view calibration = "default") {
    return ComputeModel{facts("ds-660b", calibration, 16, 32)};
}

double us(Duration duration) { return to_seconds(duration) * 1e6; }

// Core 61 * 128 * 2176 * 264 * 2048 = 9.1863e12, indexer 61 * 16384 * 9,538,980 = 9.5336e12 FLOP
// (264 * 36,000 + 264 * 265 / 2 pairs), at 0.22 * 989e12 per second: 86.04 ms. Three such chunks
// fill the quota of 300 ms, a fourth does not fit.
TEST(PrefillAttention, IsFlopsAtTheCalibratedRate) {
    EXPECT_NEAR(us(ds660b().prefill_attention(36'000_tok, 264_tok)), 86'036, 10);
}

TEST(PrefillAttention, FewHeadsCostAsMuchAs128) {
    // DS 27B has 32 heads: the core counts four times, the indexer once.
    const AttentionWork work = attention_flops(load_llm(catalog, "ds-27b"), 36'000_tok, 264_tok);
    const ComputeModel model{facts("ds-27b", "default", 8, 8)};
    EXPECT_NEAR(us(model.prefill_attention(36'000_tok, 264_tok)),
                (4 * work.core.value + work.indexer.value) / (0.22 * 989e12) * 1e6, 0.001);
}

// Ideal, one H800, bf16: a layer has 4096 * 128 * 2 * (32 + 8) + 3 * 4096 * 14336 = 218,103,808
// parameters; 2 * that * 8192 tokens = 3.57341279e12, / 989e12 = 3,613.158 us. For one token the
// weights' reading counts: 436,207,616 B / 3.35e12 = 130.211 us.
TEST(PrefillSharedLayer, IsTheLongerOfComputingAndReadingWeights) {
    const ComputeModel model{facts("llama-3.1-8b", "ideal", 1, 1)};
    EXPECT_NEAR(us(model.prefill_shared_layer(8'192_tok, 8'192_tok)), 3'613.158, 0.001);
    EXPECT_NEAR(us(model.prefill_shared_layer(1_tok, 1_tok)), 130.211, 0.001);
    EXPECT_EQ(model.prefill_collective_bytes(8'192_tok), 0_B);
    EXPECT_EQ(model.prefill_collective_layer(8'192_tok), Duration{});
}

// EP 16 is two nodes. A token with 8 experts wants the other node with probability 1 - 2^-8;
// 3 B * 7168 * 58 layers = 1,247,232 B each: 1000 tokens send 1,242,360,000 B (0.99609 of it).
TEST(Collectives, PrefillSendsATokenOncePerRemoteNode) {
    const Bytes sent = ds660b().prefill_collective_bytes(1'000_tok);
    EXPECT_NEAR(static_cast<double>(sent.value), 1'247'232'000.0 * 255 / 256, 1);
    EXPECT_NEAR(ds660b().prefill_collective_rate(1'000_tok, Duration{1s}).value,
                static_cast<double>(sent.value), 1);
}

// Over NVLink: 16 * (1 - (15/16)^8) = 6.4527 GPUs want a token, 7/8 of them others of the node;
// 3 B * 7168 * 58/61 * 5.6461 = 115,443 B at 150 GB/s, against 20,366 B at 45 GB/s.
TEST(Collectives, ThePrefillStageThatTakesLongerShows) {
    EXPECT_NEAR(us(ds660b().prefill_collective_layer(1'000_tok)), 769.6, 0.5);
}

// EP 32 is four nodes: 8 copies, 3/4 of them leave; 8 * 3/4 * 3 * 7168 * 58 = 7,483,392 B.
TEST(Collectives, DecodeSendsACopyPerRoutedExpert) {
    EXPECT_EQ(ds660b().decode_collective_bytes(1).value, 7'483'392);
    // 16 sequences: 16 * 7,483,392 / 61 layers / 45 GB/s = 43.62 us.
    EXPECT_NEAR(us(ds660b().decode_collective_layer(16)), 43.62, 0.01);
    EXPECT_NEAR(ds660b().decode_collective_rate(16, Duration{40ms}).value, 2.9934e9, 1e6);
}

TEST(Collectives, AGroupInsideOneNodeLeavesTheCnicIdle) {
    const ComputeModel model{facts("ds-27b", "default", 8, 8)};
    EXPECT_EQ(model.prefill_collective_bytes(1'000_tok), 0_B);
    EXPECT_EQ(model.decode_collective_bytes(16), 0_B);
    EXPECT_GT(model.decode_collective_layer(16), Duration{});  // NVLink
}

// Ideal, one H800: 32 layers of 130.211 us (weights) and 1000 * 4096 B / 3.35e12 = 1.2227 us (KV),
// then the head 128256 * 4096 * 2 B / 3.35e12 = 313.634 us: 4,519.5 us.
TEST(DecodeStep, OfOneSequenceReadsWeightsAndKv) {
    const ComputeModel model{facts("llama-3.1-8b", "ideal", 1, 1)};
    const RankLoad load{.sequences = 1, .context_tokens = 1'000_tok};
    EXPECT_NEAR(us(model.decode_step(std::span{&load, 1})), 4'519.5, 0.1);
}

// 16 sequences of 33 * 1024: core 16 * 2048 * 128 * 2176 = 9.1268e9, indexer 16 * 33792 * 16384 =
// 8.8584e9 FLOP at 0.11 * 989e12 per second: 165.32 us; reading KV takes 34 us.
TEST(DecodeStep, AttentionOfDeepSeekIsBoundByComputing) {
    EXPECT_NEAR(us(ds660b().decode_attention_layer({16, Tokens{16 * 33'792}})), 165.32, 0.01);
}

// The paper measures 30.7 ms per token at light load and 49.4 ms at the limit.
TEST(DecodeStep, OfTheLoadedPaperClusterLiesInTheMeasuredRange) {
    const std::vector<RankLoad> ranks(32, {16, Tokens{16 * 33'792}});
    const Duration step = ds660b().decode_step(ranks);
    EXPECT_GT(step, Duration{30ms});
    EXPECT_LT(step, Duration{50ms});
}

TEST(DecodeStep, LastsAsLongAsTheSlowestRank) {
    const ComputeModel model = ds660b();
    std::vector<RankLoad> ranks(32, {16, Tokens{16 * 10'000}});
    const Duration even = model.decode_step(ranks);
    ranks[7].context_tokens = Tokens{16 * 60'000};
    const Duration uneven = model.decode_step(ranks);
    const Duration more =
        model.decode_attention_layer(ranks[7]) - model.decode_attention_layer(ranks[0]);
    EXPECT_EQ(uneven - even, more * 61);
    EXPECT_EQ(uneven, model.decode_step(model.decode_attention_layer(ranks[7]), 16, 512));
}

TEST(DecodeStep, FewTokensTouchFewExperts) {
    // Ideal, EP 32: one token touches 8 of 256 experts; 512 tokens nearly all. A rank's experts
    // weigh 8 * 44,040,192 * 58 / 61 B a mean layer: 100.0 us at 3.35 TB/s.
    const ComputeModel model = ds660b("ideal");
    const double one = us(model.decode_shared_layer(1, 1) - model.decode_collective_layer(1));
    const double many = us(model.decode_shared_layer(16, 512) - model.decode_collective_layer(16));
    EXPECT_NEAR(many - one, 99.997 * (1 - 8.0 / 256), 0.01);
}

TEST(KvSpace, IsWhatReserveAndWeightsLeave) {
    const Gpu gpu = load_gpu(catalog, "h800-sxm");
    const Calibration calibration = load_calibration(catalog, "default");
    const Llm llm = load_llm(catalog, "ds-660b");
    // 72 - 9 - 36.665 = 26.335 GB: 16 requests of 33,000 tokens at 48,068 B.
    const Bytes space = kv_space_per_gpu(gpu, calibration, weight_bytes_per_gpu(llm, 32, 1));
    EXPECT_EQ(space.value, 26'334'737'920);
    EXPECT_EQ(space.value / kv_bytes(llm, KvDtype::fp8, 33'000_tok).value, 16);
    EXPECT_LT(kv_space_per_gpu(gpu, calibration, weight_bytes_per_gpu(llm, 8, 1)), 0_B);
}

TEST(ComputeModel, RefusesWhatTheHardwareOrModelCannotDo) {
    ComputeFacts no_fp8 = facts("ds-660b", "default", 16, 32);
    no_fp8.gpu = load_gpu(catalog, "a100-sxm");
    EXPECT_THROW(ComputeModel{no_fp8}, InputError);
    EXPECT_THROW(ComputeModel{facts("llama-3.1-8b", "default", 2, 1)}, InputError);
    EXPECT_THROW(ComputeModel{facts("ds-27b", "default", 8, 128)}, InputError);
}

RC_GTEST_PROP(ComputeModel, MoreWorkNeverTakesLessTime, ()) {
    static const std::vector<ComputeModel> models{
        ds660b(), ds660b("ideal"), ComputeModel{facts("ds-27b", "default", 8, 8)},
        ComputeModel{facts("qwen-32b", "default", 1, 1)},
        ComputeModel{facts("gpt-oss-120b", "ideal", 8, 8)}};
    const ComputeModel& model = models[*rc::gen::inRange<std::size_t>(0, models.size())];
    const Tokens cached{*rc::gen::inRange<std::int64_t>(0, 100'000)};
    const Tokens n{*rc::gen::inRange<std::int64_t>(0, 20'000)};
    const Tokens extra{*rc::gen::inRange<std::int64_t>(0, 1'000)};
    RC_ASSERT(model.prefill_attention(cached, n + extra) >= model.prefill_attention(cached, n));
    RC_ASSERT(model.prefill_attention(cached + extra, n) >= model.prefill_attention(cached, n));
    RC_ASSERT(model.prefill_shared_layer(n + extra, n * 8) >= model.prefill_shared_layer(n, n * 8));
    RC_ASSERT(model.prefill_shared_layer(n, n + extra) >= model.prefill_shared_layer(n, n));

    const int sequences = *rc::gen::inRange(1, 100);
    const RankLoad light{sequences, cached + Tokens{sequences}};
    const RankLoad longer{sequences, light.context_tokens + extra};
    RC_ASSERT(model.decode_attention_layer(longer) >= model.decode_attention_layer(light));
    RC_ASSERT(model.decode_shared_layer(sequences + 1, 8 * sequences + 1) >=
              model.decode_shared_layer(sequences, 8 * sequences));
}

}  // namespace
}  // namespace dualpath
