// Quantities as types: bytes, tokens, rates, durations; only physics is defined on them.
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>

namespace dualpath {

/// An additive quantity. Quantities of one kind add, compare and scale; nothing else is defined
/// unless an operator below says so, so that bytes plus tokens does not compile.
template <class Tag, class Rep>
struct Quantity {
    using rep = Rep;
    Rep value{};

    constexpr auto operator<=>(const Quantity&) const = default;
    constexpr Quantity operator-() const { return {static_cast<Rep>(-value)}; }
    constexpr Quantity& operator+=(Quantity other) {
        value += other.value;
        return *this;
    }
    constexpr Quantity& operator-=(Quantity other) {
        value -= other.value;
        return *this;
    }
    friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
    friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
    friend constexpr Quantity operator*(Quantity a, Rep n) { return {a.value * n}; }
    friend constexpr Quantity operator*(Rep n, Quantity a) { return {n * a.value}; }
    friend constexpr Quantity operator/(Quantity a, Rep n) { return {a.value / n}; }
    /// Ratio of two quantities of one kind: a plain number.
    friend constexpr double operator/(Quantity a, Quantity b) {
        return static_cast<double>(a.value) / static_cast<double>(b.value);
    }
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Tokens = Quantity<struct TokensTag, std::int64_t>;
using BytesPerToken = Quantity<struct BytesPerTokenTag, std::int64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using Flops = Quantity<struct FlopsTag, double>;  ///< a count of floating-point operations
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

/// int64 picoseconds: 106 days, and one byte at 50 GB/s is 20 of them.
using Duration = std::chrono::duration<std::int64_t, std::pico>;

/// A clock nobody can read: it has no now(). Time only arrives with an event.
struct RunClock {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<RunClock>;
    static constexpr bool is_steady = true;
};
/// A point of run time; the run starts at Instant{}.
using Instant = std::chrono::time_point<RunClock>;

constexpr Bytes operator*(Tokens n, BytesPerToken size) { return {n.value * size.value}; }
constexpr Bytes operator*(BytesPerToken size, Tokens n) { return n * size; }

/// Seconds as a double, for statistics and rates only; run time itself stays integer.
constexpr double to_seconds(Duration d) { return static_cast<double>(d.count()) * 1e-12; }
constexpr double to_seconds(Instant at) { return to_seconds(at.time_since_epoch()); }

/// Rounded up to the next picosecond: nothing is ever early.
inline Duration from_seconds(double seconds) {
    return Duration{static_cast<std::int64_t>(std::ceil(seconds * 1e12))};
}

/// Time to move `size` at `rate`, rounded up: a transfer is never early. Multiplying first keeps
/// whole results whole (50 B at 50 GB/s is 1000 ps, not 1001).
inline Duration operator/(Bytes size, BytesPerSecond rate) {
    return Duration{
        static_cast<std::int64_t>(std::ceil(static_cast<double>(size.value) * 1e12 / rate.value))};
}
/// Time to compute `work` at `rate`, rounded up.
inline Duration operator/(Flops work, FlopsPerSecond rate) {
    return Duration{static_cast<std::int64_t>(std::ceil(work.value * 1e12 / rate.value))};
}
/// Mean rate of `size` moved in `d`.
inline BytesPerSecond operator/(Bytes size, Duration d) {
    return {static_cast<double>(size.value) / to_seconds(d)};
}

/// Whole blocks: the largest multiple of `block` not above `n` (a partial block is recomputed).
constexpr Tokens floor_to(Tokens n, Tokens block) { return {n.value / block.value * block.value}; }
/// Whole blocks: the smallest multiple of `block` not below `n` (a partial block occupies one).
constexpr Tokens ceil_to(Tokens n, Tokens block) {
    return {(n.value + block.value - 1) / block.value * block.value};
}

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KB(unsigned long long n) { return Bytes{1'000} * std::int64_t(n); }
constexpr Bytes operator""_MB(unsigned long long n) { return Bytes{1'000'000} * std::int64_t(n); }
constexpr Bytes operator""_GB(unsigned long long n) {
    return Bytes{1'000'000'000} * std::int64_t(n);
}
constexpr Tokens operator""_tok(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr BytesPerSecond operator""_GBps(unsigned long long n) {
    return {static_cast<double>(n) * 1e9};
}
constexpr BytesPerSecond operator""_GBps(long double n) { return {static_cast<double>(n) * 1e9}; }
}  // namespace literals

}  // namespace dualpath
