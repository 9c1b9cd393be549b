// What a store owes to one bucket.
#include "tests/contract/store_contract.h"

namespace weir::contract {

TEST_P(StoreContract, AdmitsUpToTheLimitAndNotBeyond) {
  for (std::int64_t i = 0; i < kLimit; ++i) {
    const ChargeOutcome outcome = take(charge(1));
    ASSERT_TRUE(outcome.admitted) << i;
    EXPECT_EQ(outcome.remaining, kLimit - 1 - i);
    EXPECT_EQ(outcome.retry_after.count(), 0);
    EXPECT_GT(outcome.reset_after.count(), 0);
  }
  const ChargeOutcome denied = take(charge(1));
  EXPECT_FALSE(denied.admitted);
  EXPECT_FALSE(denied.too_large);
  EXPECT_EQ(denied.remaining, 0);
  EXPECT_GT(denied.retry_after.count(), 0);
}

TEST_P(StoreContract, KeepsBucketsApart) {
  for (std::int64_t i = 0; i < kLimit; ++i) ASSERT_TRUE(take(charge(1)).admitted);
  EXPECT_FALSE(take(charge(1)).admitted);
  EXPECT_EQ(take(charge(2)).remaining, kLimit - 1);
}

TEST_P(StoreContract, KeepsApartKeysThatShareAHalf) {
  Charge first = charge(1);
  Charge same_high = charge(1);
  same_high.key.low ^= std::uint64_t{1} << 20U;  // a store may use the last 20 bits for the number of the rule
  Charge same_low = charge(1);
  same_low.key.high ^= 1;
  Charge zero = charge(1);
  zero.key = {0, 0};
  take(first);
  EXPECT_EQ(left(same_high), kLimit);
  EXPECT_EQ(left(same_low), kLimit);
  EXPECT_EQ(take(zero).remaining, kLimit - 1);
  EXPECT_EQ(take(zero).remaining, kLimit - 2);
  EXPECT_EQ(left(first), kLimit - 1);
}

TEST_P(StoreContract, DeniedRequestsDoNotConsume) {
  take(charge(1, kLimit));
  const ChargeOutcome first = take(charge(1));
  ASSERT_FALSE(first.admitted);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(take(charge(1)).retry_after, first.retry_after);
  }
  now_ += first.retry_after;
  EXPECT_TRUE(take(charge(1)).admitted);
}

