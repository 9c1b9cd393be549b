// Calls that make, move and take back buckets while they run: several in one shard, beside idle ones, without room.
#include "stores/memory/transaction.h"

#include <gtest/gtest.h>

#include <vector>

#include "stores/memory/memory_store.h"
#include "tests/contract/calls.h"

namespace weir::memory {
namespace {

using contract::all_algorithms;
using contract::allowance_of;
using contract::ask;
using contract::charge_of;
using contract::OwnedCall;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

const TimePoint kStart = from_micros(1'800'000'000'000'000);

// All in one shard. A table begins with eight slots; `home` is the one that the key hashes to.
BucketKey neighbour(std::uint64_t home, std::uint64_t number) {
  return {(std::uint64_t{5} << 54) | number, (home << 61) | number};
}

class TransactionTest : public testing::Test {
 protected:
  ChargeOutcome take(const Charge& charge, TimePoint now = kStart) { return ask(store_, Action::take, now, charge); }
  std::int64_t left(const BucketKey& key, const Allowance& allowance, TimePoint now = kStart) {
    return ask(store_, Action::peek, now, charge_of(key, allowance, 0)).remaining;
  }
  std::vector<ChargeOutcome> call(std::vector<Charge> charges, TimePoint now = kStart) {
    OwnedCall call(Action::take, now, std::move(charges));
    EXPECT_TRUE(store_.begin(call));
    return call.results();
  }

  const Allowance slow_ = allowance_of(Algorithm::token_bucket, 10, hours(1));
  const Allowance quick_ = allowance_of(Algorithm::token_bucket, 10, seconds(10));
  MemoryStore store_;
};

// The insertion forgets an idle bucket, and the one after it moves into its place.
TEST_F(TransactionTest, ADenialIsCountedInABucketThatAnotherOneOfTheCallHasMoved) {
  take(charge_of(neighbour(6, 1), quick_));
  take(charge_of(neighbour(6, 2), slow_, 8));
  Charge too_large = charge_of(neighbour(2, 3), slow_, 11);
  Charge denied = charge_of(neighbour(6, 2), slow_, 5);
  too_large.count_denied = denied.count_denied = true;
  const std::vector<ChargeOutcome> outcomes = call({too_large, denied}, kStart + seconds(5));
  ASSERT_EQ(store_.stats().swept, 1u);
  EXPECT_FALSE(outcomes[0].admitted);
  EXPECT_FALSE(outcomes[1].admitted);
  EXPECT_EQ(left(neighbour(2, 3), slow_, kStart + seconds(5)), 0);
  EXPECT_EQ(left(neighbour(6, 2), slow_, kStart + seconds(5)), 0);
}

// It counts as none, and what it was must not decide whether it is idle.
TEST_F(TransactionTest, ABucketThatChangesItsAlgorithmIsNotForgottenByItsOwnCall) {
  const Allowance window = allowance_of(Algorithm::fixed_window, 10, hours(1));
  for (const std::uint64_t home : {0, 2, 4, 6, 7}) {
    MemoryStore store;
    ask(store, Action::take, kStart, charge_of(neighbour(home, 1), quick_));
    const TimePoint later = kStart + seconds(5);
    OwnedCall call(Action::take, later,
                   {charge_of(neighbour(home, 1), window), charge_of(neighbour(1, 2), slow_),
                    charge_of(neighbour(3, 3), slow_), charge_of(neighbour(5, 4), slow_)});
    ASSERT_TRUE(store.begin(call));
    for (const ChargeOutcome& outcome : call.results()) EXPECT_TRUE(outcome.admitted);
    EXPECT_EQ(ask(store, Action::peek, later, charge_of(neighbour(home, 1), window, 0)).remaining, 9);
    EXPECT_EQ(store.stats().keys, 4u);
  }
}

TEST_F(TransactionTest, ARefundMakesTheBucketIdleEarlier) {
  for (const Algorithm algorithm : all_algorithms()) {
    const Allowance allowance = allowance_of(algorithm, 10, hours(1));
    const BucketKey key = neighbour(1, static_cast<std::uint64_t>(algorithm));
    take(charge_of(key, allowance, 7));
    ASSERT_EQ(store_.sweep(kStart, 1'000'000), 0u);
    ask(store_, Action::refund, kStart, charge_of(key, allowance, 7));
    EXPECT_EQ(store_.sweep(kStart, 1'000'000), 1u) << algorithm_name(algorithm);
  }
}

// The shard's time is ahead of a caller whose clock was read before something was forgotten.
TEST_F(TransactionTest, ALateCallerIsToldWaitsByItsOwnClockAndNoOthers) {
  const Allowance leaky = allowance_of(Algorithm::leaky_bucket, 10, seconds(10));
  take(charge_of(neighbour(1, 1), quick_));
  const TimePoint forgotten = kStart + seconds(10);
  ASSERT_EQ(store_.sweep(forgotten, 1'000'000), 1u);
  const TimePoint late = forgotten - microseconds(300);
  const ChargeOutcome first = take(charge_of(neighbour(2, 2), leaky), late);
  EXPECT_TRUE(first.admitted);
  EXPECT_EQ(first.delay, Duration(0)) << "nothing is waiting";
  EXPECT_EQ(first.retry_after, Duration(0));
  EXPECT_EQ(first.reset_after, seconds(1) + microseconds(300));
  const ChargeOutcome second = take(charge_of(neighbour(2, 2), leaky), late);
  EXPECT_EQ(second.delay, seconds(1) + microseconds(300));
}

// A store with a place in a table, and too little memory for a tail of a thousand words.
class NoTails : public TransactionTest {
 protected:
  NoTails() {
    std::uint64_t number = 0;
    for (int refused = 0; refused < 20'000;) {
      const BucketKey key = contract::spread_key(++number);
      if (!ask(full_, Action::take, kStart, charge_of(key, slow_)).admitted) {
        ++refused;
      } else {
        known_ = free_;
        free_ = key;
      }
    }
    ask(full_, Action::reset, kStart, charge_of(free_, slow_));
  }

  const Allowance wide_ =
      make_allowance({.algorithm = Algorithm::bucketed_window, .limit = 10, .window = hours(1), .buckets = 1'000})
          .value();
  MemoryStore full_{{.max_bytes = std::size_t{1} << 20}};
  BucketKey known_;  // has a bucket, with one unit taken
  BucketKey free_;   // it had a place, which is still free
};

TEST_F(NoTails, ARefusedNewcomerLeavesNoSlotBehind) {
  const std::size_t known = full_.stats().keys;
  Charge binding = charge_of(free_, wide_);
  Charge shadow = binding;
  shadow.binding = false;
  Charge counted = charge_of(free_, wide_, 11);
  counted.count_denied = true;
  for (const Charge& charge : {binding, shadow, counted}) {
    const ChargeOutcome outcome = ask(full_, Action::take, kStart, charge);
    EXPECT_FALSE(outcome.admitted);
    EXPECT_EQ(outcome.status, charge.count_denied ? Code::ok : Code::resource_exhausted);
    EXPECT_EQ(full_.stats().keys, known);
  }
  for (int i = 0; i < 2; ++i) full_.sweep(kStart + hours(2), 10'000'000);
  EXPECT_EQ(full_.stats().keys, 0u);
}

// What a refused call made is taken back one by one, and each erasure may move the next.
TEST_F(NoTails, ARefusedCallTakesBackBucketsThatStandBesideEachOther) {
  MemoryStore store({.max_bytes = 140'000});
  const BucketKey known = neighbour(3, 100);
  ask(store, Action::take, kStart, charge_of(known, slow_, 4));
  // Until only little is left; the table of this shard need not grow.
  for (std::uint64_t i = 0; store.stats().bytes < 137'000; ++i) {
    ask(store, Action::take, kStart, charge_of({(i % 1'000 + 10) << 54, i << 61}, slow_));
  }
  const std::size_t keys = store.stats().keys;
  OwnedCall call(Action::take, kStart,
                 {charge_of(neighbour(3, 1), slow_), charge_of(neighbour(3, 2), slow_),
                  charge_of(neighbour(3, 3), slow_), charge_of(neighbour(3, 4), wide_)});
  ASSERT_TRUE(store.begin(call));
  ASSERT_EQ(call.results()[2].status, Code::ok);
  ASSERT_EQ(call.results()[3].status, Code::resource_exhausted);
  EXPECT_EQ(store.stats().keys, keys);
  EXPECT_EQ(ask(store, Action::peek, kStart, charge_of(known, slow_, 0)).remaining, 6);
  for (int i = 0; i < 2; ++i) store.sweep(kStart + hours(2), 10'000'000);
  EXPECT_EQ(store.stats().keys, 0u);
}

// A call that is refused counts no denial either: it may be tried again.
TEST_F(NoTails, ARefusedCallCountsNoDenial) {
  Charge shadow = charge_of(known_, slow_, 10);
  shadow.binding = false;
  shadow.count_denied = true;
  OwnedCall call(Action::take, kStart, {shadow, charge_of(free_, wide_)});
  ASSERT_TRUE(full_.begin(call));
  EXPECT_FALSE(call.results()[0].admitted);
  EXPECT_EQ(call.results()[1].status, Code::resource_exhausted);
  EXPECT_EQ(ask(full_, Action::peek, kStart, charge_of(known_, slow_, 0)).remaining, 9);
}

// A shard that has forgotten buckets at some time knows none before it, while the clock of a call may be behind.
TEST(ReservationTime, IsTheLatestOfAllBucketsOfTheCall) {
  MemoryStore store;
  const Allowance slow = allowance_of(Algorithm::token_bucket, 10, hours(1));
  const Allowance record;
  const auto bucket = [&](const BucketKey& key) {
    Charge charge = charge_of(key, slow, 0);
    charge.follows = true;
    return charge;
  };
  const BucketKey swept = neighbour(1, 1);
  const BucketKey elsewhere = contract::spread_key(2);
  const auto reserve = [&](std::uint64_t id, TimePoint now, std::vector<Charge> charges, std::int64_t amount) {
    HoldStep hold;
    hold.reservation = true;
    hold.id = contract::spread_key(1'000 + id);
    hold.ttl = seconds(5);
    hold.amount = amount;
    charges.push_back(charge_of(hold.id, record, 1));
    charges.back().kind = ChargeKind::record;
    OwnedCall call(Action::take, now, std::move(charges));
    call.hold = &hold;
    EXPECT_TRUE(store.begin(call));
    EXPECT_EQ(hold.state, HoldState::taken);
    return call.results();
  };
  EXPECT_EQ(reserve(1, kStart, {bucket(elsewhere)}, 4)[0].remaining, 6);
  const Allowance fast = allowance_of(Algorithm::token_bucket, 10, seconds(1));
  EXPECT_TRUE(ask(store, Action::take, kStart, charge_of(neighbour(1, 2), fast)).admitted);
  EXPECT_GT(store.sweep(kStart + seconds(20), 1'000'000), 0U);
  const std::vector<ChargeOutcome> both = reserve(3, kStart + seconds(1), {bucket(swept), bucket(elsewhere)}, 1);
  EXPECT_EQ(both[0].remaining, 9);
  EXPECT_GE(both[1].remaining, 8) << "the first reservation has lapsed by the time of the other bucket";
}

}  // namespace
}  // namespace weir::memory
