// Text with a unit becomes a quantity; a missing, wrong or doubtful unit is refused.
#pragma once

#include <string_view>

#include "base/input_error.h"
#include "base/units.h"

namespace dualpath {

/// Whether `0` (with its unit) is a meaningful value of the field.
enum class Zero { refused, allowed };
/// Whether a number of tokens may stand without the word `tokens`.
enum class PlainNumber { refused, allowed };

// All of these throw InputError at `place`, with the allowed forms in the message, when the number
// is missing, negative, not finite or too large, or the unit is missing or not of the kind wanted.
// Letter case matters: b is bit, B is byte, k and K are 1e3 (KiB is 1,024), G is 1e9, Gi is 2^30.

/// `400 Gb/s`, `50 GB/s`, `46.6 GiB/s`.
BytesPerSecond parse_rate(std::string_view text, const Place& place = {},
                          Zero zero = Zero::refused);
/// `80 GB`, `64 KiB`, `131072 B`; rounded to the nearest whole byte.
Bytes parse_bytes(std::string_view text, const Place& place = {}, Zero zero = Zero::refused);
/// `300 ms`, `5 us`, `2 s`, `1 min`, `1 h`, `10 ns`, `7 ps`; rounded to the nearest picosecond.
Duration parse_duration(std::string_view text, const Place& place = {}, Zero zero = Zero::refused);
/// `64 tokens`, `32K` (K = 1,024), `32K tokens`; `64` only where the caller allows it.
Tokens parse_tokens(std::string_view text, const Place& place = {},
                    PlainNumber plain = PlainNumber::refused, Zero zero = Zero::refused);
/// `989 TFLOPS`, `2 PFLOPS`, `500 GFLOPS`: floating-point operations per second.
FlopsPerSecond parse_flops(std::string_view text, const Place& place = {},
                           Zero zero = Zero::refused);

}  // namespace dualpath
