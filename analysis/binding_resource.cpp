// The binding resource: what more of would make the run faster.
#include "analysis/binding_resource.h"

#include <algorithm>

namespace dualpath {
namespace {

constexpr double most_of_the_time = 0.5;

std::string_view reader(std::string_view snic, double snic_at_limit, const Pressure& pressure) {
    if (snic_at_limit > most_of_the_time) return snic;
    return pressure.storage_at_limit > most_of_the_time ? "storage" : "none";
}

std::string_view prefiller(const Pressure& pressure) {
    if (pressure.waiting_for_prefill_hbm > most_of_the_time) return "prefill_hbm";
    return pressure.cnic_at_limit > most_of_the_time ? "cnic" : "prefill_gpu";
}

/// Host buffers are held until a prompt has been read, prefilled and sent: they are full because of
/// what their holders wait for.
std::string_view allocator(const Pressure& p) {
    if (p.waiting_for_prefill_hbm > most_of_the_time) return "prefill_hbm";
    const bool prefill_side = p.prefill_snic_at_limit >= p.decode_snic_at_limit;
    if (std::max(p.prefill_snic_at_limit, p.decode_snic_at_limit) > most_of_the_time) {
        return prefill_side ? "prefill_snic" : "decode_snic";
    }
    if (p.storage_at_limit > most_of_the_time) return "storage";
    return p.decode_buffer > p.prefill_buffer ? "decode_buffer" : "prefill_buffer";
}

}  // namespace

std::vector<BindingCandidate> binding_candidates(const StageTimes& s, const Pressure& p) {
    const double total = s.prefill_queue + s.allocate + s.read_prefill_path + s.read_decode_path +
                         s.prefill + s.send + s.decode;
    std::vector<BindingCandidate> candidates;  // downstream first, so that a stable sort keeps it
    const auto charge = [&](std::string_view resource, double seconds) {
        if (seconds <= 0) return;
        const auto at = std::find_if(candidates.begin(), candidates.end(),
                                     [&](const auto& c) { return c.resource == resource; });
        if (at == candidates.end())
            candidates.push_back({resource, seconds / total});
        else
            at->share += seconds / total;
    };
    charge(p.waiting_for_decode_hbm > most_of_the_time ? "decode_hbm" : "decode_gpu", s.decode);
    charge(p.cnic_at_limit > most_of_the_time ? "cnic" : "decode_gpu", s.send);
    charge(prefiller(p), s.prefill);
    charge(reader("decode_snic", p.decode_snic_at_limit, p), s.read_decode_path);
    charge(reader("prefill_snic", p.prefill_snic_at_limit, p), s.read_prefill_path);
    charge(allocator(p), s.allocate);
    charge("prefill_gpu", s.prefill_queue);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.share > b.share; });
    return candidates;
}

std::string_view binding_resource(const std::vector<BindingCandidate>& candidates) {
    return candidates.empty() ? "none" : candidates.front().resource;
}

}  // namespace dualpath
