#include "stores/memory/memory_store.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/contract/calls.h"
#include "tests/contract/model_store.h"

namespace weir::memory {
namespace {

using contract::all_algorithms;
using contract::allowance_of;
using contract::ask;
using contract::charge_of;
using contract::OwnedCall;
using contract::spread_key;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart = from_micros(1'800'000'000'000'000);

TEST(MemoryStore, NeitherLooksNorDenialsNorFreeRequestsMakeBuckets) {
  MemoryStore store;
  for (const Algorithm algorithm : all_algorithms()) {
    const Allowance allowance = allowance_of(algorithm, 10, seconds(10));
    const BucketKey key = spread_key(static_cast<std::uint64_t>(algorithm));
    const auto expect_no_bucket = [&](Action action, std::int64_t cost) {
      ask(store, action, kStart, charge_of(key, allowance, cost));
      EXPECT_EQ(store.stats().keys, 0u) << algorithm_name(algorithm) << ", cost " << cost;
    };
    expect_no_bucket(Action::peek, 1);
    expect_no_bucket(Action::take, 0);
    expect_no_bucket(Action::take, 11);
    expect_no_bucket(Action::refund, 5);
    expect_no_bucket(Action::reset, 1);
  }
}

TEST(MemoryStore, ADeniedCallMakesNoBuckets) {
  MemoryStore store;
  const Allowance allowance = allowance_of(Algorithm::sliding_log, 10, seconds(10));
  ask(store, Action::take, kStart, charge_of(spread_key(1), allowance, 10));
  OwnedCall call(Action::take, kStart, {charge_of(spread_key(2), allowance), charge_of(spread_key(1), allowance)});
  ASSERT_TRUE(store.begin(call));
  EXPECT_FALSE(call.results()[1].admitted);
  EXPECT_EQ(store.stats().keys, 1u);
}

TEST(MemoryStore, ARuleThatChangesItsAlgorithmStartsAnew) {
  MemoryStore store;
  for (const Algorithm before : all_algorithms()) {
    for (const Algorithm after : all_algorithms()) {
      if (before == after) continue;
      const Allowance old_allowance = allowance_of(before, 10, seconds(10));
      const Allowance new_allowance = allowance_of(after, 10, seconds(10));
      const BucketKey key = spread_key(static_cast<std::uint64_t>(before) * 16 + static_cast<std::uint64_t>(after));
      ask(store, Action::take, kStart, charge_of(key, old_allowance, 10));
      EXPECT_EQ(ask(store, Action::refund, kStart, charge_of(key, new_allowance, 5)).remaining, 10);
      EXPECT_EQ(ask(store, Action::take, kStart, charge_of(key, new_allowance, 4)).remaining, 6);
      EXPECT_EQ(ask(store, Action::take, kStart, charge_of(key, new_allowance, 4)).remaining, 2);
    }
  }
}

// A request whose clock was read just before a window ended, but which arrives after a sweep in the next window.
TEST(MemoryStore, ALateCallDoesNotFindAForgottenWindowFresh) {
  MemoryStore store;
  const Allowance allowance = allowance_of(Algorithm::fixed_window, 10, seconds(10));
  const Charge charge = charge_of(spread_key(1), allowance, 10);
  ASSERT_TRUE(ask(store, Action::take, kStart, charge).admitted);
  const TimePoint next_window = kStart + seconds(10);
  ASSERT_EQ(store.sweep(next_window, 100), 1u);
  const ChargeOutcome late = ask(store, Action::take, next_window - microseconds(1), charge);
  EXPECT_TRUE(late.admitted) << "counted in the next window";
  EXPECT_EQ(late.reset_after, seconds(10) + microseconds(1)) << "by the caller's clock";
  const ChargeOutcome denied = ask(store, Action::take, next_window - microseconds(1), charge);
  ASSERT_FALSE(denied.admitted);
  EXPECT_EQ(denied.retry_after, seconds(10) + microseconds(1));
  EXPECT_FALSE(ask(store, Action::take, next_window, charge).admitted) << "and not again";
}

TEST(MemoryStore, SweepingForgetsEverythingThatIsIdleAndGivesTheMemoryBack) {
  MemoryStore store;
  const std::size_t empty = store.stats().bytes;
  std::uint64_t number = 0;
  for (const Algorithm algorithm : all_algorithms()) {
    const Allowance allowance = allowance_of(algorithm, 10, seconds(10));
    for (int i = 0; i < 5'000; ++i) ask(store, Action::take, kStart, charge_of(spread_key(number++), allowance, 3));
  }
  EXPECT_EQ(store.stats().keys, number);
  EXPECT_EQ(store.sweep(kStart, 1'000'000), 0u) << "all of them still restrict";
  std::size_t forgotten = 0;
  // In small portions, as a timer does; a bounded number of them.
  for (int i = 0; i < 400; ++i) forgotten += store.sweep(kStart + seconds(20), 500);
  EXPECT_EQ(forgotten, number);
  EXPECT_EQ(store.stats().keys, 0u);
  EXPECT_EQ(store.stats().swept, number);
  EXPECT_EQ(store.stats().bytes, empty);
}

// Many buckets in few shards, so that insertion, growth, sweeping and deletion all happen in the middle of calls. The
// clock runs forward only, and then it must be impossible to notice that idle buckets are forgotten.
TEST(MemoryStore, AnswersAsTheReferenceModelsWhenBucketsShareShards) {
  for (const Algorithm algorithm : all_algorithms()) {
    std::mt19937_64 random(static_cast<std::uint64_t>(algorithm) + 99);
    auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random() % bound); };
    const Allowance allowances[] = {allowance_of(algorithm, 7, milliseconds(300)),
                                    allowance_of(algorithm, 3, milliseconds(20)),
                                    allowance_of(algorithm, 40, seconds(4))};
    MemoryStore store;
    contract::ModelStore model;
    TimePoint now = kStart;
    for (int step = 0; step < 3'000; ++step) {
      now += microseconds(below(3) == 0 ? below(100'000) : below(1'000));
      if (below(10) == 0) store.sweep(now, static_cast<std::size_t>(below(50)));
      std::vector<Charge> charges;
      for (std::uint64_t i = static_cast<std::uint64_t>(below(20)); i < 120; i += 1 + random() % 40) {
        const Allowance& allowance = allowances[i % 3];
        // Two shards; homes all over.
        Charge charge = charge_of({(i % 2) << 54, i * 0x9E3779B97F4A7C15}, allowance);
        charge.cost = below(static_cast<std::uint64_t>(allowance.limit) + 2);
        charge.binding = below(4) != 0;
        charge.count_denied = i % 5 == 0;
        charges.push_back(charge);
      }
      const std::int64_t what = below(20);
      const Action action = what == 0 ? Action::reset : what == 1 ? Action::refund : Action::take;
      OwnedCall expected(action, now, charges);
      OwnedCall got(action, now, charges);
      ASSERT_TRUE(model.begin(expected));
      ASSERT_TRUE(store.begin(got));
      for (std::size_t i = 0; i < charges.size(); ++i) {
        ASSERT_EQ(models::answer_of(got.results()[i]), models::answer_of(expected.results()[i]))
            << algorithm_name(algorithm) << ", step " << step << ", charge " << i << " of " << charges.size();
      }
    }
  }
}

TEST(MemoryStore, PrefetchingTouchesNothing) {
  MemoryStore store;
  const Allowance allowance = allowance_of(Algorithm::gcra, 10, seconds(10));
  std::vector<Charge> charges;
  for (std::uint64_t i = 0; i < 100; ++i) charges.push_back(charge_of(spread_key(i), allowance));
  store.prefetch(charges);
  EXPECT_EQ(store.stats().keys, 0u);
  for (const Charge& charge : charges) ask(store, Action::take, kStart, charge);
  store.prefetch(charges);
  for (const Charge& charge : charges) EXPECT_EQ(ask(store, Action::take, kStart, charge).remaining, 8);
}

TEST(MemoryStore, ALookAtASlidingLogListsTheTimesThatCount) {
  MemoryStore store;
  const Allowance allowance = contract::allowance_of(Algorithm::sliding_log, 5, std::chrono::seconds(10));
  const Charge charge = contract::charge_of(contract::spread_key(1), allowance);
  const TimePoint start = from_micros(1'800'000'000'000'000);
  EXPECT_FALSE(store.look(charge, start));
  for (const int second : {0, 4, 7}) contract::ask(store, Action::take, start + std::chrono::seconds(second), charge);
  const auto all = store.look(charge, start + std::chrono::seconds(9));
  ASSERT_TRUE(all);
  ASSERT_EQ(all->entries.size(), 3U);
  EXPECT_EQ(all->entries[1].at, start + std::chrono::seconds(4));
  EXPECT_EQ(all->entries[1].units, 1);
  EXPECT_EQ(all->standing.remaining, 2);
  EXPECT_EQ(all->last_change, start + std::chrono::seconds(7));
  EXPECT_EQ(all->idle_from, start + std::chrono::seconds(17));
  EXPECT_EQ(store.look(charge, start + std::chrono::seconds(12))->entries.size(), 2U) << "the first has left";
  EXPECT_FALSE(store.look(charge, start + std::chrono::seconds(17)));
}

}  // namespace
}  // namespace weir::memory
