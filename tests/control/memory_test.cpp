// Memories and sizes: nothing is promised twice, and KV bytes add up.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "control/memory_ledger.h"
#include "tests/control/small_cluster.h"

namespace dualpath {
namespace {

using namespace literals;

TEST(MemoryLedger, PoolGivesWhatItHasAndNoMore) {
    MemoryPool pool{100_B};
    EXPECT_TRUE(pool.take(60_B));
    EXPECT_FALSE(pool.take(41_B));
    EXPECT_TRUE(pool.take(40_B));
    EXPECT_EQ(pool.free(), 0_B);
    pool.give_back(60_B);
    EXPECT_EQ(pool.used(), 40_B);
}

TEST(MemoryLedger, BuffersAreTakenBothOrNotAtAll) {
    MemoryLedger ledger{{}, {50_B, 100_B}};
    const NodeId prefill{0}, decode{1};
    EXPECT_FALSE(ledger.take_buffers(decode, 100_B, prefill, 51_B));
    EXPECT_EQ(ledger.buffer(decode).used(), 0_B);
    EXPECT_FALSE(ledger.take_buffers(decode, 101_B, prefill, 1_B));
    EXPECT_EQ(ledger.buffer(prefill).used(), 0_B);
    EXPECT_TRUE(ledger.take_buffers(decode, 100_B, prefill, 50_B));
    EXPECT_EQ(ledger.buffer(decode).free() + ledger.buffer(prefill).free(), 0_B);
}

TEST(MemoryLedgerDeathTest, GivingBackTwiceIsABug) {
    MemoryPool pool{100_B};
    EXPECT_DEATH(pool.give_back(1_B), "memory is given back once");
}

TEST(KvSize, IsLinearWithoutSlidingLayers) {
    const KvSize kv = small_kv();
    EXPECT_EQ(kv.of(7_tok), 700_B);
    EXPECT_EQ(kv.after(93_tok, 7_tok), 700_B);
    EXPECT_EQ(kv.resident(7_tok), 1'000_B);
    EXPECT_EQ(kv.resident(10_tok), 1'000_B);
    EXPECT_EQ(kv.layers(), 2);
}

// One layer sees all, one the last 20 tokens, 50 B per token each: 30 tokens are 1,500 + 1,000 B,
// and the 5 after them add to the first layer only.
TEST(KvSize, SlidingLayerHoldsItsWindow) {
    Llm llm = small_llm();
    std::get<Gqa>(llm.attention).sliding = SlidingWindow{.window = 20_tok, .full_layers = 1};
    const KvSize kv{llm, KvDtype::fp8, small_block};
    EXPECT_EQ(kv.of(30_tok), 2'500_B);
    EXPECT_EQ(kv.after(30_tok, 5_tok), 250_B);
}

RC_GTEST_PROP(KvSize, PartsAddUpToTheWhole, ()) {
    Llm llm = small_llm();
    if (*rc::gen::element(false, true)) {
        std::get<Gqa>(llm.attention).sliding = SlidingWindow{.window = 64_tok, .full_layers = 1};
    }
    const KvSize kv{llm, KvDtype::fp8, small_block};
    const Tokens a{*rc::gen::inRange(0, 500)}, b{*rc::gen::inRange(0, 500)};
    RC_ASSERT(kv.of(a) + kv.after(a, b) == kv.of(a + b));
    RC_ASSERT(kv.resident(a) >= kv.of(a));
}

}  // namespace
}  // namespace dualpath
