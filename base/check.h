// CHECK: a bug of ours ends the program loudly, in every build.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace dualpath {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition,
                                      const char* why) {
    std::fprintf(stderr, "dualpath: bug at %s:%d: %s (%s)\n", file, line, why, condition);
    std::abort();
}

}  // namespace dualpath

/// Always on. `why` is a sentence that says what must hold.
#define CHECK(condition, why) \
    ((condition) ? (void)0 : ::dualpath::check_failed(__FILE__, __LINE__, #condition, why))
