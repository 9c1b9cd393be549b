// Many threads on one store. Run under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "stores/memory/memory_store.h"
#include "stores/memory/spin_lock.h"
#include "tests/contract/calls.h"

namespace weir::memory {
namespace {

using contract::allowance_of;
using contract::ask;
using contract::charge_of;
using contract::OwnedCall;
using contract::spread_key;
using std::chrono::hours;
using std::chrono::seconds;

const TimePoint kStart = from_micros(1'800'000'000'000'000);

template <typename Work>
void run_threads(std::size_t count, Work work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(SpinLock, LetsOneThreadInAtATime) {
  SpinLock lock;
  std::int64_t plain = 0;
  run_threads(8, [&](std::size_t) {
    for (int i = 0; i < 2'000; ++i) {
      lock.lock();
      ++plain;
      lock.unlock();
    }
  });
  EXPECT_EQ(plain, 16'000);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
}

class OneKey : public testing::TestWithParam<Algorithm> {};

// 64 threads × 10,000 attempts on one key with limit 1,000.
TEST_P(OneKey, AdmitsExactlyTheLimitToManyThreads) {
  constexpr std::int64_t kLimit = 1'000;
  const Allowance allowance = allowance_of(GetParam(), kLimit, hours(1));
  MemoryStore store;
  std::atomic<std::int64_t> admitted{0};
  run_threads(64, [&](std::size_t) {
    std::int64_t mine = 0;
    for (int i = 0; i < 10'000; ++i) {
      mine += ask(store, Action::take, kStart, charge_of(spread_key(1), allowance)).admitted ? 1 : 0;
    }
    admitted.fetch_add(mine);
  });
  EXPECT_EQ(admitted.load(), kLimit);
}

INSTANTIATE_TEST_SUITE_P(EveryAlgorithm, OneKey, testing::ValuesIn(contract::all_algorithms()), [](const auto& one) {
  std::string name(algorithm_name(one.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Calls over overlapping sets of buckets, named in any order: none waits forever, none is charged in part. Each
// admitted call takes one unit from three buckets, so what is missing in all of them is three times the admissions.
TEST(ConcurrentCalls, OverSeveralBucketsAreAtomicAndNeverDeadlock) {
  constexpr std::uint64_t kBuckets = 12;
  constexpr std::int64_t kLimit = 400;
  const Allowance allowance = allowance_of(Algorithm::token_bucket, kLimit, hours(1));
  MemoryStore store;
  std::atomic<std::int64_t> admitted{0};
  run_threads(16, [&](std::size_t thread) {
    std::mt19937_64 random(thread);
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t first = random() % kBuckets;
      const std::uint64_t second = (first + 1 + random() % (kBuckets - 1)) % kBuckets;
      std::uint64_t third = random() % kBuckets;
      while (third == first || third == second) third = (third + 1) % kBuckets;
      OwnedCall call(Action::take, kStart,
                     {charge_of(spread_key(first), allowance), charge_of(spread_key(second), allowance),
                      charge_of(spread_key(third), allowance)});
      ASSERT_TRUE(store.begin(call));
      bool all = true;
      for (const ChargeOutcome& outcome : call.results()) all = all && outcome.admitted;
      if (all) admitted.fetch_add(1);
    }
  });
  std::int64_t missing = 0;
  for (std::uint64_t i = 0; i < kBuckets; ++i) {
    const std::int64_t left = ask(store, Action::peek, kStart, charge_of(spread_key(i), allowance, 0)).remaining;
    ASSERT_GE(left, 0);
    missing += kLimit - left;
  }
  EXPECT_EQ(missing, 3 * admitted.load());
  EXPECT_GT(admitted.load(), 0);
  EXPECT_LT(admitted.load(), 16 * 500) << "some must be denied, or this proves little";
}

TEST(ConcurrentCalls, SweepingPrefetchingAndCopyingGoOnBesideThem) {
  const Allowance allowance = allowance_of(Algorithm::sliding_log, 5, seconds(1));
  MemoryStore store;
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> elapsed{0};
  std::thread sweeper([&] {
    ShardCopy copy;
    while (!stop.load()) {
      store.sweep(kStart + Duration(elapsed.load()), 2'000);
      copy.buckets.clear();
      copy.tails.clear();
      store.copy_shard(static_cast<std::size_t>(elapsed.load()) % MemoryStore::kShards, copy);
      (void)store.stats();
    }
  });
  run_threads(4, [&](std::size_t thread) {
    std::mt19937_64 random(thread + 5);
    for (int i = 0; i < 5'000; ++i) {
      const TimePoint now = kStart + Duration(elapsed.fetch_add(997) + 997);
      const BucketKey key = spread_key(random() % 500);
      const Charge charge = charge_of(key, allowance, 2);
      store.prefetch({&charge, 1});
      const ChargeOutcome outcome = ask(store, Action::take, now, charge);
      ASSERT_EQ(outcome.status, Code::ok);
      ASSERT_EQ(outcome.retry_after.count() > 0, !outcome.admitted);
    }
  });
  stop.store(true);
  sweeper.join();
  for (int i = 0; i < 2; ++i) store.sweep(kStart + hours(1), 1'000'000);
  EXPECT_EQ(store.stats().keys, 0u);
}

// 64 threads acquire and release on three slots, together with a bucket.
TEST(Leases, NoMoreThanTheLimitIsHeldWhateverManyThreadsDo) {
  constexpr std::int64_t kLimit = 3;
  constexpr std::int64_t kRate = 1'000'000'000;
  const Allowance slots =
      make_concurrency({.algorithm = {}, .limit = kLimit, .window = Duration{0}}, seconds(1)).value();
  const Allowance rate = allowance_of(Algorithm::token_bucket, kRate, hours(1));
  MemoryStore store;
  Charge slot = charge_of(spread_key(1), slots);
  slot.kind = ChargeKind::lease;
  std::atomic<std::int64_t> held{0};
  std::atomic<std::int64_t> given{0};
  run_threads(64, [&](std::size_t thread) {
    std::uint64_t token = 0;
    for (std::uint64_t i = 0; i < 500; ++i) {
      HoldStep hold;
      hold.id = spread_key(thread * 100'000 + i);
      hold.ttl = seconds(1);
      OwnedCall acquire(Action::take, kStart, {slot, charge_of(spread_key(2), rate)});
      acquire.hold = &hold;
      ASSERT_TRUE(store.begin(acquire));
      if (hold.state != HoldState::taken) continue;
      EXPECT_LE(held.fetch_add(1) + 1, kLimit);
      EXPECT_GT(hold.token, token) << "of the same thread's lease before";
      token = hold.token;
      given.fetch_add(1);
      held.fetch_sub(1);
      OwnedCall release(Action::settle, kStart, {slot});
      release.hold = &hold;
      ASSERT_TRUE(store.begin(release));
      EXPECT_EQ(hold.state, HoldState::ended);
    }
  });
  EXPECT_GT(given.load(), 64);
  slot.cost = 0;
  EXPECT_EQ(ask(store, Action::peek, kStart, slot).remaining, kLimit);
  EXPECT_EQ(ask(store, Action::peek, kStart, charge_of(spread_key(2), rate, 0)).remaining, kRate - given.load());
}

}  // namespace
}  // namespace weir::memory
