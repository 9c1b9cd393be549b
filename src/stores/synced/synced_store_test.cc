#include "stores/synced/synced_store.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/heap_growth.h"
#include "tests/support/slow_store.h"

namespace weir::synced {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SyncedStoreTest : public testing::Test {
 protected:
  static constexpr std::int64_t kCredit = 25;  // 5 % of 1,000, divided by 2

  SyncedStoreTest() { credit_->set(2, clock_->now() + std::chrono::hours(10)); }

  Allowance bucket_ =
      make_allowance({.algorithm = Algorithm::token_bucket, .limit = 1'000, .window = seconds(10)}).value();
  const Allowance window_ =
      make_allowance({.algorithm = Algorithm::fixed_window, .limit = 1'000, .window = seconds(10)}).value();
  SliceTerms terms_{.consistency = Consistency::synced,
                    .version = 1,
                    .tolerance = 5,
                    .in_percent = true,
                    .sync_interval = milliseconds(100)};
  const std::shared_ptr<SlowStore> store_ = std::make_shared<SlowStore>();
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::shared_ptr<std::atomic<std::uint64_t>> epoch_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  const std::shared_ptr<Credit> credit_ = std::make_shared<Credit>();
  SyncedStore synced_{{.store = store_, .clock = clock_, .boot = clock_, .credit = credit_, .epoch = epoch_}};

  Charge charge(std::int64_t cost = 1, std::uint64_t key = 1) const {
    Charge charge;
    charge.key = {key << 32U, key};
    charge.allowance = &bucket_;
    charge.rule = "r";
    charge.cost = cost;
    charge.slices = &terms_;
    return charge;
  }
  Charge in_window(std::int64_t cost = 1) const {
    Charge charge = this->charge(cost, 7);
    charge.allowance = &window_;
    return charge;
  }
  Charge exact(std::int64_t cost, std::uint64_t key = 1) const {
    Charge plain = charge(cost, key);
    plain.slices = nullptr;
    return plain;
  }
  ChargeOutcome run(Action action, const Charge& what) {
    CountingCall call(action, clock_->now(), {what});
    EXPECT_TRUE(synced_.begin(call));
    answered_ = call.answered;
    status_ = call.status;
    return call.outcomes[0];
  }
  bool take(const Charge& what) { return run(Action::take, what).admitted && status_ == Code::ok; }
  // Another node, in the store itself.
  bool take_elsewhere(const Charge& what) {
    CountingCall call(Action::take, clock_->now(), {what});
    EXPECT_TRUE(store_->memory.begin(call));
    return call.outcomes[0].admitted;
  }
  std::int64_t store_left(Charge what) {
    what.cost = 0;
    what.slices = nullptr;
    CountingCall look(Action::peek, clock_->now(), {what});
    EXPECT_TRUE(store_->memory.begin(look));
    return look.outcomes[0].remaining;
  }

  Consistency answered_ = Consistency::exact;
  Code status_ = Code::ok;
};

TEST_F(SyncedStoreTest, TheFirstRequestIsExactAndTheNextAreAdmittedByWhatItSaid) {
  EXPECT_FALSE(run(Action::take, charge()).estimated);
  EXPECT_EQ(answered_, Consistency::exact);
  const ChargeOutcome outcome = run(Action::take, charge());
  EXPECT_TRUE(outcome.admitted && outcome.estimated);
  EXPECT_EQ(outcome.remaining, 998);
  EXPECT_EQ(answered_, Consistency::synced);
  EXPECT_EQ(store_->calls, 1);
}

TEST_F(SyncedStoreTest, WhatIsAdmittedHereDelaysWhenTheBucketIsFull) {
  take(charge(100));
  const ChargeOutcome first = run(Action::take, charge());
  ASSERT_TRUE(first.estimated);
  EXPECT_EQ(first.remaining, 899);
  // A second for the hundred, a thousandth of it for the clocks, and ten milliseconds for the one.
  EXPECT_EQ(first.reset_after, milliseconds(1'011) + Duration{1});
  clock_->advance(milliseconds(5));
  const ChargeOutcome second = run(Action::take, charge(2));
  EXPECT_EQ(second.remaining, 897);
  EXPECT_EQ(second.reset_after, milliseconds(1'026) + Duration{1});
}

TEST_F(SyncedStoreTest, ADenialThatIsKnownTellsTheWaitWithoutTheStore) {
  take(charge(995));
  const ChargeOutcome denied = run(Action::take, charge(10));
  EXPECT_EQ(store_->calls, 1);
  EXPECT_FALSE(denied.admitted);
  EXPECT_TRUE(denied.estimated);
  EXPECT_EQ(denied.remaining, 5);
  EXPECT_EQ(denied.retry_after, milliseconds(50));
  EXPECT_GE(denied.reset_after, seconds(9));
  run(Action::take, charge(1'001));
  EXPECT_EQ(store_->calls, 2) << "the store says that it can never fit";
}

TEST_F(SyncedStoreTest, ADenialInAWindowWaitsForItsEnd) {
  take(in_window(995));
  const ChargeOutcome denied = run(Action::take, in_window(10));
  EXPECT_EQ(store_->calls, 1);
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.remaining, 5);
  EXPECT_GT(denied.retry_after, Duration{0});
  EXPECT_LE(denied.retry_after, seconds(10));
  EXPECT_EQ(denied.reset_after, denied.retry_after);
  clock_->advance(denied.retry_after);
  EXPECT_TRUE(take(in_window(5)));
}

TEST_F(SyncedStoreTest, HalfOfTheCreditIsReportedAtOnce) {
  for (int i = 0; i < 13; ++i) take(charge());
  EXPECT_EQ(store_->calls, 1) << "12 of 25";
  take(charge());
  EXPECT_EQ(store_->calls, 2);
  EXPECT_EQ(store_->draws.back().late, 13);
  EXPECT_EQ(store_left(charge()), 986);
}

TEST_F(SyncedStoreTest, WhatIsUnsyncedIsReportedAfterTheInterval) {
  take(charge());
  take(charge());
  EXPECT_TRUE(synced_.wants_tick());
  clock_->advance(milliseconds(99));
  synced_.tick();
  EXPECT_EQ(store_->calls, 1);
  clock_->advance(milliseconds(1));
  synced_.tick();
  EXPECT_EQ(store_->calls, 2);
  synced_.tick();
  EXPECT_FALSE(synced_.wants_tick()) << "everything is reported";
}

TEST_F(SyncedStoreTest, BeyondTheCreditTheStoreDecides) {
  take(charge());
  store_->at_once = false;
  for (int i = 0; i < kCredit; ++i) EXPECT_TRUE(take(charge())) << i;
  CountingCall more(Action::take, clock_->now(), {charge()});
  EXPECT_FALSE(synced_.begin(more)) << "13 are reported and not answered, 12 are not reported";
  store_->answer();
  EXPECT_EQ(more.completions, 1);
  EXPECT_EQ(more.answered, Consistency::exact);
  EXPECT_TRUE(take(charge())) << "the report was answered";
  synced_.tick(true);
  store_->answer();
}

TEST_F(SyncedStoreTest, NothingIsAdmittedBeyondWhatIsKnown) {
  EXPECT_TRUE(take(charge(990)));
  EXPECT_TRUE(take(charge(10)));
  const ChargeOutcome denied = run(Action::take, charge());
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(answered_, Consistency::synced) << "the store was asked just now";
  EXPECT_GT(denied.retry_after, Duration{0});
  clock_->advance(milliseconds(150));  // 15 units
  EXPECT_TRUE(take(charge(14)));
}

TEST_F(SyncedStoreTest, ADebtIsNotForgottenWhileItIsRepaid) {
  EXPECT_TRUE(take(charge(500)));
  EXPECT_TRUE(take_elsewhere(exact(500)));
  for (int i = 0; i < 13; ++i) take(charge());  // reported: the bucket owes 13 more than it has
  EXPECT_EQ(store_->draws.back().late, 13);
  clock_->advance(milliseconds(120));  // 12 units
  EXPECT_FALSE(take(charge())) << "of which it owes all";
  clock_->advance(milliseconds(20));
  EXPECT_TRUE(take(charge()));
}

TEST_F(SyncedStoreTest, ATokenBucketIsNeverExceededByMoreThanTheCredit) {
  take(charge());
  std::int64_t admitted = 1;
  while (take_elsewhere(exact(1))) ++admitted;
  while (take(charge())) ++admitted;
  EXPECT_GT(admitted, 1'000) << "it did not know";
  EXPECT_LE(admitted, 1'000 + kCredit);
}

TEST_F(SyncedStoreTest, AnAnswerThatIsLostCostsItsUnitsOnceAndIsNotSentAgain) {
  take(charge());
  store_->at_once = false;
  for (int i = 0; i < 13; ++i) EXPECT_TRUE(take(charge()));
  store_->failure = Code::deadline_exceeded;
  store_->answer();
  EXPECT_EQ(synced_.stats().lost_reports.load(), 1U);
  EXPECT_EQ(synced_.stats().lost.load(), 13U);
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(take(charge())) << "the rest of the credit";
  store_->answer();
  const int before = store_->calls;
  CountingCall more(Action::take, clock_->now(), {charge()});
  EXPECT_FALSE(synced_.begin(more)) << "while the store is away there is one credit";
  EXPECT_EQ(store_->calls, before + 1);
  store_->answer();
  EXPECT_EQ(more.status, Code::deadline_exceeded);
  store_->failure = Code::ok;
  store_->at_once = true;
  EXPECT_TRUE(take(charge())) << "it answers again";
  synced_.tick(true);
  EXPECT_EQ(store_left(charge()), 998) << "what was lost is not charged";
}

TEST_F(SyncedStoreTest, WithoutAnAnswerNothingIsKnownOfABucket) {
  store_->at_once = false;
  store_->failure = Code::deadline_exceeded;
  CountingCall first(Action::take, clock_->now(), {charge()});
  ASSERT_FALSE(synced_.begin(first));
  store_->answer();
  EXPECT_EQ(first.status, Code::deadline_exceeded);
  clock_->advance(seconds(10));
  CountingCall next(Action::take, clock_->now(), {charge()});
  EXPECT_FALSE(synced_.begin(next)) << "the store decides";
  store_->failure = Code::ok;
  store_->answer();
  EXPECT_TRUE(run(Action::take, charge()).estimated);
}

TEST_F(SyncedStoreTest, ABucketThatTheStoreCannotReadIsNoLongerKnown) {
  take(charge());
  ASSERT_TRUE(run(Action::take, charge()).estimated);
  store_->at_once = false;
  synced_.tick(true);
  ASSERT_EQ(store_->waiting.size(), 1U);
  StoreCall& report = *store_->waiting.back();
  store_->waiting.clear();
  report.status = Code::ok;
  report.outcomes[0].status = Code::data_loss;
  report.complete();
  CountingCall next(Action::take, clock_->now(), {charge()});
  EXPECT_FALSE(synced_.begin(next)) << "the store decides";
  store_->answer();
}

TEST_F(SyncedStoreTest, AReportThatWasNotSentIsSentLater) {
  take(charge());
  store_->refuses = true;
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(take(charge())) << i;
  EXPECT_FALSE(take(charge()));
  EXPECT_EQ(status_, Code::unavailable) << "the rule's policy decides";
  store_->refuses = false;
  clock_->advance(milliseconds(100));
  synced_.tick();
  EXPECT_EQ(store_left(charge()), 975) << "the first is refilled";
  EXPECT_EQ(synced_.stats().lost_reports.load(), 0U);
}

TEST_F(SyncedStoreTest, WithoutCreditEveryRequestIsExact) {
  credit_->set(0, TimePoint{});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(run(Action::take, charge()).estimated);
  EXPECT_EQ(store_->calls, 5);
  credit_->set(100, clock_->now() + seconds(1));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(run(Action::take, charge()).estimated) << "50 divided by 100 is less than 1";
  EXPECT_EQ(store_->calls, 10);
}

TEST_F(SyncedStoreTest, ACreditEndsByTheClockSinceBoot) {
  take(charge());
  credit_->set(2, clock_->now() + milliseconds(50));
  EXPECT_TRUE(run(Action::take, charge()).estimated);
  clock_->advance(milliseconds(50));
  EXPECT_FALSE(run(Action::take, charge()).estimated);
}

TEST_F(SyncedStoreTest, ASmallerPartIsSettledWhenWhatIsUnsyncedFitsIntoIt) {
  take(charge());
  store_->at_once = false;
  for (int i = 0; i < 20; ++i) take(charge());
  EXPECT_EQ(synced_.settled(), 2U);
  credit_->set(4, clock_->now() + seconds(1));
  synced_.tick();
  EXPECT_EQ(synced_.settled(), 2U) << "20 are not answered for, and a quarter is 12";
  store_->answer();
  synced_.tick();
  store_->answer();
  synced_.tick();
  EXPECT_EQ(synced_.settled(), 4U);
}

TEST_F(SyncedStoreTest, ACreditThatHasEndedChangesNothingAboutWhatIsInUse) {
  take(charge());
  take(charge());
  ASSERT_EQ(synced_.settled(), 2U);
  clock_->advance(std::chrono::hours(11));
  synced_.tick(true);
  EXPECT_EQ(synced_.settled(), 2U);
}

TEST_F(SyncedStoreTest, WhatIsKnownIsUsedForAsLongAsTheStoreIsAway) {
  take(charge());
  take(charge());
  store_->refuses = true;
  clock_->advance(milliseconds(150));
  synced_.tick();
  for (int i = 0; i < 5; ++i) {
    clock_->advance(milliseconds(300));
    EXPECT_TRUE(take(charge())) << "at " << i;
    EXPECT_EQ(answered_, Consistency::synced);
  }
}

TEST_F(SyncedStoreTest, WhatBelongsToAnotherChargeFollowsItToTheStore) {
  take(charge());
  ASSERT_TRUE(run(Action::take, charge()).estimated);
  store_->at_once = false;
  Charge candidate = exact(1, 3);
  candidate.candidate = true;
  Charge penalty = exact(1, 3);
  penalty.kind = ChargeKind::penalty;
  for (Charge belongs : {candidate, penalty}) {
    belongs.of = 1;
    CountingCall call(Action::take, clock_->now(), {charge(), exact(1, 2), belongs});
    ASSERT_FALSE(synced_.begin(call));
    ASSERT_EQ(store_->waiting.back()->charges.size(), 2U) << "without the one that is answered here";
    EXPECT_EQ(store_->waiting.back()->charges[1].of, 0);
    store_->waiting.back()->status = Code::unavailable;
    store_->waiting.back()->complete();
    store_->waiting.clear();
  }
}

TEST_F(SyncedStoreTest, AStoreThatNoOneAsksSettlesToo) {
  take(charge());
  take(charge());
  synced_.tick(true);
  synced_.tick();
  EXPECT_FALSE(synced_.wants_tick());
  credit_->set(4, clock_->now() + seconds(1));
  EXPECT_TRUE(synced_.wants_tick()) << "else the node that joins would wait for it without end";
  synced_.tick();
  EXPECT_EQ(synced_.settled(), 4U);
}

TEST_F(SyncedStoreTest, WantsATickOnlyWhileThereIsSomethingToReportOrToSettle) {
  EXPECT_FALSE(synced_.wants_tick()) << "no one has used its credit";
  take(charge());
  synced_.tick(true);
  EXPECT_FALSE(synced_.wants_tick()) << "the store knows all";
  take(charge());
  EXPECT_TRUE(synced_.wants_tick());
  synced_.tick(true);
  synced_.tick(true);
  EXPECT_FALSE(synced_.wants_tick());
  credit_->set(4, clock_->now() + std::chrono::hours(10));
  EXPECT_TRUE(synced_.wants_tick()) << "its part is smaller";
  synced_.tick(false);
  EXPECT_FALSE(synced_.wants_tick());
  credit_->set(2, clock_->now() + std::chrono::hours(10));
  EXPECT_TRUE(synced_.wants_tick()) << "its part is larger";
  clock_->advance(std::chrono::hours(11));
  EXPECT_FALSE(synced_.wants_tick()) << "there is no part to settle";
}

TEST_F(SyncedStoreTest, AKeyThatIsAskedForNowAndThenIsExact) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(run(Action::take, charge()).estimated);
    clock_->advance(milliseconds(201));
  }
}

TEST_F(SyncedStoreTest, AWindowIsReadAgainWhenItHasEnded) {
  take(in_window(900));
  EXPECT_TRUE(run(Action::take, in_window()).estimated);
  clock_->advance(seconds(10));
  const ChargeOutcome outcome = run(Action::take, in_window());
  EXPECT_FALSE(outcome.estimated);
  EXPECT_EQ(outcome.remaining, 999) << "what was not reported in time is not charged to the next window";
}

TEST_F(SyncedStoreTest, ALateReportIsNotChargedToTheNextWindow) {
  take(in_window());
  store_->at_once = false;
  for (int i = 0; i < 13; ++i) EXPECT_TRUE(take(in_window()));
  clock_->advance(seconds(10));
  for (StoreCall* const call : store_->waiting) call->now = clock_->now();
  store_->answer();
  EXPECT_EQ(store_left(in_window()), 1'000);
}

TEST_F(SyncedStoreTest, OtherRulesReadTheBucketAgainAndKeepWhatIsOwed) {
  take(charge());
  take(charge(5));
  SliceTerms other = terms_;
  other.version = 2;
  Charge changed = charge();
  changed.slices = &other;
  EXPECT_FALSE(run(Action::take, changed).estimated);
  EXPECT_EQ(store_->draws.back().late, 5);
  EXPECT_EQ(store_left(charge()), 993);
}

TEST_F(SyncedStoreTest, AStoreThatMayHaveLostItsDataIsReadAgain) {
  take(charge());
  epoch_->fetch_add(1);
  EXPECT_FALSE(run(Action::take, charge()).estimated);
}

TEST_F(SyncedStoreTest, ARefundTakesBackWhatIsNotReported) {
  take(charge());
  take(charge(5));
  run(Action::refund, charge(5));
  EXPECT_EQ(answered_, Consistency::synced);
  run(Action::refund, charge(1));
  EXPECT_EQ(answered_, Consistency::exact) << "it was charged by the store";
  EXPECT_EQ(store_left(charge()), 1'000);
}

TEST_F(SyncedStoreTest, AResetForgetsWhatIsNotReported) {
  take(charge());
  take(charge(5));
  run(Action::reset, charge());
  synced_.tick(true);
  EXPECT_EQ(store_left(charge()), 1'000);
}

TEST_F(SyncedStoreTest, ADecisionOverSeveralBucketsIsAllOrNone) {
  take(charge(1, 1));
  EXPECT_TRUE(take_elsewhere(exact(1'000, 2)));
  CountingCall both(Action::take, clock_->now(), {charge(5, 1), exact(1, 2)});
  EXPECT_TRUE(synced_.begin(both));
  EXPECT_FALSE(both.outcomes[1].admitted);
  synced_.tick(true);
  EXPECT_EQ(store_left(charge()), 999) << "nothing is charged for it";
  CountingCall other(Action::take, clock_->now(), {charge(5, 1), exact(1, 3)});
  EXPECT_TRUE(synced_.begin(other));
  EXPECT_EQ(other.answered, Consistency::exact);
  synced_.tick(true);
  EXPECT_EQ(store_left(charge()), 994);
}

TEST_F(SyncedStoreTest, UnitsOfADecisionThatWaitsAreNotAdmittedTwice) {
  take(charge());
  store_->at_once = false;
  CountingCall both(Action::take, clock_->now(), {charge(20, 1), exact(1, 2)});
  EXPECT_FALSE(synced_.begin(both));
  CountingCall more(Action::take, clock_->now(), {charge(6)});
  EXPECT_FALSE(synced_.begin(more)) << "20 of 25 are held";
  store_->answer();
  EXPECT_TRUE(both.outcomes[0].admitted && both.outcomes[0].estimated);
  store_->at_once = true;
  synced_.tick(true);
  EXPECT_EQ(store_left(charge()), 973);
}

TEST_F(SyncedStoreTest, AReportDoesNotHaveTheGatewaysTimeOfAnEarlierCall) {
  CountingCall first(Action::take, clock_->now(), {charge()});
  first.ingress = clock_->now() - seconds(1);
  ASSERT_TRUE(synced_.begin(first));
  take(charge());
  store_->at_once = false;
  synced_.tick(true);
  ASSERT_EQ(store_->waiting.size(), 1U);
  EXPECT_EQ(store_->waiting.back()->ingress, TimePoint{});
  store_->answer();
}

TEST_F(SyncedStoreTest, UsesItsExchangesAndRemaindersAgain) {
  store_->at_once = false;
  const auto ask_and_answer = [this] {
    for (int i = 0; i < 200; ++i) {
      clock_->advance(milliseconds(200));
      CountingCall alone(Action::take, clock_->now(), {charge()});
      if (!synced_.begin(alone)) store_->answer();
      CountingCall both(Action::take, clock_->now(), {charge(), exact(1, 2)});
      if (!synced_.begin(both)) store_->answer();
      store_->answer();
      EXPECT_EQ(both.completions, 1);
      store_->draws.clear();
    }
  };
  ask_and_answer();
  const tests::HeapGrowth growth;
  ask_and_answer();
  EXPECT_LT(growth.bytes(), 4'096);
}

}  // namespace
}  // namespace weir::synced
