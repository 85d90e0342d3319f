// Random numbers: one seed, one named stream per use, our own distributions.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string_view>

namespace dualpath {

struct Seed {
    std::uint64_t value = 1;
};

/// A stream of random numbers. The engine is fixed by the standard; the standard's distributions
/// are not, so the ones used are written here. A new draw in one stream never moves another.
class Rng {
public:
    Rng(Seed seed, std::string_view stream) : engine_{mix(seed.value ^ hash(stream))} {}

    /// Uniform in [0, 1), 53 bits.
    double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

    /// Uniform in [0, n); n must be above 0. Rejection keeps it exact.
    std::uint64_t below(std::uint64_t n) {
        const std::uint64_t limit = n * (UINT64_MAX / n);
        std::uint64_t draw = engine_();
        while (draw >= limit) draw = engine_();
        return draw % n;
    }

    /// Exponential with the given mean, by inversion.
    double exponential(double mean) { return -mean * std::log1p(-uniform()); }

    /// Standard normal, Box-Muller (one of the pair, so that the stream has no hidden state).
    double normal() {
        const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
        return radius * std::cos(2.0 * std::numbers::pi * uniform());
    }

    /// Log-normal with the given median and sigma of the logarithm.
    double log_normal(double median, double sigma) { return median * std::exp(sigma * normal()); }

private:
    static std::uint64_t hash(std::string_view text) {  // FNV-1a, 64 bit
        std::uint64_t h = 0xcbf29ce484222325U;
        for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        return h;
    }
    static std::uint64_t mix(std::uint64_t z) {  // splitmix64 finaliser
        z += 0x9e3779b97f4a7c15U;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    std::mt19937_64 engine_;
};

}  // namespace dualpath
