// Movement: the six ways KV-Cache bytes travel; each has one route through the node's resources.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dualpath {

/// Labels of the paper's Fig 4 in brackets: PE-n for the prefill read path, DE-n for the decode
/// one.
enum class Movement : std::uint8_t {
    storage_to_host,   ///< Full Blocks: storage, SNIC, node DRAM [PE-1,2; DE-1,2]
    host_to_hbm,       ///< loopback RDMA write on the GPU's own CNIC [PE-3,4; PE-8,9; DE-6,7]
    host_to_peer_hbm,  ///< DE buffer to PE HBM, Layer Blocks [DE-3,4,5]
    hbm_to_peer_host,  ///< PE HBM to DE buffer, Layer Blocks [PE-5,6,7; the DE path's misses]
    hbm_to_host,       ///< persist, first hop: HBM, CNIC, DRAM
    host_to_storage,   ///< persist, second hop: DRAM, SNIC, storage
};
inline constexpr std::array<std::string_view, 6> movement_names{
    "storage_to_host",  "host_to_hbm", "host_to_peer_hbm",
    "hbm_to_peer_host", "hbm_to_host", "host_to_storage"};

}  // namespace dualpath
