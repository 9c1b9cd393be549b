#include "base/partial_call.h"

#include <gtest/gtest.h>

#include <array>

namespace weir::base {
namespace {

class Part final : public PartialCall {
 public:
  void complete() override {}
};

class Whole final : public StoreCall {
 public:
  Whole() {
    for (std::size_t i = 0; i < list_.size(); ++i) list_[i].cost = static_cast<std::int64_t>(i);
    charges = list_;
    outcomes = results_;
  }
  void complete() override {}
  Charge& at(std::size_t i) { return list_[i]; }

 private:
  std::array<Charge, 4> list_;
  std::array<ChargeOutcome, 4> results_;
};

TEST(PartialCall, HasTheChargesThatAreNotCoveredAndPutsTheirAnswersInPlace) {
  Whole whole;
  Part part;
  part.take_over(whole, 0b0101);
  ASSERT_EQ(part.charges.size(), 2U);
  EXPECT_EQ(part.charges[0].cost, 1);
  EXPECT_EQ(part.charges[1].cost, 3);
  part.outcomes[0].remaining = 11;
  part.outcomes[1].remaining = 13;
  EXPECT_TRUE(part.hand_back(whole));
  EXPECT_EQ(whole.outcomes[0].remaining, 0);
  EXPECT_EQ(whole.outcomes[1].remaining, 11);
  EXPECT_EQ(whole.outcomes[3].remaining, 13);
}

TEST(PartialCall, WhatBelongsToAnotherChargeFollowsIt) {
  Whole whole;
  whole.at(3).kind = ChargeKind::penalty;
  whole.at(3).of = 2;
  Part part;
  part.take_over(whole, 0b0011);
  EXPECT_EQ(part.charges[1].of, 0);
}

TEST(PartialCall, ADenialHoldsBackOnlyIfItBinds) {
  Whole whole;
  whole.at(1).binding = false;
  Part part;
  part.take_over(whole, 0b0001);
  part.outcomes[0].admitted = false;
  EXPECT_TRUE(part.hand_back(whole));
  part.outcomes[1].admitted = false;
  EXPECT_FALSE(part.hand_back(whole));
}

TEST(PartialCall, SaysWhoAnsweredAndForgetsItForTheNext) {
  Whole whole;
  Part part;
  part.take_over(whole, 0b0001);
  part.answered = Consistency::leased;
  part.regional = true;
  part.atomic = false;
  part.status = Code::unavailable;
  EXPECT_FALSE(part.hand_back(whole));
  EXPECT_EQ(whole.answered, Consistency::leased);
  EXPECT_TRUE(whole.regional);
  EXPECT_FALSE(whole.atomic);
  EXPECT_EQ(whole.status, Code::unavailable);
  part.take_over(whole, 0b0001);
  EXPECT_TRUE(part.hand_back(whole));
  EXPECT_EQ(whole.answered, Consistency::exact);
  EXPECT_FALSE(whole.regional);
  EXPECT_TRUE(whole.atomic);
}

TEST(PartialCall, AsksForTheSameAtTheSameTime) {
  Whole whole;
  whole.action = Action::refund;
  whole.set_reading({TimePoint(Duration{5}), Duration{7}});
  whole.ingress = TimePoint(Duration{9});
  Part part;
  part.take_over(whole, 0b0001);
  EXPECT_EQ(part.action, Action::refund);
  EXPECT_EQ(part.now, TimePoint(Duration{5}));
  EXPECT_EQ(part.ahead, Duration{7});
  EXPECT_EQ(part.ingress, TimePoint(Duration{9}));
  part.take_over(Whole(), 0b0001);
  EXPECT_EQ(part.action, Whole().action) << "nothing is left of the call before";
  EXPECT_EQ(part.now, TimePoint{});
  EXPECT_EQ(part.ingress, TimePoint{});
}

}  // namespace
}  // namespace weir::base
