#include "stores/memory/shard.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weir::memory {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 50;

// On the heap, and in a lane.
class ShardTest : public testing::TestWithParam<bool> {
 protected:
  ShardTest() {
    if (GetParam()) shard_.use_lane(lanes_, 5);
  }
  ~ShardTest() override {
    shard_.close(budget_);
    EXPECT_EQ(used(), 0u) << "every byte that was reserved must be released";
  }

  Slot* insert(const BucketKey& key, std::int64_t idle_from_us = kFar, std::int64_t now_us = 0) {
    Slot* const slot = shard_.insert(key, Algorithm::token_bucket, now_us, budget_);
    if (slot != nullptr) shard_.set_idle_from(*slot, idle_from_us);
    return slot;
  }

  std::size_t used() {
    lanes_.trim(std::numeric_limits<std::size_t>::max(), budget_);
    return budget_.used();
  }

  MemoryBudget budget_{std::size_t{1} << 30};
  SlotLanes lanes_{std::size_t{1} << 30};
  Shard shard_;
};
INSTANTIATE_TEST_SUITE_P(Memory, ShardTest, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "lane" : "heap"; });

// Keys from a few homes only, some at the very end of the array, so that runs of slots are long and wrap around.
TEST_P(ShardTest, FindsExactlyWhatIsThereAmongCollidingKeys) {
  std::mt19937_64 random(1);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> expected;
  auto random_key = [&] {
    const std::uint64_t homes[] = {0, 1ULL << 62, ~0ULL << 22, ~0ULL << 40};
    return BucketKey{random() % 40, homes[random() % 4] + (random() % 3 << 20)};
  };
  for (std::int64_t step = 0; step < 20'000; ++step) {
    const BucketKey key = random_key();
    Slot* slot = shard_.find(key);
    const auto known = expected.find({key.high, key.low});
    ASSERT_EQ(slot != nullptr, known != expected.end());
    if (slot != nullptr) {
      ASSERT_EQ(slot->words().head[1], known->second);
    }
    if (slot != nullptr && random() % 2 == 0) {
      shard_.erase(*slot, budget_);
      expected.erase(known);
    } else if (slot == nullptr && random() % 3 != 0) {
      slot = insert(key);
      ASSERT_NE(slot, nullptr);
      slot->words().head[1] = step;
      expected[{key.high, key.low}] = step;
    }
    ASSERT_EQ(shard_.size(), expected.size());
  }
}

TEST_P(ShardTest, TheZeroKeyIsAKeyLikeAnyOther) {
  EXPECT_EQ(shard_.find({0, 0}), nullptr);
  insert({0, 0});
  EXPECT_NE(shard_.find({0, 0}), nullptr);
  EXPECT_EQ(shard_.find({0, 1ULL << 20}), nullptr);
  shard_.erase(*shard_.find({0, 0}), budget_);
  EXPECT_EQ(shard_.find({0, 0}), nullptr);
}

