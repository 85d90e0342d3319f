// The binding resource: what more of would make the run faster.
#pragma once

#include <string_view>
#include <vector>

namespace dualpath {

/// Mean seconds per request in each stage after its decode engine was chosen, that is, while it
/// holds decode HBM.
struct StageTimes {
    double prefill_queue = 0;      ///< until a prefill engine took it
    double allocate = 0;           ///< until host buffers were free
    double read_prefill_path = 0;  ///< until its hits were read, by whose SNIC
    double read_decode_path = 0;
    double prefill = 0;  ///< until the first token
    double send = 0;     ///< to the second token, less one decode step
    double decode = 0;   ///< the rest
};

/// How hard resources were pressed: shares of time, 0 to 1.
struct Pressure {
    double prefill_snic_at_limit = 0, decode_snic_at_limit = 0, storage_at_limit = 0;
    double cnic_at_limit = 0;  ///< the busiest of reads and writes, prefill and decode side
    double waiting_for_decode_hbm = 0, waiting_for_prefill_hbm = 0;
    double prefill_buffer = 0, decode_buffer = 0;  ///< mean use
};

struct BindingCandidate {
    std::string_view resource;
    double share = 0;  ///< of the time between decode engine and end
};

/// Every pool upstream of a bottleneck is full, so being full says little: with many agents decode
/// HBM always is. What binds is where the requests that hold decode HBM spend their time. By
/// Little's law the mean number of requests in a stage is proportional to the mean time in it, so
/// the shares of stage times are the shares of that HBM's occupants. Each stage is charged to the
/// resource it waits for:
///   waiting for a PE -> prefill_gpu
///   host buffers -> what their holders wait for: prefill_hbm or a SNIC or storage by the rules
///       below, else the buffer itself, prefill_buffer or decode_buffer, whichever was fuller
///   reading -> prefill_snic or decode_snic, by path, if that was at its limit more than half of
///       the time; else storage, if that was; else none (latency)
///   read to first token -> prefill_hbm if prompts waited for it in more than half of the windows;
///       else cnic, if that was at its limit more than half of the time; else prefill_gpu
///   first to second token, less one decode step -> cnic, if at its limit more than half of the
///       time; else decode_gpu (waiting for a step boundary)
///   decode -> decode_hbm if requests waited for it in more than half of the windows (a larger
///       batch would go on), else decode_gpu
/// Largest share first; equal shares downstream first. Shares of 0 are left out.
std::vector<BindingCandidate> binding_candidates(const StageTimes& stages,
                                                 const Pressure& pressure);

/// The first of them, "none" without any.
std::string_view binding_resource(const std::vector<BindingCandidate>& candidates);

}  // namespace dualpath
