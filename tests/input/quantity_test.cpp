// Text with a unit becomes a quantity.
#include "input/quantity.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dualpath {
namespace {

using namespace std::chrono_literals;
using namespace dualpath::literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& read) {
    try {
        read();
    } catch (const InputError& error) {
        return error.what();
    }
    return "(no error)";
}

std::string rate_error(std::string_view text) {
    return error_of([&] { parse_rate(text, {"f.yaml", 7, "node.snic"}); });
}

TEST(Quantity, RatesKeepBitsAndBytesDecimalAndBinaryApart) {
    EXPECT_EQ(parse_rate("400 Gb/s"), 50_GBps);  // 400e9 bit / 8
    EXPECT_EQ(parse_rate("50 GB/s"), 50_GBps);
    EXPECT_EQ(parse_rate("50GB/s"), 50_GBps);
    EXPECT_EQ(parse_rate("3.35 TB/s").value, 3.35e12);
    EXPECT_EQ(parse_rate("46.5 GiB/s").value, 46.5 * 1073741824.0);
    EXPECT_EQ(parse_rate("1 Gib/s").value, 134217728.0);  // 2^30 / 8
    EXPECT_EQ(parse_rate("8 Mb/s").value, 1e6);
}

TEST(Quantity, SizesAreWholeBytes) {
    EXPECT_EQ(parse_bytes("80 GB"), 80_GB);
    EXPECT_EQ(parse_bytes("64 KiB"), Bytes{65536});
    EXPECT_EQ(parse_bytes("131072 B"), Bytes{131072});
    EXPECT_EQ(parse_bytes("1.5 TB"), 1500_GB);
    EXPECT_EQ(parse_bytes("0 GB", {}, Zero::allowed), Bytes{0});
}

TEST(Quantity, DurationsAreWholePicoseconds) {
    EXPECT_EQ(parse_duration("300 ms"), Duration{300ms});
    EXPECT_EQ(parse_duration("0.4 us"), Duration{400ns});
    EXPECT_EQ(parse_duration("2 s"), Duration{2s});
    EXPECT_EQ(parse_duration("1 min"), Duration{60s});
    EXPECT_EQ(parse_duration("1 h"), Duration{3600s});
    EXPECT_EQ(parse_duration("10 ns"), Duration{10ns});
}

TEST(Quantity, KOfTokensIs1024) {
    EXPECT_EQ(parse_tokens("64 tokens"), 64_tok);
    EXPECT_EQ(parse_tokens("1 token"), 1_tok);
    EXPECT_EQ(parse_tokens("32K"), 32768_tok);
    EXPECT_EQ(parse_tokens("32K tokens"), 32768_tok);
    EXPECT_EQ(parse_tokens("64", {}, PlainNumber::allowed), 64_tok);
    EXPECT_THAT(error_of([] { parse_tokens("64"); }), HasSubstr("has no unit"));
    EXPECT_THAT(error_of([] { parse_tokens("1.5 tokens"); }), HasSubstr("not a whole number"));
    EXPECT_THAT(error_of([] { parse_tokens("32k"); }), HasSubstr("write 'K'"));
}

TEST(Quantity, ComputeRatesAreInFlops) {
    EXPECT_EQ(parse_flops("989 TFLOPS").value, 989e12);
    EXPECT_EQ(parse_flops("2 PFLOPS").value, 2e15);
    EXPECT_THAT(error_of([] { parse_flops("989"); }), HasSubstr("'989 TFLOPS' or '2 PFLOPS'"));
}

TEST(Quantity, AnErrorNamesPlaceTroubleAndAllowedForms) {
    EXPECT_THAT(rate_error("400"),
                ::testing::StartsWith("f.yaml:7: node.snic: '400' has no unit; a rate needs a "
                                      "unit: '400 Gb/s' or '50 GB/s'"));
}

TEST(Quantity, AWrongOrDoubtfulUnitIsRefusedWithAHint) {
    EXPECT_THAT(rate_error("50 GB"), HasSubstr("'GB', which makes it a size, not a rate"));
    EXPECT_THAT(rate_error("50 gb/s"), HasSubstr("case matters, write 'GB/s' or 'Gb/s'"));
    EXPECT_THAT(rate_error("400 Gbps"), HasSubstr("'Gbps', which is unknown"));
    EXPECT_THAT(rate_error("4 5 GB/s"), HasSubstr("'5 GB/s', which is unknown"));
    EXPECT_THAT(error_of([] { parse_bytes("50 GB/s"); }), HasSubstr("a rate, not a size"));
    EXPECT_THAT(error_of([] { parse_bytes("80 gb"); }), HasSubstr("write 'GB'"));
    EXPECT_THAT(error_of([] { parse_duration("5 GB"); }), HasSubstr("a size, not a duration"));
    EXPECT_THAT(error_of([] { parse_duration("5 m"); }), HasSubstr("'m', which is unknown"));
}

TEST(Quantity, NumbersThatAreNoAmountAreRefused) {
    EXPECT_THAT(rate_error("-5 GB/s"), HasSubstr("is negative"));
    for (const auto* text : {"nan GB/s", "inf GB/s", "-inf GB/s", "", "GB/s", "fast", "+5 GB/s"}) {
        EXPECT_THAT(rate_error(text), HasSubstr("does not start with a number")) << text;
    }
    EXPECT_THAT(rate_error("0 GB/s"), HasSubstr("must be above 0"));
    EXPECT_THAT(rate_error("1e400 GB/s"), HasSubstr("out of range"));
    EXPECT_THAT(rate_error("1e300 GB/s"), HasSubstr("out of range"));
    EXPECT_THAT(error_of([] { parse_bytes("10000 PiB"); }), HasSubstr("out of range"));
    EXPECT_THAT(error_of([] { parse_bytes("0.1 B"); }), HasSubstr("too small"));
    EXPECT_THAT(error_of([] { parse_duration("1000 h"); }), HasSubstr("out of range"));
}

// Whole numbers of every unit come back exactly: below 2^53 doubles hold them.
RC_GTEST_PROP(Quantity, WholeAmountsSurviveBeingWrittenAndRead, ()) {
    const std::vector<std::pair<std::string, std::int64_t>> units{
        {"B", 1},         {"kB", 1'000},    {"MB", 1'000'000}, {"GB", 1'000'000'000},
        {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    const auto n = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
    const auto& [unit, factor] = *rc::gen::elementOf(units);
    RC_ASSERT(parse_bytes(fmt::format("{} {}", n, unit)) == Bytes{n * factor});
    RC_ASSERT(parse_rate(fmt::format("{}{}/s", n, unit)).value == static_cast<double>(n * factor));
    RC_ASSERT(parse_tokens(fmt::format("{} tokens", n)) == Tokens{n});
    RC_ASSERT(parse_duration(fmt::format("{} us", n)) == Duration{std::chrono::microseconds{n}});
}

RC_GTEST_PROP(Quantity, AnyTextIsReadOrRefusedNeverWorse, ()) {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string{"0123456789.-+eE KMGTibBs/mnuhLOPSF"}));
    try {
        RC_ASSERT(parse_rate(text).value > 0);
    } catch (const InputError&) {
    }
    try {
        RC_ASSERT(parse_duration(text, {}, Zero::allowed) >= Duration{});
    } catch (const InputError&) {
    }
}

}  // namespace
}  // namespace dualpath
