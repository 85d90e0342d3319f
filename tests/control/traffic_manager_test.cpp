// One engine's copies: storage first come first served with a bound, everything else at once.
#include "control/traffic_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dualpath {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TwoInFlight : public testing::Test {
protected:
    static Transfer transfer(std::uint32_t slot, Movement movement = Movement::storage_to_host) {
        return {.id = {slot, 1}, .movement = movement, .size = Bytes{1}};
    }
    /// Slots of what was started since the last look.
    std::vector<std::uint32_t> started() {
        std::vector<std::uint32_t> slots;
        for (const Command& c : std::exchange(commands, {})) {
            slots.push_back(std::get<StartTransfer>(c).transfer.id.slot);
        }
        return slots;
    }
    void submit(const Transfer& t) { traffic.submit(t, {}, commands); }

    TrafficManager traffic{2};
    std::vector<Command> commands;
};

TEST_F(TwoInFlight, ReadsBeyondTheBoundWaitInOrder) {
    for (std::uint32_t i = 0; i < 4; ++i) submit(transfer(i));
    EXPECT_THAT(started(), ElementsAre(0, 1));
    traffic.ended(Movement::storage_to_host, commands);
    EXPECT_THAT(started(), ElementsAre(2));
    traffic.ended(Movement::storage_to_host, commands);
    traffic.ended(Movement::storage_to_host, commands);
    EXPECT_THAT(started(), ElementsAre(3));
    submit(transfer(4));
    EXPECT_THAT(started(), ElementsAre(4));
}
TEST_F(TwoInFlight, WritesDoNotWaitForReads) {
    for (std::uint32_t i = 0; i < 3; ++i) submit(transfer(i));
    submit(transfer(9, Movement::host_to_storage));
    EXPECT_THAT(started(), ElementsAre(0, 1, 9));
}
TEST_F(TwoInFlight, OtherMovementsStartAtOnce) {
    for (std::uint32_t i = 0; i < 5; ++i) submit(transfer(i, Movement::host_to_hbm));
    EXPECT_THAT(started(), ElementsAre(0, 1, 2, 3, 4));
    traffic.ended(Movement::host_to_hbm, commands);
    EXPECT_THAT(started(), IsEmpty());
}
TEST_F(TwoInFlight, WithdrawnTransferNeverStarts) {
    for (std::uint32_t i = 0; i < 4; ++i) submit(transfer(i));
    EXPECT_FALSE(traffic.withdraw(transfer(1)));  // it has started
    EXPECT_TRUE(traffic.withdraw(transfer(2)));
    EXPECT_FALSE(traffic.withdraw(transfer(2)));
    EXPECT_FALSE(traffic.withdraw(transfer(7, Movement::host_to_hbm)));
    started();
    traffic.ended(Movement::storage_to_host, commands);
    EXPECT_THAT(started(), ElementsAre(3));
}

}  // namespace
}  // namespace dualpath
