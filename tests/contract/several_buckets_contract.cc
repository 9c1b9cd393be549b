// What a store owes to a call over several buckets.
#include <random>

#include "tests/contract/model_store.h"
#include "tests/contract/store_contract.h"

namespace weir::contract {

TEST_P(StoreContract, ChargesAllBucketsOrNone) {
  const std::vector<Charge> charges = {charge(1, 2), charge(2, 3), charge(3, 4)};
  std::vector<ChargeOutcome> outcomes = run(Action::take, charges);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(outcomes[i].admitted);
    EXPECT_EQ(outcomes[i].remaining, kLimit - charges[i].cost);
  }
  take(charge(2, kLimit - 3));
  outcomes = run(Action::take, charges);
  EXPECT_TRUE(outcomes[0].admitted);
  EXPECT_FALSE(outcomes[1].admitted);
  EXPECT_TRUE(outcomes[2].admitted);
  EXPECT_EQ(outcomes[0].remaining, kLimit - 2) << "uncharged, because the call was denied";
  EXPECT_EQ(outcomes[1].remaining, 0);
  EXPECT_EQ(left(charge(1)), kLimit - 2);
  EXPECT_EQ(left(charge(3)), kLimit - 4);
}

TEST_P(StoreContract, ADenialLeavesNewBucketsNew) {
  take(charge(9, kLimit));
  run(Action::take, {charge(1), charge(9), charge(2)});
  EXPECT_EQ(left(charge(1)), kLimit);
  EXPECT_EQ(left(charge(2)), kLimit);
  EXPECT_EQ(peek(charge(1, 0)).reset_after.count(), 0);
}

TEST_P(StoreContract, TooLargeACostForOneBucketChargesNone) {
  const std::vector<ChargeOutcome> outcomes = run(Action::take, {charge(1), charge(2, kLimit + 1)});
  EXPECT_TRUE(outcomes[1].too_large);
  EXPECT_EQ(left(charge(1)), kLimit);
}

TEST_P(StoreContract, AShadowChargeHoldsBackNobody) {
  Charge shadow = charge(2);
  shadow.binding = false;
  take(charge(2, kLimit));
  const std::vector<ChargeOutcome> outcomes = run(Action::take, {charge(1), shadow});
  EXPECT_TRUE(outcomes[0].admitted);
  EXPECT_EQ(outcomes[0].remaining, kLimit - 1);
  EXPECT_FALSE(outcomes[1].admitted);
  EXPECT_EQ(left(charge(1)), kLimit - 1);
}

TEST_P(StoreContract, AShadowChargeCountsOnlyWhatTheCallAdmits) {
  Charge shadow = charge(2);
  shadow.binding = false;
  run(Action::take, {charge(1), shadow});
  EXPECT_EQ(left(shadow), kLimit - 1);
  take(charge(1, kLimit - 1));
  const std::vector<ChargeOutcome> outcomes = run(Action::take, {charge(1), shadow});
  EXPECT_FALSE(outcomes[0].admitted);
  EXPECT_TRUE(outcomes[1].admitted);
  EXPECT_EQ(left(shadow), kLimit - 1);
}

TEST_P(StoreContract, CountDeniedCountsInTheDenyingBucketOnly) {
  Charge counted = charge(1);
  counted.count_denied = true;
  Charge other = charge(2);
  other.count_denied = true;
  take(charge(1, kLimit));
  // Between the two moments some of it may have come back; the counted denial takes that too.
  now_ += kWindow / kLimit / 2;
  const std::vector<ChargeOutcome> outcomes = run(Action::take, {counted, other});
  ASSERT_FALSE(outcomes[0].admitted);
  EXPECT_EQ(left(charge(1)), 0);
  EXPECT_EQ(left(charge(2)), kLimit);
  now_ += outcomes[0].retry_after;
  EXPECT_TRUE(take(charge(1)).admitted);
}

