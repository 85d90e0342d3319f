// The host: what this process used and where it ran; it may differ between identical runs.
#include "cli/host.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace dualpath::cli {
namespace {

std::string processor() {
    std::ifstream file{"/proc/cpuinfo"};
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    }
    return "unknown";
}

rusage usage() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used;
}

}  // namespace

double cpu_seconds() {
    const rusage used = usage();
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

nlohmann::ordered_json host_facts() {
    utsname system{};
    uname(&system);
#ifdef NDEBUG
    const char* build = "release";
#else
    const char* build = "debug";
#endif
    return {{"cpu_s", cpu_seconds()},
            {"peak_rss_bytes", static_cast<std::int64_t>(usage().ru_maxrss) * 1024},
            {"machine", processor()},
            {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
            {"system", std::string{system.sysname} + " " + system.release},
            {"compiler", "g++ " __VERSION__},
            {"build", build}};
}

}  // namespace dualpath::cli
