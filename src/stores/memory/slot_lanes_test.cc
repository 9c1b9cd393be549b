#include "stores/memory/slot_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::memory {
namespace {

constexpr auto kGrow = MemoryBudget::Purpose::grow;
constexpr std::size_t kRoom = 4 * SlotLanes::kLayerBytes;

class SlotLanesTest : public testing::Test {
 protected:
  bool open(std::size_t first, std::size_t end) { return lanes_.open(first, end, kGrow, budget_); }
  std::byte* last_piece(std::size_t layer) {
    return lanes_.lane(SlotLanes::kLanes - 1) + layer * SlotLanes::kLayerBytes;
  }

  MemoryBudget budget_{kRoom};
  SlotLanes lanes_{kRoom};
};

TEST_F(SlotLanesTest, ALayerIsPaidForOnceAndKeptUntilItIsTrimmed) {
  EXPECT_EQ(budget_.used(), 0u) << "addresses cost nothing";
  ASSERT_TRUE(open(0, 1));
  ASSERT_TRUE(open(0, 2)) << "a second user";
  EXPECT_EQ(budget_.used(), 2 * SlotLanes::kLayerBytes);
  lanes_.close(0, 2);
  lanes_.trim(10, budget_);
  EXPECT_EQ(budget_.used(), SlotLanes::kLayerBytes) << "the first user is still there";
  ASSERT_TRUE(open(1, 3));
  lanes_.close(1, 3);
  lanes_.close(0, 1);
  lanes_.trim(1, budget_);
  EXPECT_EQ(budget_.used(), 2 * SlotLanes::kLayerBytes) << "not more than was asked for";
  lanes_.trim(10, budget_);
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(SlotLanesTest, AllLayersOpenOrNone) {
  ASSERT_TRUE(budget_.reserve(2 * SlotLanes::kLayerBytes));
  EXPECT_FALSE(open(0, 2)) << "the budget has room for one";
  lanes_.trim(10, budget_);
  EXPECT_EQ(budget_.used(), 2 * SlotLanes::kLayerBytes) << "the one that fitted is not used";
  EXPECT_TRUE(open(0, 1));
  EXPECT_FALSE(open(1, 5)) << "beyond the addresses";
}

TEST_F(SlotLanesTest, ATrimmedLayerComesBackAsZeros) {
  ASSERT_TRUE(open(0, 2));
  std::fill_n(last_piece(1), SlotLanes::kPieceBytes, std::byte{7});
  lanes_.close(0, 2);
  lanes_.trim(10, budget_);
  ASSERT_TRUE(open(0, 2));
  EXPECT_TRUE(std::all_of(last_piece(1), last_piece(1) + SlotLanes::kPieceBytes,
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_F(SlotLanesTest, WhatStandsInALayerStaysWhileItIsTurnedIntoHugePages) {
  for (std::size_t lane = 0; lane < SlotLanes::kLanes; ++lane) {
    ASSERT_TRUE(open(0, 2));
    std::fill_n(lanes_.lane(lane), SlotLanes::kPieceBytes, static_cast<std::byte>(lane));
    lanes_.turn_into_huge_pages();
  }
  lanes_.wait_until_turned();
  for (std::size_t lane = 0; lane < SlotLanes::kLanes; ++lane) {
    const std::byte* const piece = lanes_.lane(lane);
    ASSERT_TRUE(std::all_of(piece, piece + SlotLanes::kPieceBytes,
                            [&](std::byte byte) { return byte == static_cast<std::byte>(lane); }));
  }
}

TEST(SlotLanes, AStoreTooSmallForALayerHasNone) {
  MemoryBudget budget(SlotLanes::kLayerBytes - 1);
  SlotLanes lanes(SlotLanes::kLayerBytes - 1);
  EXPECT_EQ(lanes.lane(7), nullptr);
  EXPECT_FALSE(lanes.open(0, 1, kGrow, budget));
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace weir::memory
