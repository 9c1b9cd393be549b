#include "tests/contract/reservation_contract.h"

#include <utility>

namespace weir::contract {

Charge ReservationContract::bucket(std::uint64_t number) const {
  Charge charge = charge_of(spread_key(number), allowance_, 0);
  charge.follows = true;
  return charge;
}

Charge ReservationContract::fixed(std::int64_t cost) const { return charge_of(spread_key(200), other_, cost); }

Charge ReservationContract::slot() const {
  Charge charge = charge_of(spread_key(300), slots_, 1);
  charge.kind = ChargeKind::lease;
  return charge;
}

ReservationContract::Result ReservationContract::run(Action action, std::vector<Charge> charges, HoldStep hold) {
  if (charges.empty()) charges.push_back(bucket());
  if (hold.listed == nullptr) {
    charges.push_back(charge_of(hold.id, record_, 1));
    charges.back().kind = ChargeKind::record;
  }
  hold.reservation = true;
  OwnedCall call(action, now_, std::move(charges));
  call.hold = &hold;
  store_->answer(call);
  EXPECT_EQ(call.status, Code::ok);
  return {call.results(), hold};
}

ReservationContract::Result ReservationContract::reserve(std::uint64_t id, std::int64_t amount,
                                                         std::vector<Charge> charges, Duration ttl, bool partial) {
  HoldStep hold;
  hold.id = reservation_id(id);
  hold.ttl = ttl;
  hold.amount = amount;
  hold.partial = partial;
  return run(Action::take, std::move(charges), hold);
}

ReservationContract::Result ReservationContract::extend(std::uint64_t id, std::int64_t add, Duration ttl,
                                                        bool partial) {
  HoldStep hold;
  hold.id = reservation_id(id);
  hold.ttl = ttl;
  hold.amount = add;
  hold.partial = partial;
  return run(Action::renew, {}, hold);
}

ReservationContract::Result ReservationContract::commit(std::uint64_t id, std::int64_t actual,
                                                        std::vector<Charge> charges) {
  HoldStep hold;
  hold.id = reservation_id(id);
  hold.actual = actual;
  return run(Action::settle, std::move(charges), hold);
}

ReservationContract::Result ReservationContract::release(std::uint64_t id, std::vector<Charge> charges) {
  HoldStep hold;
  hold.id = reservation_id(id);
  hold.closing = ReservationState::released;
  return run(Action::settle, std::move(charges), hold);
}

ReservationContract::Result ReservationContract::get(std::uint64_t id) {
  HoldStep hold;
  hold.id = reservation_id(id);
  return run(Action::list, {}, hold);
}

std::vector<ListedHold> ReservationContract::list() {
  std::vector<ListedHold> listed;
  HoldStep hold;
  hold.listed = &listed;
  run(Action::list, {}, hold);
  return listed;
}

ChargeOutcome ReservationContract::plain(Action action, Charge charge, std::int64_t cost) {
  charge.cost = cost;
  charge.follows = false;
  OwnedCall call(action, now_, {charge});
  store_->answer(call);
  EXPECT_EQ(call.status, Code::ok);
  return call.results()[0];
}

TEST_P(ReservationContract, HoldsUnitsUntilTheyAreSettled) {
  const Result made = reserve(1, 6);
  EXPECT_TRUE(made.taken());
  EXPECT_EQ(made.hold.granted, 6);
  EXPECT_EQ(made.hold.expires, now_ + kTtl);
  EXPECT_EQ(made.outcomes[0].remaining, 4);
  EXPECT_EQ(left(), 4);
  EXPECT_EQ(plain(Action::peek, bucket(), 5).admitted, has_queue());
  EXPECT_TRUE(take(1));
  const Result settled = commit(1, 2);
  EXPECT_EQ(settled.hold.state, HoldState::ended);
  EXPECT_EQ(settled.hold.reserved, ReservationState::committed);
  EXPECT_EQ(settled.hold.returned, 4);
  EXPECT_EQ(settled.hold.debt, 0);
  EXPECT_EQ(settled.hold.uncharged, 0);
  EXPECT_EQ(settled.outcomes[0].remaining, 7);
  EXPECT_EQ(left(), 7);
}

TEST_P(ReservationContract, ReleasingReturnsEverything) {
  EXPECT_TRUE(reserve(1, 10).taken());
  EXPECT_EQ(left(), 0);
  const Result settled = release(1);
  EXPECT_EQ(settled.hold.reserved, ReservationState::released);
  EXPECT_EQ(settled.hold.returned, 10);
  EXPECT_EQ(left(), 10);
}

TEST_P(ReservationContract, MoreThanWasReservedIsADebtUpToTheOverdraft) {
  EXPECT_TRUE(reserve(1, 4).taken());
  const Result first = commit(1, 15);
  EXPECT_EQ(first.hold.debt, 11);
  EXPECT_EQ(first.hold.uncharged, 0);
  EXPECT_EQ(first.hold.returned, 0);
  const ChargeOutcome denied = plain(Action::take, bucket(), 1);
  EXPECT_FALSE(denied.admitted);
  EXPECT_GT(denied.retry_after.count(), 0);
  now_ += denied.retry_after;
  EXPECT_TRUE(take(1)) << "a lone retry at the moment told";

  allowance_.overdraft = 3;
  const Result again = reserve(2, 0, {bucket(2)});
  EXPECT_TRUE(again.taken());
  const Result second = commit(2, 20, {bucket(2)});
  EXPECT_EQ(second.hold.debt, 13);
  EXPECT_EQ(second.hold.uncharged, 7);
}

TEST_P(ReservationContract, IsClosedOnce) {
  EXPECT_TRUE(reserve(1, 6).taken());
  EXPECT_EQ(commit(1, 2).hold.state, HoldState::ended);
  const Result replay = commit(1, 5);
  EXPECT_EQ(replay.hold.state, HoldState::gone);
  EXPECT_EQ(replay.hold.reserved, ReservationState::committed);
  EXPECT_EQ(replay.hold.granted, 6);
  EXPECT_EQ(replay.hold.actual, 2);
  EXPECT_EQ(replay.hold.returned, 4);
  EXPECT_EQ(release(1).hold.reserved, ReservationState::committed);
  EXPECT_EQ(extend(1, 1, kTtl).hold.state, HoldState::gone);
  EXPECT_EQ(reserve(1, 1).hold.state, HoldState::gone) << "nor is its id taken again";
  EXPECT_EQ(left(), 8);

  EXPECT_TRUE(reserve(2, 1).taken());
  EXPECT_EQ(commit(2, 3).hold.debt, 2);
  EXPECT_EQ(commit(2, 3).hold.debt, 2);
  EXPECT_EQ(left(), 5);
}

TEST_P(ReservationContract, AClosedOneIsKnownForOneTtl) {
  EXPECT_TRUE(reserve(1, 6).taken());
  EXPECT_EQ(release(1).hold.state, HoldState::ended);
  now_ += kTtl - microseconds(1);
  EXPECT_EQ(commit(1, 1).hold.reserved, ReservationState::released);
  now_ += microseconds(1);
  EXPECT_EQ(commit(1, 1).hold.reserved, ReservationState::expired) << "nothing is known of it";
  EXPECT_TRUE(reserve(1, 6).taken());
}

TEST_P(ReservationContract, OneThatLapsesReturnsWhatItHeld) {
  EXPECT_TRUE(reserve(1, 6, {}, seconds(1)).taken());
  now_ += seconds(1) - microseconds(1);
  EXPECT_LT(left(), 10);
  EXPECT_EQ(get(1).hold.state, HoldState::live);
  now_ += microseconds(1);
  EXPECT_EQ(left(), 10);
  EXPECT_EQ(get(1).hold.reserved, ReservationState::expired);
  const Result late = commit(1, 6);
  EXPECT_EQ(late.hold.state, HoldState::gone);
  EXPECT_EQ(late.hold.reserved, ReservationState::expired);
  EXPECT_EQ(left(), 10);
}

TEST_P(ReservationContract, ARuleCanKeepWhatLapsed) {
  allowance_.charges_lapsed = true;
  EXPECT_TRUE(reserve(1, 6, {}, milliseconds(10)).taken());
  now_ += milliseconds(10);
  EXPECT_EQ(left(), 4);
  EXPECT_EQ(commit(1, 6).hold.reserved, ReservationState::expired);
}

// Burst 100 at 100 a minute: 100 are reserved, a minute later 100 more pass, then nothing of the first is used.
TEST_P(ReservationContract, NeverReturnsMoreThanWasStillOwed) {
  if (!is_debt()) GTEST_SKIP();
  EXPECT_TRUE(reserve(1, 10).taken());
  now_ += kWindow;
  EXPECT_TRUE(take(10));
  EXPECT_EQ(commit(1, 0).hold.returned, 0);
  EXPECT_FALSE(take(1));
  EXPECT_EQ(left(), 0);
}

TEST_P(ReservationContract, ReturnsWhatWasOwedAtTheLowest) {
  if (!is_debt()) GTEST_SKIP();
  EXPECT_TRUE(reserve(1, 8).taken());
  now_ += seconds(6);
  EXPECT_TRUE(take(5));  // owed: 2, then 7
  now_ += seconds(1);
  EXPECT_EQ(commit(1, 0).hold.returned, 2);
  EXPECT_EQ(left(), 6);
}

TEST_P(ReservationContract, ReturnsGoToTheOwnWindowOrNowhere) {
  if (is_debt()) GTEST_SKIP();
  EXPECT_TRUE(reserve(1, 6).taken());
  now_ += 2 * kWindow;
  EXPECT_TRUE(take(7));
  EXPECT_EQ(commit(1, 0).hold.returned, 0);
  EXPECT_EQ(left(), 3);
}

TEST_P(ReservationContract, ExcessIsChargedInTheWindowThatIsOpen) {
  EXPECT_TRUE(reserve(1, 6).taken());
  now_ += 2 * kWindow;
  EXPECT_EQ(commit(1, 9).hold.debt, 3);
  EXPECT_EQ(left(), 7);
}

TEST_P(ReservationContract, GrowsWhileItIsOpen) {
  EXPECT_TRUE(reserve(1, 4, {}, seconds(1)).taken());
  const Result grown = extend(1, 3, seconds(5));
  EXPECT_EQ(grown.hold.state, HoldState::live);
  EXPECT_EQ(grown.hold.granted, 7);
  EXPECT_EQ(grown.hold.expires, now_ + seconds(5));
  EXPECT_EQ(left(), 3);
  const Result refused = extend(1, has_queue() ? 11 : 4, seconds(9));
  EXPECT_EQ(refused.hold.state, HoldState::none);
  EXPECT_FALSE(refused.outcomes[0].admitted);
  EXPECT_EQ(get(1).hold.expires, now_ + seconds(5)) << "nothing of it happens";
  EXPECT_EQ(extend(1, 4, Duration{0}, true).hold.granted, 10);
  EXPECT_EQ(get(1).hold.expires, now_ + seconds(5)) << "no ttl: it stays";
  EXPECT_EQ(list().size(), 3U);
  EXPECT_EQ(commit(1, 5).hold.returned, 5);
  EXPECT_EQ(left(), 5);
}

// The units that were added last are the first to go back.
TEST_P(ReservationContract, WhatWasAddedLaterIsReturnedFirst) {
  EXPECT_TRUE(reserve(1, 4).taken());
  now_ += 2 * kWindow;  // the first 4 count no more
  EXPECT_EQ(extend(1, 6, kTtl).hold.granted, 10);
  EXPECT_EQ(commit(1, 5).hold.returned, 5);
  EXPECT_EQ(left(), 9);
}

TEST_P(ReservationContract, PartialGrantsWhatFitsAndAtLeastOne) {
  EXPECT_TRUE(take(7));
  const Result some = reserve(1, 8, {}, kTtl, true);
  EXPECT_TRUE(some.taken());
  EXPECT_EQ(some.hold.granted, 3);
  const Result none = reserve(2, 8, {}, kTtl, true);
  EXPECT_FALSE(none.taken());
  EXPECT_FALSE(none.outcomes[0].admitted);
  now_ += none.outcomes[0].retry_after;
  EXPECT_GE(reserve(3, 8, {}, kTtl, true).hold.granted, 1);
}

TEST_P(ReservationContract, PartialGrantsTheSameToEveryRule) {
  Charge strict = bucket(2);
  strict.allowance = &other_;
  const Result some = reserve(1, 8, {bucket(), strict}, kTtl, true);
  EXPECT_EQ(some.hold.granted, 5);
  EXPECT_EQ(left(), 5);
  strict.binding = false;
  EXPECT_EQ(reserve(2, 5, {bucket(), strict}, kTtl, true).hold.granted, 5) << "a shadow rule takes nothing away";
}

TEST_P(ReservationContract, ADryRunChangesNothing) {
  EXPECT_TRUE(take(7));
  HoldStep hold;
  hold.id = reservation_id(1);
  hold.amount = 8;
  EXPECT_EQ(run(Action::peek, {}, hold).outcomes[0].admitted, has_queue());
  hold.partial = true;
  const Result would = run(Action::peek, {}, hold);
  EXPECT_TRUE(would.outcomes[0].admitted);
  EXPECT_EQ(would.hold.granted, 3);
  EXPECT_EQ(left(), 3);
  EXPECT_TRUE(list().empty());
  EXPECT_EQ(get(1).hold.state, HoldState::none) << "nothing is known of it";
}

TEST_P(ReservationContract, IsAllOrNoneOverBucketsAndLeases) {
  const std::vector<Charge> all = {bucket(), fixed(3), slot()};
  const Result first = reserve(1, 4, all);
  EXPECT_TRUE(first.taken());
  EXPECT_GT(first.hold.token, 0U);
  const Result second = reserve(2, 4, all);
  EXPECT_FALSE(second.taken());
  EXPECT_EQ(left(), 6);
  EXPECT_EQ(left(fixed(1)), 2);
  EXPECT_EQ(left(slot()), 0);
  const Result settled = commit(1, 1, all);
  EXPECT_EQ(settled.hold.returned, 3);
  EXPECT_EQ(left(), 9);
  EXPECT_EQ(left(fixed(1)), 2) << "a cost of its own stays";
  EXPECT_EQ(left(slot()), 1);
  EXPECT_FALSE(reserve(3, 4, all).taken()) << "2 of 3 are left";
  EXPECT_EQ(left(), 9);
  EXPECT_EQ(left(slot()), 1);
}

TEST_P(ReservationContract, AReleaseReturnsCostsOfTheirOwnToo) {
  EXPECT_TRUE(reserve(1, 4, {bucket(), fixed(3)}).taken());
  EXPECT_EQ(release(1, {bucket(), fixed(3)}).hold.returned, 4);
  EXPECT_EQ(left(fixed(1)), 5);
}

TEST_P(ReservationContract, AnIdMadeTwiceIsTheSameReservation) {
  EXPECT_TRUE(reserve(1, 4).taken());
  now_ += milliseconds(5);
  const Result again = reserve(1, 9);
  EXPECT_EQ(again.hold.state, HoldState::live);
  EXPECT_EQ(again.hold.granted, 4);
  EXPECT_EQ(again.hold.expires, now_ - milliseconds(5) + kTtl);
  EXPECT_EQ(list().size(), 1U);
}

TEST_P(ReservationContract, AnIdWithAReservationOfAnotherAmountIsRefused) {
  const auto reserve_exactly = [this](std::uint64_t id, std::int64_t amount, bool partial = false) {
    HoldStep hold;
    hold.id = reservation_id(id);
    hold.ttl = kTtl;
    hold.amount = amount;
    hold.partial = partial;
    hold.actual = amount + 1;
    return run(Action::take, {}, hold);
  };
  EXPECT_TRUE(reserve_exactly(1, 4).taken());
  EXPECT_EQ(reserve_exactly(1, 5).hold.state, HoldState::other);
  EXPECT_EQ(reserve_exactly(1, 0).hold.state, HoldState::other);
  ASSERT_EQ(list().size(), 1U);
  EXPECT_EQ(list()[0].units, 4);
  EXPECT_EQ(reserve_exactly(1, 4).hold.state, HoldState::live);
  EXPECT_EQ(reserve(1, 5).hold.state, HoldState::live) << "one that does not compare";
  EXPECT_EQ(get(1).hold.actual, 0) << "it is open";
  EXPECT_EQ(extend(1, 0, kTtl).hold.state, HoldState::live);
  EXPECT_EQ(reserve_exactly(1, 5).hold.state, HoldState::other) << "only its time was extended";
  EXPECT_EQ(extend(1, 1).hold.state, HoldState::live);
  EXPECT_EQ(reserve_exactly(1, 4).hold.state, HoldState::live) << "it holds more than it was made with";
  EXPECT_EQ(commit(1, 2).hold.actual, 2);
  EXPECT_EQ(reserve_exactly(1, 5).hold.state, HoldState::gone);
  EXPECT_EQ(reserve_exactly(2, 1'000, true).hold.state, HoldState::taken);
  EXPECT_EQ(reserve_exactly(2, 900, true).hold.state, HoldState::live) << "granted in part";
}

TEST_P(ReservationContract, ABucketHoldsSoManyAndNoMore) {
  allowance_ = allowance_of(algorithm(), 5'000, kWindow);
  for (std::uint64_t id = 1; id <= kMaxHoldsPerBucket; ++id) ASSERT_TRUE(reserve(id, 1).taken()) << id;
  const Result refused = reserve(5'000, 1);
  EXPECT_FALSE(refused.taken());
  EXPECT_FALSE(refused.outcomes[0].admitted);
  EXPECT_TRUE(refused.outcomes[0].crowded);
  EXPECT_GT(refused.outcomes[0].retry_after.count(), 0);
  EXPECT_TRUE(take(1)) << "a plain charge holds nothing";
  EXPECT_EQ(list().size(), kMaxHoldsPerBucket);
  EXPECT_EQ(release(17).hold.state, HoldState::ended);
  EXPECT_TRUE(reserve(5'000, 1).taken());
  now_ += kTtl;
  EXPECT_EQ(left(), 5'000) << "all lapse at once";
}

TEST_P(ReservationContract, OneOfNothingIsListedAndCounts) {
  EXPECT_TRUE(reserve(1, 0).taken());
  const std::vector<ListedHold> listed = list();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].units, 0);
  EXPECT_EQ(listed[0].reserved, now_);
  EXPECT_EQ(extend(1, 4).hold.granted, 4);
  EXPECT_EQ(list().size(), 2U);
  EXPECT_EQ(commit(1, 1).hold.returned, 3);
  EXPECT_EQ(left(), 9);
  EXPECT_TRUE(list().empty());
  EXPECT_TRUE(reserve(2, 0, {}, seconds(1)).taken());
  now_ += seconds(1);
  EXPECT_TRUE(list().empty()) << "it has lapsed";
}

TEST_P(ReservationContract, ListsWhatIsOpen) {
  EXPECT_TRUE(reserve(1, 4).taken());
  EXPECT_TRUE(reserve(2, 3, {}, seconds(5)).taken());
  const std::vector<ListedHold> listed = list();
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[1].id, reservation_id(2));
  EXPECT_EQ(listed[1].units, 3);
  EXPECT_EQ(listed[1].reserved, now_);
  EXPECT_EQ(listed[1].expires, now_ + seconds(5));
  EXPECT_EQ(get(2).hold.granted, 3);
  EXPECT_EQ(release(1).hold.state, HoldState::ended);
  EXPECT_EQ(list().size(), 1U);
}

// What the bucket has forgotten was given back: what the work has cost is charged then.
TEST_P(ReservationContract, AResetBucketIsChargedForTheWholeOfTheWork) {
  EXPECT_TRUE(reserve(1, 4).taken());
  plain(Action::reset, bucket(), 0);
  EXPECT_EQ(left(), 10);
  const Result settled = commit(1, 3);
  EXPECT_EQ(settled.hold.returned, 0);
  EXPECT_EQ(settled.hold.debt, 3);
  EXPECT_EQ(left(), 7);
}

TEST_P(ReservationContract, ARefundIsNotReturnedOnceMore) {
  EXPECT_TRUE(reserve(1, 6).taken());
  plain(Action::refund, bucket(), 6);
  EXPECT_TRUE(take(8));
  EXPECT_EQ(release(1).hold.returned, 0);
  EXPECT_EQ(left(), 2);
}

}  // namespace weir::contract