TEST_P(StoreContract, ARetryAloneIsAdmittedExactlyWhenPromised) {
  now_ += microseconds(1'234'567);
  for (int i = 0; i < 5; ++i) {
    while (take(charge(1, 3)).admitted) now_ += microseconds(77'777);
    const ChargeOutcome denied = peek(charge(1, 3));
    ASSERT_FALSE(denied.admitted);
    ASSERT_GT(denied.retry_after.count(), 0);
    now_ += denied.retry_after - microseconds(1);
    EXPECT_FALSE(peek(charge(1, 3)).admitted);
    now_ += microseconds(1);
    EXPECT_TRUE(take(charge(1, 3)).admitted);
  }
}

TEST_P(StoreContract, ABucketIsAsNewWhenPromised) {
  take(charge(1, 4));
  const ChargeOutcome taken = take(charge(1, 3));
  ASSERT_TRUE(taken.admitted);
  now_ += taken.reset_after;
  EXPECT_EQ(left(charge(1)), kLimit);
  EXPECT_EQ(peek(charge(1, 0)).reset_after.count(), 0);
}

TEST_P(StoreContract, ACostThatCanNeverFitSaysSoInsteadOfATime) {
  for (const std::int64_t cost : {kLimit + 1, kMaxUnits}) {
    const ChargeOutcome outcome = take(charge(1, cost));
    EXPECT_FALSE(outcome.admitted);
    EXPECT_TRUE(outcome.too_large);
    EXPECT_EQ(outcome.retry_after.count(), 0);
    EXPECT_EQ(outcome.remaining, kLimit);
  }
  EXPECT_EQ(take(charge(1, kLimit)).remaining, 0);
}

TEST_P(StoreContract, ALimitOfZeroAdmitsNothingAndKeepsWhatIsUsed) {
  const Allowance closed = allowance_of(algorithm(), 0, kWindow);
  ASSERT_EQ(take(charge(1, 2)).remaining, kLimit - 2);
  for (const bool count_denied : {false, true}) {
    for (const std::uint64_t bucket : {1, 2}) {
      Charge none = charge(bucket);
      none.allowance = &closed;
      none.count_denied = count_denied;
      for (const ChargeOutcome& outcome : {take(none), peek(none)}) {
        EXPECT_FALSE(outcome.admitted);
        EXPECT_TRUE(outcome.too_large);
        EXPECT_EQ(outcome.remaining, 0);
        EXPECT_EQ(outcome.retry_after.count(), 0);
      }
    }
  }
  EXPECT_EQ(left(charge(1)), kLimit - 2);
  EXPECT_EQ(left(charge(2)), kLimit);
}

TEST_P(StoreContract, ACostOfZeroIsAdmittedEvenWhenExhausted) {
  EXPECT_EQ(take(charge(1, 0)).remaining, kLimit);
  take(charge(1, kLimit));
  const ChargeOutcome outcome = take(charge(1, 0));
  EXPECT_TRUE(outcome.admitted);
  EXPECT_EQ(outcome.remaining, 0);
  EXPECT_EQ(outcome.retry_after.count(), 0);
}

TEST_P(StoreContract, PeekAnswersAsTakeWouldAndChangesNothing) {
  take(charge(1, 4));
  const ChargeOutcome before = peek(charge(1, 0));
  EXPECT_EQ(before.remaining, kLimit - 4);
  for (int i = 0; i < 20; ++i) {
    const ChargeOutcome look = peek(charge(1, 6));
    EXPECT_TRUE(look.admitted);
    EXPECT_EQ(look.remaining, before.remaining);
    EXPECT_EQ(look.reset_after, before.reset_after);
  }
  EXPECT_TRUE(take(charge(1, 6)).admitted);
  EXPECT_FALSE(peek(charge(1, 6)).admitted);
  EXPECT_GT(peek(charge(1, 6)).retry_after.count(), 0);
}

TEST_P(StoreContract, RefundGivesBackButNeverAboveFull) {
  EXPECT_EQ(refund(charge(1, 5)).remaining, kLimit);  // a bucket that does not exist is full
  take(charge(1, 6));
  EXPECT_EQ(refund(charge(1, 2)).remaining, kLimit - 4);
  EXPECT_EQ(refund(charge(1, 0)).remaining, kLimit - 4);
  EXPECT_EQ(refund(charge(1, kMaxUnits)).remaining, kLimit);
  EXPECT_EQ(take(charge(1, kLimit)).remaining, 0);
  EXPECT_FALSE(take(charge(1)).admitted);
}

TEST_P(StoreContract, ResetForgetsTheBucket) {
  take(charge(1, kLimit));
  take(charge(2, kLimit));
  const ChargeOutcome outcome = reset(charge(1));
  EXPECT_TRUE(outcome.admitted);
  EXPECT_EQ(outcome.remaining, kLimit);
  EXPECT_EQ(outcome.reset_after.count(), 0);
  EXPECT_TRUE(take(charge(1, kLimit)).admitted);
  EXPECT_FALSE(take(charge(2)).admitted);
}

TEST_P(StoreContract, AClockThatStepsBackGivesNothingTwice) {
  take(charge(1, kLimit));
  const TimePoint exhausted = now_;
  for (const Duration back : {Duration(microseconds(1)), Duration(kWindow), Duration(std::chrono::hours(1))}) {
    now_ = exhausted - back;
    const ChargeOutcome denied = take(charge(1));
    ASSERT_FALSE(denied.admitted);
    now_ += denied.retry_after;
    EXPECT_TRUE(peek(charge(1)).admitted);
    EXPECT_GT(now_, exhausted);
  }
}

TEST_P(StoreContract, CountDeniedConsumesWhatIsLeftAndStaysHonest) {
  Charge counted = charge(1, 6);
  counted.count_denied = true;
  ASSERT_TRUE(take(counted).admitted);
  // A leaky bucket lets a request of any size join while the wait is short enough.
  ChargeOutcome outcome = take(counted);
  if (outcome.admitted) outcome = take(counted);
  ASSERT_FALSE(outcome.admitted);
  EXPECT_EQ(outcome.remaining, 0);
  EXPECT_EQ(left(counted), 0);
  ASSERT_GT(outcome.retry_after.count(), 0);
  now_ += outcome.retry_after;
  EXPECT_TRUE(take(counted).admitted);
}

// What is charged after the fact, such as the tokens of an answer, may be more than the limit: it must be felt.
// Work that has been done, such as Envoy tells of after a response: charged whether it fits or not.
TEST_P(StoreContract, ADeniedAttemptCanBeADebtUpToTheOverdraft) {
  Allowance allowance = allowance_;
  allowance.overdraft = 3;
  Charge late = charge(1, 10);
  late.allowance = &allowance;
  late.count_denied = late.follows = true;
  EXPECT_TRUE(take(late).admitted);
  late.cost = 7;
  const ChargeOutcome debt = take(late);
  EXPECT_FALSE(debt.admitted);
  EXPECT_EQ(debt.uncharged, 4);
  late.cost = 3;
  EXPECT_EQ(refund(late).remaining, 0) << "3 of the 7 were charged beyond the capacity";
  Charge other = charge(2, 10);
  late.cost = 2;
  const ChargeOutcome fits = run(Action::take, {other, late})[1];
  EXPECT_FALSE(fits.admitted) << "together with others";
  EXPECT_EQ(fits.uncharged, 0);
  EXPECT_EQ(left(other), 10) << "which are not charged";
  EXPECT_EQ(refund(late).remaining, 0);
  late.cost = 1;
  EXPECT_EQ(refund(late).remaining, 1);
}

TEST_P(StoreContract, CountDeniedConsumesWhatIsLeftAlsoWhenTheCostCouldNeverFit) {
  for (const std::int64_t used : {0, 3}) {
    Charge counted = charge(static_cast<std::uint64_t>(10 + used), used);
    counted.count_denied = true;
    if (used > 0) {
      ASSERT_TRUE(take(counted).admitted);
    }
    counted.cost = kLimit * 100;
    const ChargeOutcome outcome = take(counted);
    EXPECT_FALSE(outcome.admitted);
    EXPECT_TRUE(outcome.too_large);
    EXPECT_EQ(outcome.remaining, 0);
    EXPECT_EQ(left(counted), 0);
    EXPECT_GT(outcome.reset_after.count(), 0);
    counted.cost = 1;
    const ChargeOutcome next = take(counted);
    ASSERT_FALSE(next.admitted);
    now_ += next.retry_after;
    EXPECT_TRUE(take(counted).admitted);
  }
}

// A reload applies other numbers to buckets that exist. What was used stays used.
TEST_P(StoreContract, ChangedLimitsApplyAtOnceToTheSameBucket) {
  const Allowance raised = allowance_of(algorithm(), kLimit * 2, kWindow);
  const Allowance lowered = allowance_of(algorithm(), kLimit / 2, kWindow);
  take(charge(1, kLimit));
  Charge later = charge(1, kLimit);
  later.allowance = &lowered;
  EXPECT_TRUE(take(later).too_large);
  later.cost = 1;
  EXPECT_FALSE(take(later).admitted);
  EXPECT_EQ(left(later), 0);

  later.allowance = &raised;
  EXPECT_LE(left(later), raised.limit - kLimit);
  later.cost = raised.limit;
  const ChargeOutcome waits = take(later);
  EXPECT_FALSE(waits.too_large);
  if (!waits.admitted) now_ += waits.retry_after;
  EXPECT_TRUE(waits.admitted || take(later).admitted);
}

}  // namespace weir::contract