TEST_P(ShardTest, KeepsAlgorithmAndIdleMomentAtTheirExtremes) {
  Slot& slot = *insert({1, 1});
  for (const std::int64_t us : {std::int64_t{0}, std::int64_t{-5}, kFar, Slot::kLatestIdle, Slot::kEarliestIdle}) {
    shard_.set_idle_from(slot, us);
    EXPECT_EQ(slot.idle_from_us(), us);
    EXPECT_TRUE(slot.holds(Algorithm::token_bucket));
    EXPECT_FALSE(slot.empty());
  }
  shard_.set_idle_from(slot, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(slot.idle_from_us(), Slot::kLatestIdle);
  shard_.set_idle_from(slot, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(slot.idle_from_us(), Slot::kEarliestIdle);
}

TEST_P(ShardTest, AGrowingTailKeepsItsWordsAndTheHead) {
  Slot& slot = *insert({1, 1});
  slot.words().head[0] = 11;
  slot.words().head[2] = 33;
  std::size_t filled = 0;
  for (const std::size_t words : {1u, 4u, 5u, 500u}) {
    ASSERT_TRUE(shard_.grow_tail(slot, words, budget_));
    const algorithms::BucketWords bucket = slot.words();
    ASSERT_EQ(bucket.tail.size(), words);
    EXPECT_EQ(bucket.head[0], 11);
    EXPECT_EQ(bucket.head[2], 33);
    for (std::size_t i = 0; i < words; ++i) {
      ASSERT_EQ(bucket.tail[i], i < filled ? static_cast<std::int64_t>(i + 100) : 0);
    }
    for (; filled < words; ++filled) bucket.tail[filled] = static_cast<std::int64_t>(filled + 100);
  }
  EXPECT_TRUE(shard_.grow_tail(slot, 3, budget_)) << "nothing to do";
  EXPECT_EQ(slot.words().tail.size(), 500u);
}

TEST_P(ShardTest, ATailThatTheBudgetForbidsChangesNothing) {
  Slot& slot = *insert({1, 1});
  slot.words().head[0] = 11;
  ASSERT_TRUE(shard_.grow_tail(slot, 4, budget_));
  const std::size_t used = budget_.used();
  EXPECT_FALSE(shard_.grow_tail(slot, budget_.max_bytes() / 8, budget_));
  EXPECT_EQ(budget_.used(), used);
  EXPECT_EQ(slot.words().head[0], 11);
  EXPECT_EQ(slot.words().tail.size(), 4u);
}

TEST_P(ShardTest, RenewingFreesTheTailAndZeroesTheWords) {
  Slot& slot = *insert({1, 1});
  const std::size_t without_tail = budget_.used();
  ASSERT_TRUE(shard_.grow_tail(slot, 100, budget_));
  slot.words().head[1] = 5;
  shard_.renew(slot, Algorithm::gcra, budget_);
  EXPECT_EQ(budget_.used(), without_tail);
  EXPECT_TRUE(slot.holds(Algorithm::gcra));
  EXPECT_TRUE(slot.words().tail.empty());
  EXPECT_EQ(slot.words().head[1], 0);
}

TEST_P(ShardTest, SweepingForgetsTheIdleAndKeepsTheRest) {
  for (std::uint64_t i = 0; i < 100; ++i) insert({i, i << 57}, i % 2 == 0 ? 1'000 : 2'000);
  EXPECT_EQ(shard_.sweep(999, 1'000, budget_).forgotten, 0u);
  const Shard::Sweep swept = shard_.sweep(1'000, 1'000, budget_);
  EXPECT_EQ(swept.forgotten, 50u);
  EXPECT_TRUE(swept.finished);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(shard_.find({i, i << 57}) != nullptr, i % 2 == 1) << i;
  EXPECT_EQ(shard_.sweep(1'999, 1'000, budget_).examined, 0u) << "a finished walk knows that nothing is idle yet";
  EXPECT_EQ(shard_.sweep(2'000, 1'000, budget_).forgotten, 50u);
}

TEST_P(ShardTest, ASweepLooksAtNoMoreSlotsThanAllowedAndGoesOnWhereItStopped) {
  for (std::uint64_t i = 0; i < 100; ++i) insert({i, i << 57}, 1'000);
  std::size_t forgotten = 0;
  for (int i = 0; i < 100 && shard_.size() > 0; ++i) {
    const Shard::Sweep swept = shard_.sweep(1'000, 10, budget_);
    EXPECT_LE(swept.examined, 10u);
    forgotten += swept.forgotten;
  }
  EXPECT_EQ(forgotten, 100u);
}

// The lower bound that makes "nothing is idle" cheap must never hide something idle, whatever has moved meanwhile: all
// over the array, and from its beginning to its end, where runs of slots wrap around.
TEST_P(ShardTest, NeverOverlooksAnIdleBucketForGood) {
  std::mt19937_64 random(7);
  std::int64_t now = 0;
  for (int round = 0; round < 12'000; ++round) {
    now += static_cast<std::int64_t>(random() % 10);
    const bool at_the_end = round / 3'000 % 2 == 1;
    const BucketKey key{random() % 200, at_the_end ? ~0ULL - random() % 3 : random() % 200 << 56};
    Slot* slot = shard_.find(key);
    if (slot == nullptr) {
      insert(key, now + static_cast<std::int64_t>(random() % 100), now);
    } else if (random() % 2 == 0) {
      shard_.set_idle_from(*slot, now + static_cast<std::int64_t>(random() % 100));
    } else {
      shard_.erase(*slot, budget_);
    }
    shard_.sweep(now, random() % 8, budget_);
    if (random() % 20 == 0) shard_.shrink(budget_);
    if (round % 50 != 0) continue;
    // One walk to the end, and one from the beginning.
    shard_.sweep(now, 10'000, budget_);
    shard_.sweep(now, 10'000, budget_);
    ShardCopy copy;
    shard_.copy_to(copy);
    for (const ShardCopy::Bucket& bucket : copy.buckets) ASSERT_GT(bucket.idle_from_us, now);
  }
}

TEST_P(ShardTest, FindsAnIdleBucketThatMovedToTheEndBehindTheWalk) {
  const BucketKey at_the_end{1, ~0ULL};
  Slot* const last = insert(at_the_end);
  insert({2, ~0ULL}, 500);  // there is no room for it at the end, so it is at the beginning
  Slot* const other = insert({3, 1ULL << 62}, 50);
  shard_.set_idle_from(*other, kFar);
  EXPECT_FALSE(shard_.sweep(100, 2, budget_).finished) << "the walk has passed the end";
  shard_.erase(*last, budget_);  // and now the second moves there
  while (!shard_.sweep(100, 2, budget_).finished) {
  }
  EXPECT_EQ(shard_.sweep(500, 1'000, budget_).forgotten, 1u);
  EXPECT_EQ(shard_.find({2, ~0ULL}), nullptr);
}

TEST_P(ShardTest, TimeInAShardNeverRunsBeforeTheMomentAtWhichItLastForgot) {
  insert({1, 1}, 1'000);
  insert({2, 2}, 500);
  EXPECT_LT(shard_.floor_us(), 0);
  shard_.sweep(999, 1'000, budget_);
  EXPECT_EQ(shard_.floor_us(), 999);
  shard_.sweep(2'000, 1'000, budget_);
  EXPECT_EQ(shard_.floor_us(), 2'000);
  insert({3, 3}, 700);
  shard_.sweep(1'500, 1'000, budget_);
  EXPECT_EQ(shard_.size(), 0u);
  EXPECT_EQ(shard_.floor_us(), 2'000) << "a caller with an older clock does not turn it back";
}

TEST_P(ShardTest, APinnedSlotIsNeverForgotten) {
  Slot* const slot = shard_.insert({1, 1}, Algorithm::gcra, 0, budget_);
  insert({2, 1}, 10);
  shard_.sweep(kFar, 1'000, budget_);
  EXPECT_EQ(shard_.size(), 1u);
  EXPECT_EQ(shard_.find({1, 1}), slot);
}

TEST_P(ShardTest, GivesMemoryBackWhenMostSlotsAreEmpty) {
  for (std::uint64_t i = 0; i < 2'000; ++i) insert({i, i * 0x9E3779B97F4A7C15}, i < 20 ? kFar : 10);
  const std::size_t full = budget_.used();
  shard_.sweep(10, 100'000, budget_);
  shard_.shrink(budget_);
  EXPECT_LT(used(), full / 50);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_NE(shard_.find({i, i * 0x9E3779B97F4A7C15}), nullptr);
  shard_.sweep(kFar, 100'000, budget_);
  shard_.shrink(budget_);
  EXPECT_EQ(used(), 0u);
}

TEST_P(ShardTest, KeepsEveryBucketWhileItGrowsAndShrinks) {
  std::map<std::uint64_t, std::int64_t> expected;
  const auto key_of = [](std::uint64_t i) { return BucketKey{i, i * 0x9E3779B97F4A7C15}; };
  std::uint64_t next = 0;
  for (int tide = 0; tide < 4; ++tide) {
    for (int i = 0; i < 700; ++i, ++next) {
      Slot* const slot = insert(key_of(next));
      ASSERT_NE(slot, nullptr);
      slot->words().head[2] = expected[next] = static_cast<std::int64_t>(next * 31 + 1);
    }
    while (expected.size() > static_cast<std::size_t>(30 + 40 * tide)) {
      shard_.erase(*shard_.find(key_of(expected.begin()->first)), budget_);
      expected.erase(expected.begin());
    }
    shard_.shrink(budget_);
    ASSERT_EQ(shard_.size(), expected.size());
    for (const auto& [i, word] : expected) {
      Slot* const slot = shard_.find(key_of(i));
      ASSERT_NE(slot, nullptr);
      ASSERT_EQ(slot->words().head[2], word);
    }
  }
}

TEST(FullShard, LetsNewcomersReplaceTheIdleButNothingElse) {
  MemoryBudget budget(16'384);
  Shard shard;
  std::uint64_t inserted = 0;
  while (Slot* slot = shard.insert({inserted, inserted * 0x9E3779B97F4A7C15}, Algorithm::gcra, 0, budget)) {
    shard.set_idle_from(*slot, inserted == 7 ? 500 : kFar);
    ++inserted;
    ASSERT_LE(budget.used(), budget.max_bytes());
  }
  ASSERT_GT(inserted, 100u);
  EXPECT_EQ(shard.insert({1'000'000, 5}, Algorithm::gcra, 499, budget), nullptr);
  EXPECT_EQ(shard.counters().evicted, 0u);
  Slot* const newcomer = shard.insert({1'000'000, 5}, Algorithm::gcra, 500, budget);
  ASSERT_NE(newcomer, nullptr);
  EXPECT_EQ(shard.counters().evicted + shard.counters().swept, 1u);
  EXPECT_EQ(shard.find({7, 7 * 0x9E3779B97F4A7C15}), nullptr);
  for (std::uint64_t i = 0; i < inserted; ++i) {
    if (i != 7) {
      EXPECT_NE(shard.find({i, i * 0x9E3779B97F4A7C15}), nullptr) << i;
    }
  }
  EXPECT_EQ(shard.insert({1'000'001, 5}, Algorithm::gcra, 500, budget), nullptr);
  shard.close(budget);
  EXPECT_EQ(budget.used(), 0u);
}

// Without anybody who sweeps: each newcomer looks at two others.
TEST_P(ShardTest, AShardThatGainsBucketsForgetsTheIdleOnesInPassing) {
  for (std::int64_t i = 0; i < 20'000; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    ASSERT_NE(insert({number, number * 0x9E3779B97F4A7C15}, i + 100, i), nullptr);
    ASSERT_LE(shard_.size(), 400u) << "100 of them are not idle yet";
  }
  EXPECT_GT(shard_.counters().swept, 19'000u);
  EXPECT_EQ(shard_.counters().evicted, 0u);
}

// Wherever the last walk has stopped, and wherever the idle one is.
TEST(FullShard, FindsTheOneIdleBucketFromEveryPositionOfItsCursor) {
  MemoryBudget budget(2'000);
  Shard shard;
  std::uint64_t inserted = 0;
  const auto key_of = [](std::uint64_t i) { return BucketKey{i, i * 0x9E3779B97F4A7C15}; };
  while (Slot* slot = shard.insert(key_of(inserted), Algorithm::gcra, 0, budget)) {
    shard.set_idle_from(*slot, kFar);
    ++inserted;
  }
  ASSERT_GT(inserted, 10u);
  EXPECT_GT(inserted * 48 * 100, budget.used() * 85) << "at the bound a table may be nine tenths full";
  std::uint64_t newcomer = 1'000'000;
  std::int64_t now = 1'000;
  for (std::size_t steps = 0; steps < 50; ++steps) {
    for (std::size_t position = 0; position < inserted; ++position) {
      ShardCopy copy;
      shard.copy_to(copy);
      const ShardCopy::Bucket& idle = copy.buckets[position];
      now += 10;
      // A bucket that seemed to become idle and was used again makes the walk begin, and find nothing.
      shard.set_idle_from(*shard.find(copy.buckets[0].key), now);
      shard.set_idle_from(*shard.find(copy.buckets[0].key), kFar);
      shard.sweep(now, steps, budget);
      Slot* const slot = shard.find(idle.key);
      ASSERT_NE(slot, nullptr);
      shard.set_idle_from(*slot, now);
      Slot* const placed = shard.insert(key_of(++newcomer), Algorithm::gcra, now, budget);
      ASSERT_NE(placed, nullptr) << "after " << steps << " steps";
      shard.set_idle_from(*placed, kFar);
      ASSERT_EQ(shard.find(idle.key), nullptr);
      ASSERT_EQ(shard.size(), inserted);
    }
  }
  shard.close(budget);
}

TEST(FullShard, InALaneThatCannotGrowFillsUpAndLeaksNothing) {
  MemoryBudget budget(std::size_t{1} << 30);
  SlotLanes lanes(2 * SlotLanes::kLayerBytes);
  Shard shard;
  shard.use_lane(lanes, 3);
  std::uint64_t inserted = 0;
  while (Slot* slot = shard.insert({inserted, inserted * 0x9E3779B97F4A7C15}, Algorithm::gcra, 0, budget)) {
    shard.set_idle_from(*slot, kFar);
    ++inserted;
  }
  EXPECT_EQ(inserted, 2 * SlotLanes::kSlots * 9 / 10);
  EXPECT_EQ(budget.used(), 2 * SlotLanes::kLayerBytes);
  shard.close(budget);
  lanes.trim(10, budget);
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace weir::memory

// AddressSanitizer ends the program where the system would refuse, unless told otherwise.
extern "C" const char* __asan_default_options();  // NOLINT: its name
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace weir::memory {
namespace {

TEST(FullShard, ATailThatTheSystemRefusesIsNotPaidFor) {
  MemoryBudget budget(std::numeric_limits<std::size_t>::max() / 2);
  Shard shard;
  Slot* const slot = shard.insert({1, 1}, Algorithm::sliding_log, 0, budget);
  ASSERT_NE(slot, nullptr);
  const std::size_t used = budget.used();
  EXPECT_FALSE(shard.grow_tail(*slot, std::size_t{1} << 55, budget)) << "more than there are addresses";
  EXPECT_EQ(budget.used(), used);
  EXPECT_TRUE(slot->words().tail.empty());
  shard.close(budget);
}

TEST(MemoryBudget, RefusesWhatDoesNotFitAndKeepsAPartForShrinking) {
  MemoryBudget budget(6'400);
  EXPECT_FALSE(budget.reserve(6'301));
  EXPECT_TRUE(budget.reserve(6'300));
  EXPECT_FALSE(budget.reserve(1));
  EXPECT_TRUE(budget.reserve(100, MemoryBudget::Purpose::shrink));
  EXPECT_FALSE(budget.reserve(1, MemoryBudget::Purpose::shrink));
  EXPECT_FALSE(budget.reserve(std::numeric_limits<std::size_t>::max()));
  budget.release(6'400);
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace weir::memory
