#include "tests/contract/candidate_contract.h"

#include <random>

#include "tests/contract/model_store.h"

namespace weir::contract {

std::string candidate_contract_name(const testing::TestParamInfo<StoreFactory>& info) { return info.param.name; }

std::vector<Charge> CandidateContract::judged(const Allowance& candidate, std::uint64_t number,
                                              std::int64_t cost) const {
  const Charge active = charge_of(spread_key(1'000 + number), active_, cost);
  Charge beside = charge_of(spread_key(1'300 + number), candidate, cost);
  beside.candidate = true;
  beside.binding = false;
  return {active, beside};
}

std::vector<ChargeOutcome> CandidateContract::run(Action action, const std::vector<Charge>& charges) {
  OwnedCall call(action, now_, charges);
  store_->answer(call);
  EXPECT_EQ(call.status, Code::ok);
  return call.results();
}

// All of them are looked at, because a candidate lives in the slot of the charge that it belongs to.
std::int64_t CandidateContract::left(std::vector<Charge> charges, std::size_t i) {
  for (Charge& charge : charges) charge.cost = 0;
  return run(Action::peek, charges)[i].remaining;
}

TEST_P(CandidateContract, WhatBothAdmitIsChargedToBoth) {
  const std::vector<ChargeOutcome> outcomes = take(judged(larger_));
  EXPECT_TRUE(outcomes[0].admitted);
  EXPECT_TRUE(outcomes[1].admitted);
  EXPECT_EQ(outcomes[0].remaining, 2);
  EXPECT_EQ(outcomes[1].remaining, 4);
}

TEST_P(CandidateContract, ASmallerCandidateDeniesAndNothingElseChanges) {
  EXPECT_TRUE(take(judged(smaller_))[1].admitted);
  for (int left = 1; left >= 0; --left) {
    const std::vector<ChargeOutcome> outcomes = take(judged(smaller_));
    EXPECT_TRUE(outcomes[0].admitted);
    EXPECT_EQ(outcomes[0].remaining, left);
    EXPECT_FALSE(outcomes[1].admitted);
  }
  EXPECT_FALSE(take(judged(smaller_))[0].admitted) << "the active numbers decide";
}

TEST_P(CandidateContract, ALargerCandidateIsChargedForWhatOnlyItsOwnRuleDenies) {
  for (int i = 0; i < 3; ++i) take(judged(larger_));
  for (int left = 1; left >= 0; --left) {
    const std::vector<ChargeOutcome> outcomes = take(judged(larger_));
    EXPECT_FALSE(outcomes[0].admitted);
    EXPECT_TRUE(outcomes[1].admitted);
    EXPECT_EQ(outcomes[1].remaining, left);
  }
  EXPECT_FALSE(take(judged(larger_))[1].admitted);
}

TEST_P(CandidateContract, WhatAnotherRuleDeniesIsNotChargedToIt) {
  take({other(1)});
  std::vector<Charge> charges = judged(larger_);
  charges.insert(charges.begin() + 1, other(1));
  charges[2].of = 0;
  EXPECT_TRUE(take(charges)[2].admitted);
  EXPECT_EQ(left(charges, 2), 5);
  // Nor is what both deny.
  for (int i = 0; i < 3; ++i) take(judged(larger_));
  EXPECT_EQ(left(charges, 2), 2);
  take(charges);
  EXPECT_EQ(left(charges, 2), 2);
}

TEST_P(CandidateContract, AShadowRuleBesideItHoldsNothingBack) {
  take({other(2)});
  std::vector<Charge> charges = judged(larger_);
  charges.push_back(other(2));
  charges[2].binding = false;
  EXPECT_FALSE(take(charges)[2].admitted);
  EXPECT_EQ(left(charges, 1), 4);
}

TEST_P(CandidateContract, OfTwoRulesEachHasItsOwn) {
  std::vector<Charge> charges = {judged(larger_, 1)[0], judged(smaller_, 2)[0], judged(larger_, 1)[1],
                                 judged(larger_, 2)[1]};
  charges[3].of = 1;
  for (int i = 0; i < 3; ++i) take(judged(larger_, 1));
  // The first denies: only its own candidate is charged.
  const std::vector<ChargeOutcome> outcomes = take(charges);
  EXPECT_FALSE(outcomes[0].admitted);
  EXPECT_TRUE(outcomes[1].admitted);
  EXPECT_EQ(left(charges, 2), 1);
  EXPECT_EQ(left(charges, 3), 5);
  EXPECT_EQ(left(charges, 1), 3);
}

TEST_P(CandidateContract, LooksChargeNothingAndRefundsAndResetsGoToBoth) {
  run(Action::peek, judged(larger_));
  EXPECT_EQ(left(judged(larger_), 1), 5);
  take(judged(larger_));
  take(judged(larger_));
  run(Action::refund, judged(larger_));
  EXPECT_EQ(left(judged(larger_), 0), 2);
  EXPECT_EQ(left(judged(larger_), 1), 4);
  run(Action::reset, judged(larger_));
  EXPECT_EQ(left(judged(larger_), 1), 5);
}

TEST_P(CandidateContract, WhatAPenaltyRefusesIsNotJudged) {
  const Penalty penalty{.after = 1, .within = seconds(60), .block = seconds(60), .decay = seconds(60)};
  std::vector<Charge> charges = judged(larger_, 7);
  charges[0].penalty = &penalty;
  Charge guard = charges[0];
  guard.key = spread_key(1'900);
  guard.kind = ChargeKind::penalty;
  guard.cost = 0;
  guard.binding = false;
  charges.insert(charges.begin() + 1, guard);
  for (int i = 0; i < 4; ++i) take(charges);
  EXPECT_EQ(left(charges, 2), 1) << "the denial that begins the penalty is the bucket's own";
  EXPECT_TRUE(take(charges)[0].penalized);
  EXPECT_EQ(left(charges, 2), 1);
}

// Two buckets that bind, a candidate of each: charged as the models are.
TEST_P(CandidateContract, ChargesAsTheModelsDo) {
  if (GetParam().in_steps) GTEST_SKIP() << "what is charged and given back leaves traces in some algorithms";
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t bound) { return random() % bound; };
    const auto any = [&] {
      return allowance_of(static_cast<Algorithm>(below(kAlgorithmCount)), 1 + below(6), seconds(1 + below(20)));
    };
    const Allowance numbers[4] = {any(), any(), any(), any()};
    std::vector<Charge> charges;
    ModelStore models;
    for (std::uint64_t i = 0; i < 4; ++i) {
      charges.push_back(charge_of(spread_key(3'000 + 10 * seed + i), numbers[i]));
      if (i < 2) continue;
      charges[i].candidate = true;
      charges[i].binding = false;
      charges[i].of = static_cast<std::uint8_t>(i - 2);
    }
    for (int step = 0; step < 100; ++step) {
      for (Charge& charge : charges) charge.cost = 1 + below(2);
      std::vector<ChargeOutcome> expected;
      for (const Charge& charge : charges) expected.push_back(ask(models, Action::peek, now_, charge));
      const bool admitted = expected[0].admitted && expected[1].admitted;
      for (std::size_t i = 0; i < 4; ++i) {
        const bool charged = i < 2 ? admitted : expected[i].admitted && expected[3 - i].admitted;
        if (charged) expected[i] = ask(models, Action::take, now_, charges[i]);
      }
      const std::vector<ChargeOutcome> got = take(charges);
      for (std::size_t i = 0; i < 4; ++i) ASSERT_EQ(got[i], expected[i]) << "step " << step << ", charge " << i;
      now_ += milliseconds(below(3'000));
    }
  }
}

}  // namespace weir::contract
