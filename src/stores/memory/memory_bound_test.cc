// The memory bound and what a bucket costs.
#include <gtest/gtest.h>

#include <random>

#include "stores/memory/memory_store.h"
#include "tests/contract/calls.h"

namespace weir::memory {
namespace {

using contract::allowance_of;
using contract::ask;
using contract::charge_of;
using contract::OwnedCall;
using std::chrono::hours;
using std::chrono::seconds;

const TimePoint kStart = from_micros(1'800'000'000'000'000);
constexpr std::size_t kMiB = std::size_t{1} << 20;

class RandomKeys {
 public:
  explicit RandomKeys(std::uint64_t seed) : random_(seed) {}
  BucketKey next() { return {random_(), random_()}; }

 private:
  std::mt19937_64 random_;
};

TEST(MemoryBound, ATokenBucketKeyCostsAtMostEightyBytesAtAMillionKeys) {
  MemoryStore store;
  const Allowance allowance = allowance_of(Algorithm::token_bucket, 10, seconds(10));
  RandomKeys keys(3);
  for (std::size_t count = 1; count <= 1'000'000; ++count) {
    ask(store, Action::take, kStart, charge_of(keys.next(), allowance));
    if (count < 500'000 || count % 25'000 != 0) continue;
    const MemoryStats stats = store.stats();
    ASSERT_EQ(stats.keys, count);
    ASSERT_LE(stats.bytes, 80 * count) << "at " << count << " keys";
  }
  RecordProperty("bytes_per_key", static_cast<int>(store.stats().bytes / store.stats().keys));
}

// With fewer keys and a tighter bound: the flood is more than ten times what fits.
TEST(MemoryBound, AFloodOfKeysStaysInsideTheBoundAndCannotFreeAnExhaustedLimit) {
  MemoryStore store({.max_bytes = 4 * kMiB});
  const Allowance slow = allowance_of(Algorithm::token_bucket, 10, hours(1));
  RandomKeys keys(4);
  const BucketKey active = keys.next();
  ASSERT_TRUE(ask(store, Action::take, kStart, charge_of(active, slow, 10)).admitted);
  std::size_t refused = 0;
  for (int i = 0; i < 600'000; ++i) {
    const ChargeOutcome outcome = ask(store, Action::take, kStart, charge_of(keys.next(), slow));
    ASSERT_TRUE(outcome.status == Code::ok || outcome.status == Code::resource_exhausted);
    if (outcome.status != Code::ok) ++refused;
    if (i % 1'000 == 0) {
      ASSERT_LE(store.stats().bytes, 4 * kMiB);
      ASSERT_FALSE(ask(store, Action::take, kStart, charge_of(active, slow)).admitted);
    }
  }
  const MemoryStats stats = store.stats();
  EXPECT_LE(stats.bytes, stats.max_bytes);
  EXPECT_EQ(stats.refused_newcomers, refused);
  EXPECT_EQ(stats.keys, 600'000 - refused + 1) << "nothing that restricts was given up";
  EXPECT_EQ(stats.evicted_idle, 0u);
  EXPECT_GE(stats.keys, 4 * kMiB / 80) << "the bound is used, not wasted";
}

// A denial that counts and has no bucket yet makes one, but evicts no other bucket for it.
TEST(MemoryBound, WhereThereIsNoRoomTooLargeACostIsDeniedAndNotCounted) {
  MemoryStore store({.max_bytes = 2 * kMiB});
  const Allowance slow = allowance_of(Algorithm::token_bucket, 10, hours(1));
  RandomKeys keys(6);
  while (store.stats().refused_newcomers < 1'000) ask(store, Action::take, kStart, charge_of(keys.next(), slow));
  const MemoryStats full = store.stats();
  std::size_t uncounted = 0;
  for (int i = 0; i < 1'000; ++i) {
    Charge charge = charge_of(keys.next(), slow, 11);
    charge.count_denied = true;
    const ChargeOutcome outcome = ask(store, Action::take, kStart, charge);
    ASSERT_TRUE(outcome.status == Code::ok && !outcome.admitted && outcome.too_large);
    if (outcome.remaining > 0) ++uncounted;
  }
  EXPECT_GT(uncounted, 0u);
  EXPECT_EQ(store.stats().keys, full.keys + 1'000 - uncounted);
  EXPECT_LE(store.stats().bytes, full.max_bytes);
}

// Without anybody who sweeps: newcomers find the idle ones by themselves.
TEST(MemoryBound, WhenBucketsBecomeIdleNewcomersTakeTheirPlaces) {
  MemoryStore store({.max_bytes = 2 * kMiB});
  const Allowance quick = allowance_of(Algorithm::token_bucket, 10, seconds(10));  // idle a second after one unit
  const Allowance slow = allowance_of(Algorithm::token_bucket, 10, hours(1));
  RandomKeys keys(5);
  const BucketKey active = keys.next();
  ASSERT_TRUE(ask(store, Action::take, kStart, charge_of(active, slow, 10)).admitted);
  TimePoint now = kStart;
  for (int wave = 0; wave < 8; ++wave) {
    std::size_t refused = 0;
    for (int i = 0; i < 20'000; ++i) {
      now += Duration(5);
      if (ask(store, Action::take, now, charge_of(keys.next(), quick)).status != Code::ok) ++refused;
    }
    // Shards fill unevenly, so a newcomer may be refused while another shard still holds something idle; rarely.
    EXPECT_LT(refused, 20'000u / 1'000) << "wave " << wave;
    EXPECT_LE(store.stats().bytes, 2 * kMiB);
    now += seconds(1);
  }
  EXPECT_GT(store.stats().evicted_idle + store.stats().swept, 100'000u);
  EXPECT_FALSE(ask(store, Action::take, now, charge_of(active, slow)).admitted);
}

class FullStore : public testing::Test {
 protected:
  FullStore() {
    while (ask(store_, Action::take, kStart, charge_of(keys_.next(), slow_)).status == Code::ok) {
    }
    // One shard is full now; fill the others too.
    for (int i = 0; i < 60'000; ++i) ask(store_, Action::take, kStart, charge_of(keys_.next(), slow_));
  }

  // A key for which there is no room.
  BucketKey newcomer() {
    while (true) {
      const BucketKey key = keys_.next();
      if (ask(store_, Action::take, kStart, charge_of(key, slow_)).status != Code::ok) return key;
    }
  }

  const Allowance slow_ = allowance_of(Algorithm::token_bucket, 10, hours(1));
  RandomKeys keys_{6};
  MemoryStore store_{{.max_bytes = 2 * kMiB}};
};

TEST_F(FullStore, RefusesACallWithANewcomerAndChargesNothingOfIt) {
  const BucketKey present{1, 1};
  store_.clear();
  ask(store_, Action::take, kStart, charge_of(present, slow_, 4));
  for (int i = 0; i < 60'000; ++i) ask(store_, Action::take, kStart, charge_of(keys_.next(), slow_));
  const BucketKey stranger = newcomer();
  const std::uint64_t refused = store_.stats().refused_newcomers;
  const std::size_t known = store_.stats().keys;

  OwnedCall call(Action::take, kStart, {charge_of(present, slow_, 2), charge_of(stranger, slow_)});
  ASSERT_TRUE(store_.begin(call));
  EXPECT_EQ(call.status, Code::ok);
  EXPECT_EQ(call.results()[0].status, Code::ok);
  EXPECT_EQ(call.results()[0].remaining, 6) << "unchanged";
  EXPECT_EQ(call.results()[1].status, Code::resource_exhausted);
  EXPECT_FALSE(call.results()[1].admitted);
  EXPECT_EQ(ask(store_, Action::peek, kStart, charge_of(present, slow_, 0)).remaining, 6);
  EXPECT_EQ(store_.stats().refused_newcomers, refused + 1);
  EXPECT_EQ(store_.stats().keys, known);

  Charge shadow = charge_of(stranger, slow_);
  shadow.binding = false;
  OwnedCall with_shadow(Action::take, kStart, {shadow, charge_of(present, slow_, 2)});
  ASSERT_TRUE(store_.begin(with_shadow));
  EXPECT_EQ(with_shadow.results()[0].status, Code::resource_exhausted);
  EXPECT_EQ(with_shadow.results()[1].remaining, 4) << "a shadow rule without room holds back no other rule";
}

// A slot that was made, or kept from being forgotten, for a call that was then refused must not stay forever.
TEST_F(FullStore, ARefusedCallLeavesNothingBehind) {
  const BucketKey gone{1, 1};
  const BucketKey present{2, 2};
  const BucketKey changed{3, 3};  // it has a bucket of another algorithm, which counts as none
  const Allowance window = allowance_of(Algorithm::fixed_window, 10, hours(1));
  store_.clear();
  for (const BucketKey& key : {gone, present, changed}) ask(store_, Action::take, kStart, charge_of(key, slow_));
  for (int i = 0; i < 60'000; ++i) ask(store_, Action::take, kStart, charge_of(keys_.next(), slow_));
  const BucketKey stranger = newcomer();
  ask(store_, Action::reset, kStart, charge_of(gone, slow_));  // its place is free: a bucket finds room there
  const std::size_t known = store_.stats().keys;

  OwnedCall call(
      Action::take, kStart,
      {charge_of(gone, slow_), charge_of(present, slow_), charge_of(changed, window), charge_of(stranger, slow_)});
  ASSERT_TRUE(store_.begin(call));
  for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(call.results()[i].status, Code::ok) << i;
  ASSERT_EQ(call.results()[3].status, Code::resource_exhausted);
  EXPECT_EQ(store_.stats().keys, known - 1) << "without the bucket of another algorithm";
  EXPECT_EQ(ask(store_, Action::peek, kStart, charge_of(gone, slow_, 0)).remaining, 10);
  EXPECT_EQ(ask(store_, Action::peek, kStart, charge_of(present, slow_, 0)).remaining, 9);

  for (int i = 0; i < 2; ++i) store_.sweep(kStart + hours(2), 10'000'000);
  EXPECT_EQ(store_.stats().keys, 0u);
}

TEST_F(FullStore, RefusesATailThatDoesNotFitAndLeavesTheBucketAsItWas) {
  const Allowance log = allowance_of(Algorithm::sliding_log, 10'000, hours(1));
  const BucketKey stranger = newcomer();
  const ChargeOutcome outcome = ask(store_, Action::take, kStart, charge_of(stranger, log));
  EXPECT_EQ(outcome.status, Code::resource_exhausted);
  EXPECT_TRUE(ask(store_, Action::peek, kStart, charge_of(stranger, log)).admitted);
}

TEST_F(FullStore, StillServesSweepsAndFreesWhatItHolds) {
  for (int i = 0; i < 2; ++i) store_.sweep(kStart + hours(2), 10'000'000);
  EXPECT_EQ(store_.stats().keys, 0u);
  EXPECT_EQ(store_.stats().bytes, MemoryStore().stats().bytes);
  EXPECT_TRUE(ask(store_, Action::take, kStart + hours(2), charge_of(keys_.next(), slow_)).admitted);
}

// A log that fills the whole store, one entry at a time. At the bound it goes on with the room that it has.
TEST(MemoryBound, ALogGrowsUpToTheBoundAndCountsOnFromThere) {
  MemoryStore store({.max_bytes = kMiB});
  const Allowance log = allowance_of(Algorithm::sliding_log, 100'000, hours(1));
  const BucketKey key{77, 77};
  TimePoint now = kStart;
  std::int64_t admitted_exactly = 0;
  for (std::int64_t admitted = 1; admitted <= 100'000; ++admitted) {
    now += Duration(1);
    const ChargeOutcome outcome = ask(store, Action::take, now, charge_of(key, log));
    ASSERT_TRUE(outcome.status == Code::ok && outcome.admitted);
    ASSERT_EQ(outcome.remaining, 100'000 - admitted);
    ASSERT_LE(store.stats().bytes, kMiB);
    if (store.stats().coarse_charges == 0) admitted_exactly = admitted;
  }
  EXPECT_GT(admitted_exactly, 10'000);
  EXPECT_GT(store.stats().coarse_charges, 0u);
  const ChargeOutcome denied = ask(store, Action::take, now + seconds(1), charge_of(key, log));
  EXPECT_EQ(denied.status, Code::ok);
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(ask(store, Action::reset, now, charge_of(key, log)).remaining, 100'000);
}

TEST(MemoryBound, ABoundTooSmallForAnythingRefusesEverything) {
  MemoryStore store({.max_bytes = 1'000});
  const Allowance allowance = allowance_of(Algorithm::gcra, 10, seconds(10));
  EXPECT_EQ(ask(store, Action::take, kStart, charge_of({1, 2}, allowance)).status, Code::resource_exhausted);
  EXPECT_TRUE(ask(store, Action::peek, kStart, charge_of({1, 2}, allowance)).admitted);
}

}  // namespace
}  // namespace weir::memory
