#include "stores/memory/slot_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::stores {
namespace {

constexpr auto kGrow = MemoryBudget::Purpose::grow;
constexpr std::size_t kRoom = 4 * SlotLanes::kLayerBytes;

TEST(SlotLanes, TakeNothingFromTheBudgetUntilALayerIsUsed) {
  MemoryBudget budget(kRoom);
  SlotLanes lanes(kRoom);
  EXPECT_EQ(budget.used(), 0u);
  ASSERT_TRUE(lanes.open(0, 1, kGrow, budget));
  ASSERT_TRUE(lanes.open(0, 2, kGrow, budget)) << "a second user";
  EXPECT_EQ(budget.used(), 2 * SlotLanes::kLayerBytes) << "a layer is paid for once";
  lanes.close(0, 2, budget);
  EXPECT_EQ(budget.used(), SlotLanes::kLayerBytes) << "the first user is still there";
  lanes.close(0, 1, budget);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(SlotLanes, OpenAllLayersOrNone) {
  MemoryBudget budget(kRoom);
  SlotLanes lanes(kRoom);
  ASSERT_TRUE(budget.reserve(2 * SlotLanes::kLayerBytes));
  EXPECT_FALSE(lanes.open(0, 2, kGrow, budget)) << "the budget has room for one";
  EXPECT_EQ(budget.used(), 2 * SlotLanes::kLayerBytes);
  EXPECT_TRUE(lanes.open(0, 1, kGrow, budget));
  EXPECT_FALSE(lanes.open(1, 5, kGrow, budget)) << "beyond the addresses";
  lanes.close(0, 1, budget);
  budget.release(2 * SlotLanes::kLayerBytes);
}

TEST(SlotLanes, ALayerThatNobodyUsedAnyMoreComesBackAsZeros) {
  MemoryBudget budget(kRoom);
  SlotLanes lanes(kRoom);
  ASSERT_TRUE(lanes.open(0, 2, kGrow, budget));
  std::byte* const piece = lanes.lane(SlotLanes::kLanes - 1) + SlotLanes::kLayerBytes;
  std::fill_n(piece, SlotLanes::kPieceBytes, std::byte{7});
  lanes.close(0, 2, budget);
  ASSERT_TRUE(lanes.open(0, 2, kGrow, budget));
  EXPECT_TRUE(std::all_of(piece, piece + SlotLanes::kPieceBytes, [](std::byte b) { return b == std::byte{0}; }));
  lanes.close(0, 2, budget);
}

TEST(SlotLanes, AStoreTooSmallForALayerHasNone) {
  MemoryBudget budget(SlotLanes::kLayerBytes - 1);
  SlotLanes lanes(SlotLanes::kLayerBytes - 1);
  EXPECT_FALSE(lanes.open(0, 1, kGrow, budget));
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace weir::stores
