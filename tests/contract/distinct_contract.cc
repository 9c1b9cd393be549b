#include "tests/contract/distinct_contract.h"

#include <random>

#include "tests/contract/model_store.h"
#include "tests/models/distinct_model.h"

namespace weir::contract {

std::string distinct_contract_name(const testing::TestParamInfo<StoreFactory>& info) { return info.param.name; }

std::vector<ChargeOutcome> DistinctContract::run_all(Action action, const std::vector<Charge>& charges) {
  OwnedCall call(action, now_, charges);
  store_->answer(call);
  EXPECT_EQ(call.status, Code::ok);
  return call.results();
}

TEST_P(DistinctContract, AValueCostsOneTheFirstTimeAndNothingAfterwards) {
  for (const Allowance* allowance : {&window_, &log_}) {
    const std::uint64_t bucket = allowance == &window_ ? 1 : 2;
    EXPECT_EQ(take(value(11, *allowance, bucket)).remaining, 2);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(take(value(11, *allowance, bucket)).remaining, 2);
    EXPECT_EQ(take(value(12, *allowance, bucket)).remaining, 1);
    EXPECT_EQ(take(value(13, *allowance, bucket)).remaining, 0);
    const ChargeOutcome denied = take(value(14, *allowance, bucket));
    EXPECT_FALSE(denied.admitted);
    EXPECT_EQ(denied.retry_after, Duration(seconds(60)));
    EXPECT_TRUE(take(value(12, *allowance, bucket)).admitted) << "it has been counted";
  }
}

TEST_P(DistinctContract, AWindowForgetsAllValuesAtItsEnd) {
  now_ += seconds(50);
  for (std::uint64_t each = 1; each <= 3; ++each) take(value(each, window_));
  const ChargeOutcome denied = take(value(4, window_));
  EXPECT_EQ(denied.retry_after, Duration(seconds(10)));
  now_ += denied.retry_after;
  EXPECT_EQ(take(value(4, window_)).remaining, 2);
}

TEST_P(DistinctContract, ALogForgetsEachValueOneWindowAfterItWasLastSeen) {
  take(value(1, log_));
  now_ += seconds(10);
  take(value(2, log_));
  now_ += seconds(10);
  take(value(3, log_));
  now_ += seconds(20);
  take(value(1, log_));  // renewed: now the second is the oldest
  const ChargeOutcome denied = take(value(4, log_));
  EXPECT_EQ(denied.retry_after, Duration(seconds(30)));
  now_ += denied.retry_after - Duration(1);
  EXPECT_FALSE(take(value(4, log_)).admitted);
  now_ += Duration(1);
  EXPECT_TRUE(take(value(4, log_)).admitted);
  EXPECT_FALSE(take(value(2, log_)).admitted);
  EXPECT_TRUE(take(value(1, log_)).admitted);
}

TEST_P(DistinctContract, RefundsRemoveNoValueAndAResetRemovesAll) {
  take(value(1, log_));
  take(value(2, log_));
  EXPECT_EQ(run(Action::refund, value(1, log_)).remaining, 1);
  EXPECT_EQ(run(Action::reset, value(1, log_)).remaining, 3);
}

TEST_P(DistinctContract, ALookCountsNothing) {
  EXPECT_TRUE(run(Action::peek, value(1, window_)).admitted);
  EXPECT_EQ(run(Action::peek, value(2, window_, 1, 0)).remaining, 3);
  for (std::uint64_t each = 1; each <= 3; ++each) take(value(each, window_));
  EXPECT_FALSE(run(Action::peek, value(4, window_)).admitted);
  EXPECT_TRUE(run(Action::peek, value(3, window_)).admitted);
  EXPECT_TRUE(take(value(4, window_, 1, 0)).admitted) << "a cost of 0 asks for nothing";
}

TEST_P(DistinctContract, ADeniedCallCountsNoValue) {
  if (GetParam().in_steps) GTEST_SKIP() << "what spans slots is counted and not taken back: undo never removes values";
  const Charge empty = charge_of(spread_key(950), window_, 3);
  run(Action::take, empty);
  EXPECT_TRUE(run_all(Action::take, {value(1, log_, 7), charge_of(spread_key(950), window_)})[0].admitted);
  EXPECT_EQ(run(Action::peek, value(1, log_, 7, 0)).remaining, 3);
}

TEST_P(DistinctContract, AThousandValuesAreCountedExactly) {
  const Allowance most = allowance_of(Algorithm::sliding_log, kMaxDistinct, seconds(60));
  for (std::uint64_t each = 1; each <= kMaxDistinct; ++each) {
    ASSERT_EQ(take(value(each * 7'919, most, 3)).remaining, kMaxDistinct - static_cast<std::int64_t>(each));
  }
  EXPECT_FALSE(take(value(5, most, 3)).admitted);
  EXPECT_TRUE(take(value(7'919, most, 3)).admitted);
}

TEST_P(DistinctContract, ASmallerLimitWaitsUntilEnoughHaveExpired) {
  for (std::uint64_t each = 1; each <= 3; ++each) {
    take(value(each, log_));
    now_ += seconds(5);
  }
  const Allowance one = allowance_of(Algorithm::sliding_log, 1, seconds(60));
  EXPECT_EQ(take(value(9, one)).retry_after, Duration(seconds(60 + 10 - 15)));
  EXPECT_TRUE(take(value(1, one)).admitted);
}

TEST_P(DistinctContract, AnswersAsTheModelDoes) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
    const Algorithm algorithm = below(2) == 0 ? Algorithm::fixed_window : Algorithm::sliding_log;
    const Allowance allowance = allowance_of(algorithm, 1 + below(6), seconds(1 + below(30)));
    models::DistinctModel model(allowance);
    for (int step = 0; step < 150; ++step) {
      const Charge charge = value(1 + below(9), allowance, 100 + seed, below(8) == 0 ? 0 : 1);
      const std::uint32_t kind = below(10);
      const Action action = kind < 7   ? Action::take
                            : kind < 8 ? Action::peek
                            : kind < 9 ? Action::refund
                                       : Action::reset;
      const ChargeOutcome got = run(action, charge);
      const bool asks = action == Action::take || action == Action::peek;
      if (action == Action::reset) model.forget();
      ChargeOutcome expected = outcome_of(model.peek(now_, charge.value, asks ? charge.cost : 0));
      if (action == Action::take && expected.admitted && charge.cost > 0) model.admit(now_, charge.value);
      if (action == Action::peek && expected.admitted && charge.cost > 0) {
        const ChargeOutcome standing = outcome_of(model.peek(now_, charge.value, 0));
        expected.remaining = standing.remaining;
        expected.reset_after = standing.reset_after;
      }
      ASSERT_EQ(got, expected) << "step " << step << ": remaining " << got.remaining << " wait "
                               << got.retry_after.count() << " reset " << got.reset_after.count() << ", expected "
                               << expected.remaining << " " << expected.retry_after.count() << " "
                               << expected.reset_after.count();
      now_ += milliseconds(below(4'000));
    }
  }
}

}  // namespace weir::contract
