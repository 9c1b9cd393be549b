#include "stores/leased/leased_store.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "tests/support/heap_growth.h"
#include "tests/support/slow_store.h"

namespace weir::leased {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LeasedStoreTest : public testing::Test {
 protected:
  // 1,000 units per second, room for 1,000: a slice lives for 100 ms and its floor is 100.
  const Allowance bucket_ = allowance_of(Algorithm::token_bucket, 1'000, seconds(1));
  SliceTerms terms_{.consistency = Consistency::leased, .version = 1, .life = milliseconds(100), .floor = 100};
  const std::shared_ptr<SlowStore> store_ = std::make_shared<SlowStore>();
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::shared_ptr<std::atomic<std::uint64_t>> epoch_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  LeasedStore leased_{{.store = store_, .clock = clock_, .epoch = epoch_}};

  Charge charge(std::uint64_t key = 1, std::int64_t cost = 1) const {
    Charge charge;
    charge.key = {key << 32U, key};
    charge.allowance = &bucket_;
    charge.rule = "r";
    charge.cost = cost;
    charge.slices = &terms_;
    return charge;
  }
  Charge exact(std::uint64_t key, std::int64_t cost = 1) const {
    Charge plain = charge(key, cost);
    plain.slices = nullptr;
    return plain;
  }
  ChargeOutcome run(Action action, const Charge& what) {
    CountingCall call(action, clock_->now(), {what});
    EXPECT_TRUE(leased_.begin(call));
    answered_ = call.answered;
    return call.outcomes[0];
  }
  bool take(const Charge& what) { return run(Action::take, what).admitted; }
  // Asked for every millisecond, so that the key is hot and has a slice.
  void heat(std::uint64_t key = 1, int times = 60) {
    for (int i = 0; i < times; ++i) {
      clock_->advance(milliseconds(1));
      EXPECT_TRUE(take(charge(key)));
    }
  }
  std::int64_t store_left(std::uint64_t key = 1) {
    CountingCall look(Action::peek, clock_->now(), {exact(key, 0)});
    EXPECT_TRUE(store_->memory.begin(look));
    return look.outcomes[0].remaining;
  }

  Consistency answered_ = Consistency::exact;
};

TEST_F(LeasedStoreTest, AKeyThatIsAskedForNowAndThenIsExact) {
  for (int i = 0; i < 20; ++i) {
    const ChargeOutcome outcome = run(Action::take, charge());
    EXPECT_TRUE(outcome.admitted);
    EXPECT_FALSE(outcome.estimated);
    EXPECT_EQ(answered_, Consistency::exact);
    clock_->advance(milliseconds(500));
  }
  EXPECT_EQ(store_->calls, 20);
  EXPECT_TRUE(store_->draws.empty());
}

TEST_F(LeasedStoreTest, AHotKeyIsMostlyAnsweredWithoutTheStore) {
  heat(1, 1'000);
  const int before = store_->calls;
  heat(1, 1'000);
  EXPECT_LT(store_->calls - before, 100);
  const ChargeOutcome outcome = run(Action::take, charge());
  EXPECT_TRUE(outcome.estimated);
  EXPECT_EQ(answered_, Consistency::leased);
}

TEST_F(LeasedStoreTest, AnAnswerFromASliceTellsWhatIsLeftThereAndInTheStoreAndWhenItIsFull) {
  heat();
  const std::int64_t in_store = store_left();
  const ChargeOutcome first = run(Action::take, charge());
  ASSERT_TRUE(first.estimated);
  EXPECT_EQ(first.status, Code::ok);
  EXPECT_GT(first.remaining, 0);
  EXPECT_LE(first.remaining, in_store + 100) << "no more than the store and a slice have";
  EXPECT_GT(first.reset_after, Duration{0});
  EXPECT_LE(first.reset_after, seconds(1));
  clock_->advance(Duration{300});
  const ChargeOutcome second = run(Action::take, charge());
  ASSERT_TRUE(second.estimated);
  EXPECT_EQ(second.remaining, first.remaining - 1);
  EXPECT_EQ(second.reset_after, first.reset_after - Duration{300});
}

TEST_F(LeasedStoreTest, DrawsPayForTheFloorAndAskForAPartOnly) {
  heat();
  ASSERT_FALSE(store_->draws.empty());
  EXPECT_EQ(store_->draws.back().floor, terms_.floor);
  EXPECT_EQ(store_->draws.back().parts, 2);
}

TEST_F(LeasedStoreTest, ASliceIsNotSpentAfterItsLife) {
  heat();
  ASSERT_GT(leased_.leased_keys(), 0U);
  clock_->advance(milliseconds(100));
  EXPECT_EQ(leased_.leased_keys(), 0U);
  const int before = store_->calls;
  EXPECT_TRUE(take(charge()));
  EXPECT_EQ(store_->calls, before + 1);
}

TEST_F(LeasedStoreTest, WhatIsLeftOfASliceIsNotGivenBack) {
  heat();
  const std::int64_t left = store_left();
  clock_->advance(milliseconds(100));
  EXPECT_TRUE(take(charge()));
  EXPECT_GT(leased_.stats().lapsed.load(), 0U);
  EXPECT_LE(store_left(), left + 100) << "only the rate gives back";
}

TEST_F(LeasedStoreTest, NeverAdmitsMoreThanTheBucketWould) {
  heat();
  // All at once: the capacity without the floor, and what is refilled meanwhile.
  std::int64_t admitted = 0;
  const TimePoint start = clock_->now();
  for (int i = 0; i < 5'000; ++i) {
    if (i % 10 == 0) clock_->advance(milliseconds(1));
    admitted += take(charge()) ? 1 : 0;
  }
  const std::int64_t elapsed_ms = (clock_->now() - start) / milliseconds(1);
  EXPECT_LE(admitted, 1'000 + elapsed_ms);
  EXPECT_GT(admitted, 500 + elapsed_ms);
}

TEST_F(LeasedStoreTest, OtherRulesDoNotSpendWhatWasDrawnBefore) {
  heat();
  SliceTerms other = terms_;
  other.version = 2;
  Charge changed = charge();
  changed.slices = &other;
  const int before = store_->calls;
  EXPECT_TRUE(take(changed));
  EXPECT_EQ(store_->calls, before + 1);
}

TEST_F(LeasedStoreTest, SlicesAreDroppedWhenTheStoreMayHaveLostItsData) {
  heat();
  epoch_->fetch_add(1);
  const int before = store_->calls;
  EXPECT_TRUE(take(charge()));
  EXPECT_EQ(store_->calls, before + 1);
}

TEST_F(LeasedStoreTest, AnotherAllowanceOfTheRuleAsksTheStore) {
  heat();
  const Allowance plan = allowance_of(Algorithm::token_bucket, 2'000, seconds(1));
  Charge other = charge();
  other.allowance = &plan;
  const int before = store_->calls;
  EXPECT_TRUE(take(other));
  EXPECT_EQ(answered_, Consistency::exact);
  EXPECT_EQ(store_->calls, before + 1);
}

TEST_F(LeasedStoreTest, ADecisionOverSeveralBucketsIsAllOrNone) {
  heat(1);
  heat(2);
  // The third bucket is exact and has nothing left.
  CountingCall drain(Action::take, clock_->now(), {exact(3, 1'000)});
  ASSERT_TRUE(leased_.begin(drain));
  const std::int64_t before = run(Action::peek, charge(1, 0)).remaining;
  CountingCall call(Action::take, clock_->now(), {charge(1), charge(2), exact(3)});
  ASSERT_TRUE(leased_.begin(call));
  EXPECT_TRUE(call.outcomes[0].admitted);
  EXPECT_TRUE(call.outcomes[1].admitted);
  EXPECT_FALSE(call.outcomes[2].admitted);
  EXPECT_EQ(call.answered, Consistency::exact);
  EXPECT_EQ(run(Action::peek, charge(1, 0)).remaining, before) << "the slice has what it gave";
}

TEST_F(LeasedStoreTest, AShadowRuleThatDeniesHoldsNothingBack) {
  heat(1);
  CountingCall drain(Action::take, clock_->now(), {exact(3, 1'000)});
  ASSERT_TRUE(leased_.begin(drain));
  const std::int64_t before = run(Action::peek, charge(1, 0)).remaining;
  Charge shadow = exact(3);
  shadow.binding = false;
  CountingCall call(Action::take, clock_->now(), {charge(1), shadow});
  ASSERT_TRUE(leased_.begin(call));
  EXPECT_EQ(run(Action::peek, charge(1, 0)).remaining, before - 1);
}

TEST_F(LeasedStoreTest, ARefundGoesIntoTheSliceThatIsBeingSpent) {
  heat();
  EXPECT_TRUE(take(charge()));
  const std::int64_t left = store_left();
  const std::int64_t before = run(Action::peek, charge(1, 0)).remaining;
  run(Action::refund, charge());
  EXPECT_EQ(store_left(), left);
  EXPECT_EQ(run(Action::peek, charge(1, 0)).remaining, before + 1);
}

TEST_F(LeasedStoreTest, ARefundOfMoreThanASliceHasSpentGoesToTheStore) {
  heat();
  const std::int64_t left = store_left();
  run(Action::refund, charge(1, 200));
  EXPECT_GT(store_left(), left);
}

// A bucket of 1,000, some of which lie in the slice of this node.
TEST_F(LeasedStoreTest, ARefundOfMoreThanWasUsedMakesNothingBetterThanFull) {
  heat();
  ASSERT_GT(leased_.leased_keys(), 0U);
  run(Action::refund, charge(1, 1'000'000));
  EXPECT_EQ(store_left(), 1'000);
  EXPECT_EQ(leased_.leased_keys(), 0U);
  std::int64_t admitted = 0;
  for (int i = 0; i < 2'000; ++i) admitted += take(charge()) ? 1 : 0;
  EXPECT_LE(admitted, 1'000);
}

// 500 used and 100 repaid in the meantime: 300 are less than was used, and the units of the slice are still owed.
TEST_F(LeasedStoreTest, ARefundOfWhatWasUsedKeepsTheSlice) {
  for (int i = 0; i < 100; ++i) {
    clock_->advance(milliseconds(1));
    ASSERT_TRUE(take(charge(1, 5)));
  }
  ASSERT_GT(leased_.leased_keys(), 0U);
  const std::uint64_t lapsed = leased_.stats().lapsed.load();
  const std::int64_t left = store_left();
  run(Action::refund, charge(1, 300));
  EXPECT_EQ(store_left(), left + 300);
  EXPECT_EQ(leased_.stats().lapsed.load(), lapsed);
  EXPECT_GT(leased_.leased_keys(), 0U);
}

TEST_F(LeasedStoreTest, AResetDropsTheSlice) {
  heat();
  run(Action::reset, charge());
  EXPECT_EQ(leased_.leased_keys(), 0U);
  EXPECT_EQ(store_left(), 1'000);
}

TEST_F(LeasedStoreTest, ACostThatNoSliceCanCoverAsksTheStore) {
  heat();
  clock_->advance(seconds(2));
  heat();
  const ChargeOutcome outcome = run(Action::take, charge(1, 901));
  EXPECT_EQ(answered_, Consistency::exact);
  EXPECT_FALSE(outcome.estimated);
}

TEST_F(LeasedStoreTest, WindowsGrantUntilTheirEnd) {
  const Allowance window = allowance_of(Algorithm::fixed_window, 10'000, seconds(10));
  terms_.floor = 0;
  terms_.life = seconds(1);
  clock_->set(from_micros(1'800'000'000'000'000));
  std::int64_t admitted = 0;
  for (int i = 0; i < 30'000; ++i) {
    clock_->advance(Duration{1'000});
    Charge what = charge();
    what.allowance = &window;
    admitted += take(what) ? 1 : 0;
  }
  EXPECT_GT(admitted, 29'900);
  std::int64_t in_one = 0;
  for (int i = 0; i < 30'000; ++i) {
    if (i % 10 == 0) clock_->advance(Duration{1'000});
    Charge what = charge();
    what.allowance = &window;
    in_one += take(what) ? 1 : 0;
  }
  EXPECT_LE(in_one, 10'000);
  EXPECT_GT(in_one, 9'900);
}

class HotKeyTest : public LeasedStoreTest {
 protected:
  HotKeyTest() { terms_.consistency = Consistency::exact; }
  // So many units per second for a time; true: at its end it was answered from a slice.
  bool ask_at(std::int64_t per_second, Duration time) {
    const Duration pause = std::chrono::microseconds(seconds(1)) / per_second;
    for (Duration past{0}; past < time; past += pause) {
      clock_->advance(pause);
      run(Action::take, charge());
    }
    return answered_ == Consistency::leased;
  }
};

TEST_F(HotKeyTest, IsLeasedAfterItWasAskedForOftenForAWhile) {
  EXPECT_FALSE(ask_at(2'000, milliseconds(1'500)));
  EXPECT_TRUE(store_->draws.empty());
  EXPECT_TRUE(ask_at(2'000, seconds(2)));
}

TEST_F(HotKeyTest, IsNotLeasedBelowTheThreshold) { EXPECT_FALSE(ask_at(700, seconds(10))); }

TEST_F(HotKeyTest, StaysLeasedUntilItWasAskedForLessThanHalfForLong) {
  ASSERT_TRUE(ask_at(2'000, seconds(4)));
  EXPECT_TRUE(ask_at(700, seconds(60))) << "above half of the threshold";
  EXPECT_TRUE(ask_at(300, seconds(20)));
  EXPECT_FALSE(ask_at(300, seconds(15)));
}

class SlowLeasedStoreTest : public LeasedStoreTest {
 protected:
  // Hot, with nothing left of its slice.
  SlowLeasedStoreTest() {
    heat();
    clock_->advance(milliseconds(100));
    store_->at_once = false;
  }
};

TEST_F(SlowLeasedStoreTest, CallsThatFindNothingLeftShareOneAsk) {
  const int before = store_->calls;
  std::deque<CountingCall> calls;
  for (int i = 0; i < 5; ++i) {
    calls.emplace_back(Action::take, clock_->now(), std::vector{charge()});
    EXPECT_FALSE(leased_.begin(calls.back()));
  }
  EXPECT_EQ(store_->calls, before + 1);
  store_->answer();
  for (const CountingCall& call : calls) {
    EXPECT_EQ(call.completions, 1);
    EXPECT_TRUE(call.outcomes[0].admitted);
  }
  EXPECT_EQ(store_->calls, before + 1);
}

TEST_F(SlowLeasedStoreTest, AFailureOfTheStoreIsToldToAllThatWait) {
  std::deque<CountingCall> calls;
  for (int i = 0; i < 3; ++i) {
    calls.emplace_back(Action::take, clock_->now(), std::vector{charge()});
    EXPECT_FALSE(leased_.begin(calls.back()));
  }
  store_->failure = Code::unavailable;
  store_->answer();
  for (const CountingCall& call : calls) {
    EXPECT_EQ(call.completions, 1);
    EXPECT_EQ(call.status, Code::unavailable);
  }
}

TEST_F(SlowLeasedStoreTest, AGrantThatComesAfterItsLifeIsNotSpent) {
  CountingCall call(Action::take, clock_->now(), {charge()});
  ASSERT_FALSE(leased_.begin(call));
  clock_->advance(milliseconds(200));
  store_->answer();  // the grant, too late
  EXPECT_EQ(call.completions, 0) << "passed on";
  store_->answer();
  EXPECT_EQ(call.completions, 1);
  EXPECT_TRUE(call.outcomes[0].admitted);
  EXPECT_EQ(call.answered, Consistency::exact);
}

TEST_F(SlowLeasedStoreTest, NoMoreThanABoundedNumberOfCallsWaitsForOneAsk) {
  std::deque<CountingCall> calls;
  const int before = store_->calls;
  for (std::size_t i = 0; i < LeasedStore::kMaxWaiting + 3; ++i) {
    calls.emplace_back(Action::take, clock_->now(), std::vector{charge()});
    EXPECT_FALSE(leased_.begin(calls.back()));
  }
  EXPECT_EQ(store_->calls, before + 1 + 3);
  while (!store_->waiting.empty()) store_->answer();
  for (const CountingCall& call : calls) EXPECT_EQ(call.completions, 1);
}

TEST_F(SlowLeasedStoreTest, ASliceIsSpentWhileTheStoreIsAway) {
  store_->at_once = true;
  heat();
  store_->at_once = false;
  store_->failure = Code::unavailable;
  CountingCall call(Action::take, clock_->now(), {charge()});
  EXPECT_TRUE(leased_.begin(call));
  EXPECT_TRUE(call.outcomes[0].admitted);
  store_->answer();
}

TEST_F(SlowLeasedStoreTest, AWaitForOneBucketGivesBackTheOthersWhenItIsDenied) {
  store_->at_once = true;
  heat(2);
  const std::int64_t before = run(Action::peek, charge(2, 0)).remaining;
  CountingCall drain(Action::take, clock_->now(), {exact(1, store_left(1))});
  ASSERT_TRUE(store_->memory.begin(drain));
  store_->at_once = false;
  CountingCall call(Action::take, clock_->now(), {charge(1), charge(2)});
  ASSERT_FALSE(leased_.begin(call));
  store_->answer();
  EXPECT_EQ(call.completions, 1);
  EXPECT_FALSE(call.outcomes[0].admitted);
  EXPECT_GT(call.outcomes[0].retry_after, Duration{0});
  store_->at_once = true;
  EXPECT_EQ(run(Action::peek, charge(2, 0)).remaining, before);
}

TEST_F(SlowLeasedStoreTest, ThoseThatAskAgainGetAllThatTheStoreHasLeft) {
  terms_.floor = 0;
  CountingCall drain(Action::take, clock_->now(), {exact(1, store_left(1) - 5)});
  ASSERT_TRUE(store_->memory.begin(drain));
  CountingCall small(Action::take, clock_->now(), {charge(1, 1)});
  ASSERT_FALSE(leased_.begin(small));
  CountingCall large(Action::take, clock_->now(), {charge(1, 3)});
  ASSERT_FALSE(leased_.begin(large));
  store_->answer();
  EXPECT_TRUE(small.outcomes[0].admitted);
  ASSERT_EQ(store_left(1), 3) << "as much as the other asks for";
  EXPECT_EQ(large.completions, 0) << "it asks";
  store_->answer();
  EXPECT_EQ(large.completions, 1);
  EXPECT_TRUE(large.outcomes[0].admitted);
}

TEST_F(SlowLeasedStoreTest, WhatBelongsToAnotherChargeFollowsItToTheStore) {
  store_->at_once = true;
  heat();
  store_->at_once = false;
  Charge candidate = exact(3);
  candidate.candidate = true;
  Charge penalty = exact(3);
  penalty.kind = ChargeKind::penalty;
  for (Charge belongs : {candidate, penalty}) {
    belongs.of = 1;
    CountingCall call(Action::take, clock_->now(), {charge(), exact(2), belongs});
    ASSERT_FALSE(leased_.begin(call));
    ASSERT_EQ(store_->waiting.back()->charges.size(), 2U) << "without the one that is answered here";
    EXPECT_EQ(store_->waiting.back()->charges[1].of, 0);
    store_->failure = Code::unavailable;
    store_->answer();
  }
}

TEST_F(SlowLeasedStoreTest, UsesItsAsksAgain) {
  const auto ask_and_answer = [this] {
    for (int i = 0; i < 200; ++i) {
      clock_->advance(milliseconds(200));
      CountingCall both(Action::take, clock_->now(), {charge(1), exact(2)});
      if (!leased_.begin(both)) store_->answer();
      EXPECT_EQ(both.outcomes[0].status, Code::ok);
      store_->draws.clear();
    }
  };
  ask_and_answer();
  const tests::HeapGrowth growth;
  ask_and_answer();
  EXPECT_LT(growth.bytes(), 4'096);
}

TEST_F(LeasedStoreTest, WhatWasDrawnIsDroppedWhenTheBucketIsGone) {
  const Allowance window = allowance_of(Algorithm::fixed_window, 1'000, seconds(1'000));
  terms_.floor = 0;
  Charge what = charge();
  what.allowance = &window;
  for (int i = 0; i < 60; ++i) {
    clock_->advance(milliseconds(1));
    EXPECT_TRUE(take(what));
  }
  ASSERT_EQ(leased_.leased_keys(), 1U);
  CountingCall reset(Action::reset, clock_->now(), {what});
  EXPECT_TRUE(store_->memory.begin(reset)) << "as FLUSHALL does, without a word";
  Charge large = what;
  large.cost = 200;
  EXPECT_TRUE(take(large)) << "more than the slice has: the next draw";
  std::int64_t admitted = 200;
  for (; take(what); ++admitted) clock_->advance(milliseconds(1));
  EXPECT_EQ(admitted, 1'000);
}

}  // namespace
}  // namespace weir::leased
