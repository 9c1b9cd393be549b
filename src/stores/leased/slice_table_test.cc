#include "stores/leased/slice_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::leased {
namespace {

using namespace std::chrono_literals;

const Allowance kBucket = make_allowance({.algorithm = Algorithm::token_bucket, .limit = 10, .window = 1s}).value();
constexpr TimePoint kNow{Duration(1'000s)};
constexpr Duration kStep = 1s;

class SliceTableTest : public testing::Test {
 protected:
  // One that was asked for so many units. Null: it is not kept.
  SliceEntry* use(std::uint64_t key, std::int64_t units) {
    SliceEntry* const entry = table_.admit({key, key}, kNow, kStep);
    if (entry == nullptr) return nullptr;
    entry->allowance = &kBucket;
    entry->demand.add(units, kNow, kStep);
    return entry;
  }
  bool has(std::uint64_t key) { return table_.find({key, key}) != nullptr; }

  SliceTable table_{1};
};

TEST_F(SliceTableTest, FindsWhatIsInUse) {
  EXPECT_FALSE(has(1));
  SliceEntry* const first = use(1, 1);
  EXPECT_EQ(first->step, kStep);
  EXPECT_EQ(table_.find({1, 1}), first);
  EXPECT_EQ(table_.find({1, 2}), nullptr);
  EXPECT_EQ(table_.admit({1, 1}, kNow, kStep), first);
  for (std::uint64_t key = 2; key < 1 + SliceTable::kWays; ++key) use(key, 1);
  EXPECT_FALSE(has(99)) << "the set is full, and nothing is behind it";
}

TEST_F(SliceTableTest, ANewcomerTakesAFreePlaceOrThatOfTheOneAskedForLeast) {
  for (std::uint64_t key = 1; key <= 4; ++key) use(key, static_cast<std::int64_t>(10 - key % 3));
  use(5, 1);
  EXPECT_FALSE(has(2)) << "it was asked for 8 units, the others for more";
  for (const std::uint64_t key : {1U, 3U, 4U, 5U}) EXPECT_TRUE(has(key)) << key;
  table_.find({3, 3})->allowance = nullptr;
  use(6, 1);
  EXPECT_FALSE(has(3));
  for (const std::uint64_t key : {1U, 4U, 5U, 6U}) EXPECT_TRUE(has(key)) << key;
}

TEST_F(SliceTableTest, OldDemandCountsForLess) {
  use(1, 1'000);
  for (std::uint64_t key = 2; key <= 4; ++key) {
    SliceEntry* const entry = use(key, 0);
    entry->demand.add(10, kNow + 60s, kStep);
  }
  table_.admit({5, 5}, kNow + 60s, kStep)->allowance = &kBucket;
  EXPECT_FALSE(has(1)) << "it was asked for a thousand, but long ago";
}

TEST_F(SliceTableTest, WhatIsBeingSpentOrAskedForKeepsItsPlace) {
  Ask* const under_way = reinterpret_cast<Ask*>(this);  // compared, never used
  use(1, 1)->ask = under_way;
  use(2, 1)->current = {.left = 1, .ends = kNow + 1s};
  use(3, 1)->next = {.left = 1, .ends = kNow + 1s};
  SliceEntry* const lapsed = use(4, 9);
  lapsed->current = {.left = 5, .ends = kNow};
  SliceEntry* const newcomer = use(5, 1);
  EXPECT_EQ(newcomer, lapsed);
  EXPECT_EQ(newcomer->current.left, 0);
  newcomer->ask = under_way;
  EXPECT_EQ(use(6, 1), nullptr);
  std::vector<std::uint64_t> keys;
  table_.for_each([&](const SliceEntry& entry) { keys.push_back(entry.key.high); });
  EXPECT_EQ(keys, (std::vector<std::uint64_t>{1, 2, 3, 5}));
}

TEST(Slice, IsGivenUpBeforeTheStoreThinksSo) {
  EXPECT_EQ(slice_end(kNow, 1s), kNow + 1s - 1ms - Duration{1});
  const Slice slice{.left = 3, .ends = kNow};
  EXPECT_TRUE(slice.covers(3, kNow - Duration{1}));
  EXPECT_FALSE(slice.covers(4, kNow - Duration{1}));
  EXPECT_FALSE(slice.covers(1, kNow));
}

TEST(Demand, FollowsWithinEightSteps) {
  Demand demand;
  for (int i = 0; i < 64; ++i) demand.add(100, kNow + i * kStep, kStep);
  EXPECT_NEAR(static_cast<double>(demand.per_step()), 100, 2);
  demand.age(kNow + 63 * kStep, kStep);
  EXPECT_NEAR(static_cast<double>(demand.per_step()), 100, 2) << "no time has passed";
  demand.age(kNow + (63 + 8) * kStep, kStep);
  EXPECT_LT(demand.per_step(), 40);
  EXPECT_GT(demand.per_step(), 30);
  demand.age(kNow + (63 + 8 + 64) * kStep, kStep);
  EXPECT_EQ(demand.level(), 0);
  demand.add(1, kNow + 200 * kStep, kStep);
  EXPECT_EQ(demand.per_step(), 1) << "rounded up";
}

}  // namespace
}  // namespace weir::leased
