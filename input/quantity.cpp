// Text with a unit becomes a quantity.
#include "input/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

namespace dualpath {

namespace {

struct Unit {
    std::string_view name;
    double factor;
};

/// One kind of quantity: its name with article, its units, and examples for messages.
struct Kind {
    std::string_view what;
    std::string_view forms;
    std::span<const Unit> units;
};

constexpr double Ki = 1024.0;
constexpr double Mi = Ki * Ki;
constexpr double Gi = Ki * Mi;
constexpr double Ti = Ki * Gi;

constexpr std::array rate_units{
    Unit{"B/s", 1},        Unit{"kB/s", 1e3},     Unit{"KB/s", 1e3},     Unit{"MB/s", 1e6},
    Unit{"GB/s", 1e9},     Unit{"TB/s", 1e12},    Unit{"KiB/s", Ki},     Unit{"MiB/s", Mi},
    Unit{"GiB/s", Gi},     Unit{"TiB/s", Ti},     Unit{"b/s", 1.0 / 8},  Unit{"kb/s", 1e3 / 8},
    Unit{"Kb/s", 1e3 / 8}, Unit{"Mb/s", 1e6 / 8}, Unit{"Gb/s", 1e9 / 8}, Unit{"Tb/s", 1e12 / 8},
    Unit{"Kib/s", Ki / 8}, Unit{"Mib/s", Mi / 8}, Unit{"Gib/s", Gi / 8}, Unit{"Tib/s", Ti / 8},
};
constexpr std::array byte_units{
    Unit{"B", 1},    Unit{"kB", 1e3},  Unit{"KB", 1e3},  Unit{"MB", 1e6},
    Unit{"GB", 1e9}, Unit{"TB", 1e12}, Unit{"PB", 1e15}, Unit{"KiB", Ki},
    Unit{"MiB", Mi}, Unit{"GiB", Gi},  Unit{"TiB", Ti},  Unit{"PiB", Ki* Ti},
};
constexpr std::array duration_units{
    Unit{"ps", 1},   Unit{"ns", 1e3},    Unit{"us", 1e6},    Unit{"ms", 1e9},
    Unit{"s", 1e12}, Unit{"min", 60e12}, Unit{"h", 3600e12},
};
constexpr std::array token_units{
    Unit{"tokens", 1},
    Unit{"token", 1},
    Unit{"K", Ki},
    Unit{"K tokens", Ki},
};
constexpr std::array flops_units{
    Unit{"GFLOPS", 1e9},
    Unit{"TFLOPS", 1e12},
    Unit{"PFLOPS", 1e15},
};

constexpr Kind rate_kind{"a rate",
                         "a rate needs a unit: '400 Gb/s' or '50 GB/s' (b is bit, B is byte; "
                         "G is 1e9, Gi is 2^30)",
                         rate_units};
constexpr Kind byte_kind{"a size",
                         "a size needs a unit: '80 GB', '64 KiB' or '131072 B' (G is 1e9, Gi is "
                         "2^30)",
                         byte_units};
constexpr Kind duration_kind{"a duration",
                             "a duration needs a unit: '10 ns', '5 us', '300 ms', '2 s', '1 min' "
                             "or '1 h'",
                             duration_units};
constexpr Kind token_kind{"a number of tokens",
                          "a number of tokens needs a unit: '64 tokens' or '32K' (K is 1,024)",
                          token_units};
constexpr Kind flops_kind{"a compute rate",
                          "a compute rate needs a unit: '989 TFLOPS' or '2 PFLOPS'", flops_units};

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Parts {
    double number;
    std::string_view unit;
};

/// Splits `12.5e3 GB/s`; throws where no finite number that is not negative stands first.
Parts split(std::string_view text, const Kind& kind, const Place& place) {
    const std::string_view all = trimmed(text);
    const auto refuse = [&](std::string_view why) -> InputError {
        return {place, fmt::format("'{}' {}", text, why), std::string{kind.forms}};
    };
    if (all.size() > 1 && all[0] == '-' && (is_digit(all[1]) || all[1] == '.')) {
        throw refuse("is negative");
    }
    if (all.empty() || !(is_digit(all[0]) || all[0] == '.')) {
        throw refuse("does not start with a number");  // nor are nan and inf numbers here
    }
    double number = 0;
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), number);
    if (error == std::errc::result_out_of_range) throw refuse("is out of range");
    if (error != std::errc{}) throw refuse("does not start with a number");
    return {number, trimmed(all.substr(static_cast<std::size_t>(end - all.data())))};
}

