#include "tests/contract/penalty_contract.h"

#include <map>
#include <random>

#include "tests/contract/model_store.h"
#include "tests/models/penalty_model.h"

namespace weir::contract {

std::string penalty_contract_name(const testing::TestParamInfo<StoreFactory>& info) { return info.param.name; }

std::vector<Charge> PenaltyContract::guarded(std::uint64_t number, std::int64_t cost) const {
  Charge bucket = charge_of(spread_key(number), rate_, cost);
  bucket.penalty = &penalty_;
  Charge guard = bucket;
  guard.key = spread_key(5'000 + number);
  guard.kind = ChargeKind::penalty;
  guard.cost = 0;
  guard.binding = false;
  return {bucket, guard};
}

std::vector<ChargeOutcome> PenaltyContract::run(Action action, const std::vector<Charge>& charges) {
  OwnedCall call(action, now_, charges);
  store_->answer(call);
  EXPECT_EQ(call.status, Code::ok);
  return call.results();
}

void PenaltyContract::deny(int times) {
  while (take().admitted) {
  }
  for (int i = 1; i < times; ++i) EXPECT_FALSE(take().admitted);
}

TEST_P(PenaltyContract, TheLastOfTheDenialsBeginsThePenaltyAndSaysSo) {
  take();
  take();
  const ChargeOutcome first = take();
  EXPECT_FALSE(first.admitted);
  EXPECT_FALSE(first.penalized);
  EXPECT_EQ(first.retry_after, Duration(seconds(10)));
  EXPECT_FALSE(take().penalized);
  const ChargeOutcome third = take();
  EXPECT_TRUE(third.penalized);
  EXPECT_FALSE(third.challenge);
  EXPECT_EQ(third.retry_after, Duration(seconds(30)));
}

TEST_P(PenaltyContract, APenalizedSubjectIsRefusedThoughItsBucketIsFullAndAdmittedExactlyAfterTheWait) {
  deny(3);
  now_ += seconds(20);
  const ChargeOutcome refused = take();
  EXPECT_FALSE(refused.admitted);
  EXPECT_TRUE(refused.penalized);
  EXPECT_EQ(refused.remaining, 2) << "nothing is charged";
  EXPECT_EQ(refused.retry_after, Duration(seconds(10)));
  now_ += refused.retry_after - Duration(1);
  EXPECT_TRUE(take().penalized);
  now_ += Duration(1);
  const ChargeOutcome admitted = take();
  EXPECT_TRUE(admitted.admitted);
  EXPECT_EQ(admitted.remaining, 1);
}

TEST_P(PenaltyContract, RefusalsByThePenaltyNeitherCountNorMakeItLonger) {
  deny(3);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(take().retry_after, Duration(seconds(30)));
  now_ += seconds(30);
  EXPECT_TRUE(take().admitted);
}

TEST_P(PenaltyContract, EachPenaltyLastsLongerUpToTheLongest) {
  for (const int expected : {30, 60, 100, 100}) {
    deny(3);
    const ChargeOutcome refused = take();
    EXPECT_EQ(refused.retry_after, Duration(seconds(expected)));
    now_ += refused.retry_after;
  }
}

TEST_P(PenaltyContract, StepsAreTakenBackInQuietTimes) {
  deny(3);
  now_ += seconds(30);
  deny(3);
  now_ += seconds(60) + std::chrono::hours(1);  // one of two steps
  deny(3);
  EXPECT_EQ(take().retry_after, Duration(seconds(60)));
  now_ += seconds(60) + std::chrono::hours(5);
  deny(3);
  EXPECT_EQ(take().retry_after, Duration(seconds(30)));
}

TEST_P(PenaltyContract, StrikesTooFarApartBeginAgain) {
  deny(2);
  now_ += penalty_.within;
  deny(1);
  EXPECT_FALSE(take().penalized) << "the second of these";
  EXPECT_TRUE(take().penalized);
}

TEST_P(PenaltyContract, OnlyDenialsByItsOwnBucketCount) {
  run(Action::take, {plain(1)});
  for (int i = 0; i < 10; ++i) {
    std::vector<Charge> charges = guarded(1);
    charges.push_back(plain(1));
    const std::vector<ChargeOutcome> outcomes = run(Action::take, charges);
    EXPECT_TRUE(outcomes[0].admitted);
    EXPECT_FALSE(outcomes[2].admitted);
  }
  EXPECT_TRUE(take().admitted);
}

TEST_P(PenaltyContract, APenaltyChargesNothingElseOfTheCall) {
  deny(3);
  std::vector<Charge> charges = guarded(1);
  charges.push_back(plain(2));
  run(Action::take, charges);
  EXPECT_TRUE(run(Action::take, {plain(2)})[0].admitted);
}

TEST_P(PenaltyContract, ACostThatCanNeverFitIsNoStrike) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(take(1, 3).too_large);
  EXPECT_TRUE(take().admitted);
}

TEST_P(PenaltyContract, ReportedFailuresCountLikeDenials) {
  report(Action::report_failure);
  report(Action::report_failure);
  EXPECT_TRUE(take().admitted);
  const ChargeOutcome third = report(Action::report_failure);
  EXPECT_TRUE(third.penalized);
  EXPECT_EQ(third.retry_after, Duration(seconds(30)));
  EXPECT_EQ(report(Action::report_failure).retry_after, Duration(seconds(30))) << "nor do reports make it longer";
  EXPECT_TRUE(take().penalized);
}

TEST_P(PenaltyContract, AReportedSuccessForgetsTheStrikesButEndsNoRefusal) {
  report(Action::report_failure);
  report(Action::report_failure);
  report(Action::report_success);
  report(Action::report_failure);
  EXPECT_FALSE(report(Action::report_failure).penalized);
  EXPECT_TRUE(report(Action::report_failure).penalized);
  EXPECT_TRUE(report(Action::report_success).penalized);
}

TEST_P(PenaltyContract, WhatDoesNotCountIsLeftAlone) {
  penalty_.on_reported = false;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(report(Action::report_failure).penalized);
  penalty_.on_reported = true;
  penalty_.on_denied = false;
  deny(5);
  EXPECT_FALSE(take().penalized);
}

TEST_P(PenaltyContract, TheFirstStepsAskForAChallengeThatASuccessEnds) {
  penalty_.challenges = 1;
  deny(3);
  const ChargeOutcome asked = take();
  EXPECT_TRUE(asked.penalized);
  EXPECT_TRUE(asked.challenge);
  report(Action::report_success);
  now_ += seconds(10);
  EXPECT_TRUE(take().admitted);
  deny(3);
  const ChargeOutcome refused = take();
  EXPECT_TRUE(refused.penalized);
  EXPECT_FALSE(refused.challenge) << "the step that the challenge ended still counts";
  EXPECT_EQ(refused.retry_after, Duration(seconds(60)));
}

TEST_P(PenaltyContract, AReportedSuccessClearsTheBucketsThatItIsToClear) {
  take(1, 2);
  EXPECT_EQ(run(Action::report_success, guarded(1, 0))[0].remaining, 0);
  EXPECT_EQ(run(Action::report_success, guarded(1, 1))[0].remaining, 2);
  EXPECT_TRUE(take().admitted);
  take(2, 2);
  EXPECT_EQ(run(Action::report_success, {guarded(2, 1)[0]})[0].remaining, 2) << "also without a penalty";
  EXPECT_EQ(run(Action::report_failure, {guarded(2, 0)[0]})[0].remaining, 2);
}

TEST_P(PenaltyContract, ALookTellsThePenaltyAndChangesNothing) {
  deny(2);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(run(Action::peek, guarded(1))[0].penalized);
  EXPECT_TRUE(take().penalized);
  EXPECT_TRUE(run(Action::peek, guarded(1))[0].penalized);
  EXPECT_EQ(run(Action::peek, guarded(1))[0].retry_after, Duration(seconds(30)));
}

TEST_P(PenaltyContract, AResetForgetsThePenalty) {
  deny(3);
  run(Action::reset, guarded(1));
  EXPECT_TRUE(take().admitted);
  deny(3);
  EXPECT_EQ(take().retry_after, Duration(seconds(30)));
}

TEST_P(PenaltyContract, AShadowRuleCountsAndHoldsBackNobody) {
  std::vector<Charge> shadow = guarded(1);
  shadow[0].binding = false;
  shadow.push_back(plain(3));
  for (int i = 0; i < 5; ++i) run(Action::take, {shadow[0], shadow[1]});
  const std::vector<ChargeOutcome> outcomes = run(Action::take, shadow);
  EXPECT_TRUE(outcomes[0].penalized);
  EXPECT_TRUE(outcomes[2].admitted);
  EXPECT_FALSE(run(Action::take, {plain(3)})[0].admitted) << "it was charged";
}

// Buckets and penalties at random: the models' answers, to the microsecond.
TEST_P(PenaltyContract, AnswersAsTheModelDoes) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&random](int bound) { return static_cast<int>(random() % static_cast<std::uint32_t>(bound)); };
    penalty_ = {.after = 1 + below(4),
                .within = seconds(1 + below(120)),
                .block = seconds(1 + below(60)),
                .factor = 1 + below(4),
                .max = below(2) == 0 ? Duration(0) : Duration(seconds(60 + below(600))),
                .on_denied = below(4) != 0,
                .on_reported = true,
                .decay = seconds(120 + below(600)),
                .challenges = below(3)};
    ModelStore buckets;
    models::PenaltyModel model(penalty_);
    const std::uint64_t number = 10 + seed;
    for (int step = 0; step < 150; ++step) {
      const int kind = below(10);
      const Action action = kind < 6   ? Action::take
                            : kind < 7 ? Action::peek
                            : kind < 9 ? Action::report_failure
                                       : Action::report_success;
      const bool asks = action == Action::take || action == Action::peek;
      const std::vector<Charge> charges = guarded(number, asks ? 1 : 0);
      const ChargeOutcome got = run(action, charges)[0];

      if (action == Action::report_failure && !model.penalized(now_)) model.strike(now_);
      if (action == Action::report_success) model.success(now_);
      const bool refused = model.penalized(now_);
      ChargeOutcome expected = ask(buckets, refused || !asks ? Action::peek : action, now_, charges[0]);
      const bool struck = action == Action::take && !refused && !expected.admitted && penalty_.on_denied;
      if (struck) model.strike(now_);
      if (model.penalized(now_)) {
        const Duration own = expected.admitted ? Duration(0) : expected.retry_after;
        expected.admitted = false;
        expected.penalized = true;
        expected.challenge = model.challenge(now_);
        expected.retry_after = std::max(model.wait(now_), own);
        expected.reset_after = std::max(expected.reset_after, expected.retry_after);
      }
      ASSERT_EQ(got, expected) << "step " << step << ": " << got.penalized << got.admitted << " wait "
                               << got.retry_after.count() << ", expected " << expected.penalized << expected.admitted
                               << " wait " << expected.retry_after.count();
      now_ += below(3) == 0 ? seconds(below(200)) : milliseconds(below(3'000));
    }
    now_ += std::chrono::hours(1);
  }
}

}  // namespace weir::contract