TEST_P(StoreContract, PeekRefundAndResetReachEveryBucket) {
  const std::vector<Charge> charges = {charge(1, 5), charge(2, 6)};
  run(Action::take, charges);
  std::vector<ChargeOutcome> outcomes = run(Action::peek, charges);
  EXPECT_EQ(outcomes[0].remaining, kLimit - 5);
  EXPECT_EQ(outcomes[1].remaining, kLimit - 6);
  outcomes = run(Action::refund, {charge(1, 2), charge(2, 3)});
  EXPECT_EQ(outcomes[0].remaining, kLimit - 3);
  EXPECT_EQ(outcomes[1].remaining, kLimit - 3);
  outcomes = run(Action::reset, charges);
  EXPECT_EQ(outcomes[0].remaining, kLimit);
  EXPECT_EQ(left(charge(2)), kLimit);
}

TEST_P(StoreContract, TakesTheMostChargesThatACallMayHave) {
  std::vector<Charge> charges;
  for (std::uint64_t i = 0; i < 64; ++i) charges.push_back(charge(i));
  for (std::int64_t i = 0; i < kLimit; ++i) {
    for (const ChargeOutcome& outcome : run(Action::take, charges)) ASSERT_EQ(outcome.remaining, kLimit - 1 - i);
  }
  for (const ChargeOutcome& outcome : run(Action::take, charges)) EXPECT_FALSE(outcome.admitted);
}

TEST_P(StoreContract, ACallWithoutChargesIsAnswered) { EXPECT_TRUE(run(Action::take, {}).empty()); }

void StoreContract::expect_answers_of(ModelStore& model, bool clock_may_step_back) {
  std::mt19937_64 random(20'261'115);
  auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random() % bound); };
  const Allowance allowances[] = {allowance_of(algorithm(), 7, seconds(3)),
                                  allowance_of(algorithm(), 1, milliseconds(7)),
                                  allowance_of(algorithm(), 1'000, milliseconds(500)), allowance_};
  for (int step = 0; step < 1'500; ++step) {
    const std::int64_t kind = below(20);
    if (kind < 10) now_ += microseconds(below(400'000));
    if (kind == 10 && clock_may_step_back) now_ -= microseconds(below(2'000'000));
    if (kind == 11) now_ += seconds(below(30));
    std::vector<Charge> charges;
    for (std::uint64_t bucket = 0; bucket < 6; ++bucket) {
      if (below(3) != 0) continue;
      Charge one = charge(bucket);
      one.allowance = &allowances[bucket % 4];
      one.cost = below(3) == 0 ? below(static_cast<std::uint64_t>(one.allowance->limit) + 2) : below(4);
      one.binding = below(4) != 0;
      one.count_denied = bucket == 3;
      charges.push_back(one);
    }
    const std::int64_t what = below(40);
    const Action action = what == 0  ? Action::reset
                          : what < 4 ? Action::refund
                          : what < 8 ? Action::peek
                                     : Action::take;
    OwnedCall expected(action, now_, charges);
    ASSERT_TRUE(model.begin(expected));
    const std::vector<ChargeOutcome> got = run(action, charges);
    for (std::size_t i = 0; i < charges.size(); ++i) {
      ASSERT_EQ(models::answer_of(got[i]), models::answer_of(expected.results()[i]))
          << "step " << step << ", charge " << i << " of " << charges.size() << ", cost " << charges[i].cost;
    }
  }
}

// A charge that was undone has still shown the bucket how late it is.
TEST_P(StoreContract, AnswersAsTheReferenceModelsInRandomRuns) {
  ModelStore model(std::get<0>(GetParam()).in_steps ? ModelStore::Denial::undoes : ModelStore::Denial::charges_nothing);
  expect_answers_of(model, true);
}

// While clocks go forward, steps that are undone cannot be distinguished from one step that charges nothing.
TEST_P(StoreContract, AnswersAsOneAtomicStepWhileClocksGoForward) {
  ModelStore model(ModelStore::Denial::charges_nothing);
  expect_answers_of(model, false);
}

}  // namespace weir::contract