std::string lower(std::string_view text) {
    std::string result{text};
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return result;
}

/// Why `unit` is none of this kind: case, a unit of another kind, or simply unknown.
std::string unit_trouble(std::string_view unit, const Kind& kind) {
    if (unit.empty()) return "has no unit";
    std::string meant;
    for (const Unit& candidate : kind.units) {
        if (lower(candidate.name) != lower(unit)) continue;
        if (!meant.empty()) meant += " or ";
        meant += fmt::format("'{}'", candidate.name);
    }
    if (!meant.empty()) {
        return fmt::format("has the unit '{}': letter case matters, write {}", unit, meant);
    }
    for (const Kind& other : {rate_kind, byte_kind, duration_kind, token_kind, flops_kind}) {
        for (const Unit& candidate : other.units) {
            if (candidate.name == unit) {
                return fmt::format("has the unit '{}', which makes it {}, not {}", unit, other.what,
                                   kind.what);
            }
        }
    }
    return fmt::format("has the unit '{}', which is unknown", unit);
}

/// The value in the kind's base unit, below `limit`.
double parse(std::string_view text, const Kind& kind, const Place& place, Zero zero, double limit,
             std::string_view plain_unit = {}) {
    const Parts parts = split(text, kind, place);
    const std::string_view unit = parts.unit.empty() ? plain_unit : parts.unit;
    for (const Unit& candidate : kind.units) {
        if (candidate.name != unit) continue;
        const double value = parts.number * candidate.factor;
        if (value == 0 && zero == Zero::refused) {
            throw InputError{place, fmt::format("'{}' must be above 0", text),
                             std::string{kind.forms}};
        }
        if (!(value < limit)) {
            throw InputError{place, fmt::format("'{}' is out of range", text),
                             std::string{kind.forms}};
        }
        return value;
    }
    throw InputError{place, fmt::format("'{}' {}", text, unit_trouble(parts.unit, kind)),
                     std::string{kind.forms}};
}

/// Limit of values kept in 64-bit integers: a quarter of their range, so that sums stay inside.
constexpr double integer_limit = 0x1.0p61;
constexpr double rate_limit = 1e18;   // bytes per second
constexpr double flops_limit = 1e21;  // floating-point operations per second

/// Rounded to the nearest whole unit; what is above 0 must not become 0.
std::int64_t whole(double value, std::string_view text, const Kind& kind, const Place& place) {
    const auto rounded = static_cast<std::int64_t>(std::llround(value));
    if (rounded == 0 && value > 0) {
        throw InputError{place, fmt::format("'{}' is too small", text), std::string{kind.forms}};
    }
    return rounded;
}

}  // namespace

BytesPerSecond parse_rate(std::string_view text, const Place& place, Zero zero) {
    return {parse(text, rate_kind, place, zero, rate_limit)};
}

Bytes parse_bytes(std::string_view text, const Place& place, Zero zero) {
    return {whole(parse(text, byte_kind, place, zero, integer_limit), text, byte_kind, place)};
}

Duration parse_duration(std::string_view text, const Place& place, Zero zero) {
    return Duration{
        whole(parse(text, duration_kind, place, zero, integer_limit), text, duration_kind, place)};
}

Tokens parse_tokens(std::string_view text, const Place& place, PlainNumber plain, Zero zero) {
    const std::string_view unit = plain == PlainNumber::allowed ? "tokens" : "";
    const double value = parse(text, token_kind, place, zero, integer_limit, unit);
    if (value != std::floor(value)) {
        throw InputError{place, fmt::format("'{}' is not a whole number of tokens", text),
                         std::string{token_kind.forms}};
    }
    return {static_cast<std::int64_t>(value)};
}

FlopsPerSecond parse_flops(std::string_view text, const Place& place, Zero zero) {
    return {parse(text, flops_kind, place, zero, flops_limit)};
}

}  // namespace dualpath
