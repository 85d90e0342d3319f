// Names for things: small integers that cannot be mixed up.
#pragma once

#include <compare>
#include <cstdint>

namespace dualpath {

/// A dense index: the i-th node, engine, group or resource of a cluster.
template <class Tag>
struct Id {
    std::uint32_t value{};
    constexpr auto operator<=>(const Id&) const = default;
    constexpr std::uint32_t index() const { return value; }
};

/// A name for something that comes and goes: `slot` is a dense index that is used again after the
/// thing has ended, `serial` never repeats, so a late message about an ended thing is recognised.
template <class Tag>
struct SlotId {
    std::uint32_t slot{};
    std::uint32_t serial{};
    constexpr auto operator<=>(const SlotId&) const = default;
};

using NodeId = Id<struct NodeTag>;
using EngineId = Id<struct EngineTag>;            ///< one GPU with its process
using FetchGroupId = Id<struct FetchGroupTag>;    ///< engines of one node that fetch together
using ExpertGroupId = Id<struct ExpertGroupTag>;  ///< engines that step together (EP, or one alone)
using ResourceId = Id<struct ResourceTag>;        ///< one capacity of the cluster: a link, a memory
using SessionId = Id<struct SessionTag>;          ///< one trajectory being replayed
using PrefixId = Id<struct PrefixTag>;            ///< a leading segment shared by sessions

using RequestId = SlotId<struct RequestTag>;
using TransferId = SlotId<struct TransferTag>;
using TimerId = Id<struct TimerTag>;

/// The n-th step of an expert group.
struct StepId {
    ExpertGroupId group;
    std::uint32_t number{};
    constexpr auto operator<=>(const StepId&) const = default;
};

}  // namespace dualpath
