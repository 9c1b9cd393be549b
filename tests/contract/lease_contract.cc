#include "tests/contract/lease_contract.h"

#include <random>

#include "tests/contract/lease_model_store.h"

namespace weir::contract {

std::string lease_contract_name(const testing::TestParamInfo<StoreFactory>& info) { return info.param.name; }

Charge LeaseContract::slot(std::uint64_t number, std::int64_t limit, std::int64_t cost) {
  if (!concurrencies_.contains(limit)) {
    concurrencies_[limit] = make_concurrency({.algorithm = {}, .limit = limit, .window = Duration{0}}, kTtl).value();
  }
  Charge charge = charge_of(spread_key(number), concurrencies_[limit], cost);
  charge.kind = ChargeKind::lease;
  return charge;
}

Charge LeaseContract::bucket(std::uint64_t number, std::int64_t cost) const {
  return charge_of(spread_key(100 + number), rate_, cost);
}

LeaseContract::Result LeaseContract::run(Action action, const std::vector<Charge>& charges, HoldStep hold) {
  OwnedCall call(action, now_, charges);
  call.hold = &hold;
  store_->answer(call);
  EXPECT_EQ(call.status, Code::ok);
  return {call.results(), hold};
}

LeaseContract::Result LeaseContract::acquire(std::uint64_t number, const std::vector<Charge>& charges, bool named) {
  HoldStep hold;
  hold.id = id(number);
  hold.ttl = kTtl;
  hold.named = named;
  return run(Action::take, charges, hold);
}

LeaseContract::Result LeaseContract::renew(const Result& lease, const std::vector<Charge>& charges, Duration ttl) {
  HoldStep hold = lease.hold;
  hold.ttl = ttl;
  return run(Action::renew, charges, hold);
}

LeaseContract::Result LeaseContract::release(const Result& lease, const std::vector<Charge>& charges) {
  return run(Action::settle, charges, lease.hold);
}

std::vector<ListedHold> LeaseContract::list(const std::vector<Charge>& charges) {
  std::vector<ListedHold> listed;
  HoldStep hold;
  hold.listed = &listed;
  run(Action::list, charges, hold);
  return listed;
}

std::vector<ChargeOutcome> LeaseContract::plain(Action action, const std::vector<Charge>& charges) {
  OwnedCall call(action, now_, charges);
  store_->answer(call);
  EXPECT_EQ(call.status, Code::ok);
  return call.results();
}

TEST_P(LeaseContract, GivesSlotsUpToTheLimitAndAgainWhenTheyAreReleased) {
  const std::vector<Charge> one = {slot(1, 2)};
  const Result first = acquire(1, one);
  const Result second = acquire(2, one);
  EXPECT_EQ(first.hold.state, HoldState::taken);
  EXPECT_EQ(first.outcomes[0].remaining, 1);
  EXPECT_EQ(second.outcomes[0].remaining, 0);
  EXPECT_EQ(first.hold.expires, now_ + kTtl);
  EXPECT_EQ(second.outcomes[0].reset_after, kTtl);

  const Result third = acquire(3, one);
  EXPECT_EQ(third.hold.state, HoldState::none);
  EXPECT_FALSE(third.outcomes[0].admitted);
  EXPECT_FALSE(third.outcomes[0].too_large);

  EXPECT_EQ(release(first, one).hold.state, HoldState::ended);
  EXPECT_EQ(release(first, one).hold.state, HoldState::gone) << "a second release changes nothing";
  EXPECT_EQ(left(one[0]), 1);
  EXPECT_EQ(acquire(4, one).hold.state, HoldState::taken);
}

TEST_P(LeaseContract, ALookWithTheIdOfAClientFindsItsLeaseAndChangesNothing) {
  const std::vector<Charge> both = {slot(1, 2), bucket(1)};
  HoldStep look;
  look.id = id(1);
  look.ttl = kTtl;
  look.named = true;
  EXPECT_EQ(run(Action::peek, both, look).hold.state, HoldState::none);
  const Result lease = acquire(1, both, true);
  const Result found = run(Action::peek, both, look);
  EXPECT_EQ(found.hold.state, HoldState::live);
  EXPECT_EQ(found.hold.token, lease.hold.token);
  EXPECT_EQ(found.hold.expires, lease.hold.expires);
  EXPECT_EQ(run(Action::peek, {slot(1, 2, 2), bucket(1)}, look).hold.state, HoldState::other);
  EXPECT_EQ(left(both[0]), 1);
  release(lease, both);
  EXPECT_EQ(run(Action::peek, both, look).hold.state, HoldState::gone);
  now_ += kTtl;
  EXPECT_EQ(run(Action::peek, both, look).hold.state, HoldState::none);
}

TEST_P(LeaseContract, ASlotLapsesAtItsTtlAndNotBefore) {
  const std::vector<Charge> one = {slot(1, 1)};
  const Result lease = acquire(1, one);
  now_ += kTtl - microseconds(1);
  EXPECT_FALSE(acquire(2, one).admitted());
  now_ += microseconds(1);
  EXPECT_TRUE(acquire(2, one).admitted());
  EXPECT_EQ(renew(lease, one).hold.state, HoldState::gone);
  EXPECT_EQ(release(lease, one).hold.state, HoldState::gone) << "the slot is another holder's";
  EXPECT_EQ(left(one[0]), 0);
}

TEST_P(LeaseContract, RenewingMovesTheExpiry) {
  const std::vector<Charge> one = {slot(1, 1)};
  Result lease = acquire(1, one);
  for (int i = 0; i < 5; ++i) {
    now_ += kTtl - seconds(1);
    lease = renew(lease, one);
    EXPECT_EQ(lease.hold.state, HoldState::live);
    EXPECT_EQ(lease.hold.expires, now_ + kTtl);
    EXPECT_FALSE(acquire(2, one).admitted());
  }
  lease = renew(lease, one, seconds(2));
  now_ += seconds(2);
  EXPECT_TRUE(acquire(2, one).admitted());
}

TEST_P(LeaseContract, ADenialTellsWhenTheNextLapsesButNeverMoreThanASecond) {
  const std::vector<Charge> two = {slot(1, 2)};
  acquire(1, two);
  now_ += seconds(10);
  const Result later = acquire(2, two);
  EXPECT_EQ(acquire(3, two).outcomes[0].retry_after, seconds(1));
  now_ += seconds(19) + milliseconds(250);
  EXPECT_EQ(acquire(3, two).outcomes[0].retry_after, milliseconds(750));
  // With the first one renewed, the other is next.
  Result first;
  first.hold.id = id(1);
  first.hold.expires = now_ + seconds(1);
  renew(first, two);
  EXPECT_EQ(acquire(3, two).outcomes[0].retry_after, seconds(1));
  now_ = later.hold.expires - milliseconds(10);
  EXPECT_EQ(acquire(3, two).outcomes[0].retry_after, milliseconds(10));
}

TEST_P(LeaseContract, ACostTakesAsManySlotsAndMoreThanTheLimitCanNeverFit) {
  const Result three = acquire(1, {slot(1, 5, 3)});
  EXPECT_EQ(three.outcomes[0].remaining, 2);
  EXPECT_FALSE(acquire(2, {slot(1, 5, 3)}).admitted());
  EXPECT_TRUE(acquire(2, {slot(1, 5, 2)}).admitted());
  const Result never = acquire(3, {slot(1, 5, 6)});
  EXPECT_TRUE(never.outcomes[0].too_large);
  EXPECT_EQ(never.outcomes[0].retry_after, Duration{0});
  release(three, {slot(1, 5, 3)});
  EXPECT_EQ(left(slot(1, 5)), 3);
}

TEST_P(LeaseContract, APlainCallLooksAndTakesNothing) {
  const std::vector<Charge> both = {slot(1, 1), bucket(1)};
  EXPECT_TRUE(plain(Action::take, both)[0].admitted);
  EXPECT_EQ(left(slot(1, 1)), 1) << "no slot was taken";
  EXPECT_EQ(left(bucket(1)), 9) << "the bucket was charged";
  acquire(1, {slot(1, 1)});
  EXPECT_FALSE(plain(Action::take, both)[0].admitted);
  EXPECT_EQ(left(bucket(1)), 9) << "all or none";
}

TEST_P(LeaseContract, SlotsAndBucketsAreTakenAllOrNone) {
  const std::vector<Charge> all = {slot(1, 3), bucket(1, 4), slot(2, 1), bucket(2, 1)};
  const Result first = acquire(1, all);
  ASSERT_TRUE(first.admitted());
  EXPECT_EQ(left(bucket(1)), 6);
  EXPECT_FALSE(acquire(2, all).admitted()) << "slot 2 is taken";
  EXPECT_EQ(left(slot(1, 3)), 2);
  EXPECT_EQ(left(bucket(1)), 6);

  const std::vector<Charge> dear = {slot(3, 3), bucket(1, 7)};
  EXPECT_FALSE(acquire(3, dear).admitted()) << "the bucket has 6";
  EXPECT_EQ(left(slot(3, 3)), 3);

  EXPECT_EQ(release(first, all).hold.state, HoldState::ended);
  EXPECT_EQ(left(slot(1, 3)), 3);
  EXPECT_EQ(left(slot(2, 1)), 1);
  EXPECT_EQ(left(bucket(1)), 6) << "what a lease's buckets were charged is not given back";
}

TEST_P(LeaseContract, FencingTokensGrowAlsoWithinAMicrosecond) {
  const std::vector<Charge> one = {slot(1, 5)};
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const Result lease = acquire(i, one);
    EXPECT_GT(lease.hold.token, last);
    EXPECT_GE(lease.hold.token, static_cast<std::uint64_t>(micros(now_)));
    last = lease.hold.token;
  }
  now_ += kTtl;
  EXPECT_EQ(acquire(9, one).hold.token, static_cast<std::uint64_t>(micros(now_)));
}

TEST_P(LeaseContract, ATokenIsLargerThanEveryBucketOfTheLeaseHasGiven) {
  for (std::uint64_t i = 0; i < 4; ++i) acquire(i, {slot(1, 9)});
  const std::uint64_t ahead = acquire(4, {slot(1, 9)}).hold.token;
  const std::uint64_t both = acquire(5, {slot(1, 9), slot(2, 9)}).hold.token;
  EXPECT_GT(both, ahead);
  EXPECT_GT(acquire(6, {slot(2, 9)}).hold.token, both);
}

TEST_P(LeaseContract, AnIdOfAClientHasOneLease) {
  const std::vector<Charge> both = {slot(1, 2), bucket(1)};
  const Result first = acquire(1, both, true);
  now_ += seconds(3);
  const Result again = acquire(1, both, true);
  EXPECT_EQ(again.hold.state, HoldState::live);
  EXPECT_EQ(again.hold.token, first.hold.token);
  EXPECT_EQ(again.hold.expires, first.hold.expires);
  EXPECT_EQ(left(slot(1, 2)), 1);
  EXPECT_EQ(left(bucket(1)), 10) << "9, and three seconds later full again: not charged a second time";
}

TEST_P(LeaseContract, AnIdOfAClientIsGoneForOneTtlAfterItsEnd) {
  const std::vector<Charge> one = {slot(1, 1)};
  const Result released = acquire(1, one, true);
  release(released, one);
  now_ += kTtl - microseconds(1);
  EXPECT_EQ(acquire(1, one, true).hold.state, HoldState::gone);
  EXPECT_EQ(renew(released, one).hold.state, HoldState::gone);
  EXPECT_EQ(left(one[0]), 1) << "it holds no slot";
  now_ += microseconds(1);
  EXPECT_EQ(acquire(1, one, true).hold.state, HoldState::taken);

  now_ += 2 * kTtl - microseconds(1);  // lapsed a ttl ago, and a microsecond less
  EXPECT_EQ(acquire(1, one, true).hold.state, HoldState::gone);
  EXPECT_EQ(acquire(2, one, true).hold.state, HoldState::taken);
  now_ += microseconds(1);
  EXPECT_EQ(acquire(1, one, true).hold.state, HoldState::none) << "free again, but the slot is not";
}

// A holder that was stopped for long must not reach what another holder does under the same id.
TEST_P(LeaseContract, AnIdWithALeaseOfAnotherCostIsRefused) {
  const Result first = acquire(1, {slot(1, 5, 2), bucket(1)}, true);
  const Result other = acquire(1, {slot(1, 5, 3), bucket(1)}, true);
  EXPECT_EQ(other.hold.state, HoldState::other);
  EXPECT_EQ(left(slot(1, 5)), 3) << "nothing has changed";
  EXPECT_EQ(left(bucket(1)), 9);
  const Result again = acquire(1, {slot(1, 5, 2), bucket(1)}, true);
  EXPECT_EQ(again.hold.state, HoldState::live);
  EXPECT_EQ(again.hold.token, first.hold.token);
  release(first, {slot(1, 5, 2)});
  EXPECT_EQ(acquire(1, {slot(1, 5, 3)}, true).hold.state, HoldState::gone) << "whatever it costs";
}

TEST_P(LeaseContract, AllHandlesOfALeaseThatWasTakenAgainReachItUntilItIsReleased) {
  for (const bool named : {false, true}) {
    const std::vector<Charge> one = {slot(named ? 1 : 2, 1)};
    const std::uint64_t number = named ? 1 : 2;
    const Result older = acquire(number, one, named);
    now_ += seconds(1);
    plain(Action::reset, one);
    const Result newer = renew(older, one);
    ASSERT_EQ(newer.hold.state, HoldState::live);
    ASSERT_GT(newer.hold.token, older.hold.token);
    now_ += seconds(1);
    const Result again = renew(older, one);
    EXPECT_EQ(again.hold.state, HoldState::live);
    EXPECT_EQ(again.hold.token, newer.hold.token);
    EXPECT_EQ(release(older, one).hold.state, HoldState::ended);
    EXPECT_EQ(left(one[0]), 1);
    EXPECT_EQ(renew(newer, one).hold.state, HoldState::gone);
    EXPECT_EQ(renew(older, one).hold.state, HoldState::gone) << "what was released is not taken again";
    EXPECT_EQ(left(one[0]), 1);
  }
}

TEST_P(LeaseContract, AnOldLeaseDoesNotReachALaterOneOfTheSameId) {
  const std::vector<Charge> one = {slot(1, 1)};
  const Result old = acquire(1, one, true);
  now_ += 2 * kTtl;
  const Result later = acquire(1, one, true);
  ASSERT_EQ(later.hold.state, HoldState::taken);
  EXPECT_EQ(renew(old, one).hold.state, HoldState::gone);
  EXPECT_EQ(release(old, one).hold.state, HoldState::gone);
  EXPECT_EQ(left(one[0]), 0) << "the later one is held";
  EXPECT_EQ(renew(later, one).hold.state, HoldState::live);
  EXPECT_EQ(release(later, one).hold.state, HoldState::ended);
}

TEST_P(LeaseContract, AReleasedLeaseCannotBeRenewed) {
  const std::vector<Charge> one = {slot(1, 1)};
  const Result lease = acquire(1, one);
  release(lease, one);
  EXPECT_EQ(renew(lease, one).hold.state, HoldState::gone);
  EXPECT_EQ(left(one[0]), 1);
}

TEST_P(LeaseContract, ALeaseThatTheStoreLostTakesAFreeSlotOrIsGone) {
  const std::vector<Charge> one = {slot(1, 1)};
  const Result lease = acquire(1, one);
  now_ += seconds(1);
  plain(Action::reset, one);
  const Result again = renew(lease, one);
  EXPECT_EQ(again.hold.state, HoldState::live);
  EXPECT_GT(again.hold.token, lease.hold.token);
  EXPECT_EQ(left(one[0]), 0);

  now_ += seconds(1);
  plain(Action::reset, one);
  ASSERT_TRUE(acquire(2, one).admitted());
  EXPECT_EQ(renew(again, one).hold.state, HoldState::gone);

  now_ += seconds(1);
  plain(Action::reset, one);
  now_ = again.hold.expires;
  EXPECT_EQ(renew(again, one).hold.state, HoldState::gone) << "it would have lapsed by now";
}

TEST_P(LeaseContract, ARuleInShadowModeHoldsBackNothing) {
  Charge shadow = slot(2, 1);
  shadow.binding = false;
  const std::vector<Charge> both = {slot(1, 9), shadow};
  const Result first = acquire(1, both);
  const Result second = acquire(2, both);
  EXPECT_TRUE(second.admitted());
  EXPECT_FALSE(second.outcomes[1].admitted);
  EXPECT_EQ(renew(second, both).hold.state, HoldState::live);
  release(first, both);
  EXPECT_EQ(left(slot(2, 1)), 1);
}

TEST_P(LeaseContract, ListsWhatIsHeld) {
  EXPECT_TRUE(list({slot(1, 3)}).empty());
  const Result first = acquire(1, {slot(1, 3, 2)});
  const Result second = acquire(2, {slot(1, 3), slot(2, 1)}, true);
  const Result ended = acquire(3, {slot(2, 9)}, true);
  release(ended, {slot(2, 9)});
  std::vector<ListedHold> listed = list({slot(1, 3), slot(2, 1)});
  ASSERT_EQ(listed.size(), 3u);
  std::sort(listed.begin(), listed.end(), [](const ListedHold& a, const ListedHold& b) {
    return a.charge != b.charge ? a.charge < b.charge : a.token < b.token;
  });
  EXPECT_EQ(listed[0].id, id(1));
  EXPECT_EQ(listed[0].units, 2);
  EXPECT_EQ(listed[0].expires, first.hold.expires);
  EXPECT_EQ(listed[1].id, id(2));
  EXPECT_EQ(listed[2].charge, 1u);
  EXPECT_EQ(listed[2].token, second.hold.token);
}

TEST_P(LeaseContract, RefundGivesNoSlotBackAndResetAll) {
  acquire(1, {slot(1, 3, 2)});
  EXPECT_EQ(plain(Action::refund, {slot(1, 3, 2)})[0].remaining, 1);
  EXPECT_EQ(plain(Action::reset, {slot(1, 3)})[0].remaining, 3);
}

TEST_P(LeaseContract, ALowerLimitTakesNoLeaseAway) {
  const Result two = acquire(1, {slot(1, 9, 5)});
  EXPECT_EQ(left(slot(1, 3)), 0);
  EXPECT_EQ(acquire(2, {slot(1, 3)}).outcomes[0].retry_after, seconds(1));
  EXPECT_EQ(renew(two, {slot(1, 3, 5)}).hold.state, HoldState::live);
}

// Every action over several buckets, at random: the model's answers, to the microsecond.
TEST_P(LeaseContract, AnswersAsTheModelInRandomRuns) {
  if (GetParam().in_steps) GTEST_SKIP() << "the model charges in one step";
  std::mt19937_64 random(20'261'117);
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random() % bound); };
  LeaseModelStore model;
  std::map<std::uint64_t, HoldStep> known;  // the last answer for each id
  const std::int64_t limits[] = {1, 3, 10, 2};
  for (int step = 0; step < 4'000; ++step) {
    if (below(2) == 0) now_ += microseconds(below(1'500'000));
    if (below(60) == 0) now_ += seconds(below(50));
    std::vector<Charge> charges;
    for (std::uint64_t i = 0; i < 4; ++i) {
      if (below(3) == 0) charges.push_back(slot(i, limits[i], below(12) == 0 ? below(5) : 1));
      if (!charges.empty() && below(6) == 0) charges.back().binding = false;
    }
    if (below(4) == 0) charges.push_back(bucket(static_cast<std::uint64_t>(below(2)), below(3)));
    if (charges.empty()) continue;
    const auto number = static_cast<std::uint64_t>(below(14));
    HoldStep hold = known[number];
    hold.id = id(number);
    hold.named = number % 2 == 0;
    hold.ttl = below(5) == 0 ? Duration(milliseconds(10 + below(3'000))) : Duration(seconds(1 + below(20)));
    const std::int64_t what = below(20);
    const Action action = what == 0   ? Action::reset
                          : what < 2  ? Action::peek
                          : what < 4  ? Action::list
                          : what < 10 ? Action::settle
                          : what < 14 ? Action::renew
                                      : Action::take;
    const bool plain_call =
        action == Action::reset || action == Action::peek || (action == Action::take && below(6) == 0);
    if (action == Action::take) hold.token = 0;
    // A random id is used once.
    if (action == Action::take && !hold.named) hold.id = id(100 + static_cast<std::uint64_t>(step));
    std::vector<ListedHold> listed[2];
    HoldStep holds[2] = {hold, hold};
    OwnedCall expected(action, now_, charges);
    OwnedCall got(action, now_, charges);
    for (int i = 0; i < 2; ++i) {
      OwnedCall& call = i == 0 ? expected : got;
      holds[i].listed = &listed[i];
      if (!plain_call) call.hold = &holds[i];
      if (i == 1) store_->answer(call);
      if (i == 0) {
        ASSERT_TRUE(model.begin(call));
      }
    }
    const std::string where = "step " + std::to_string(step) + ", action " + std::to_string(static_cast<int>(action)) +
                              ", id " + std::to_string(number);
    ASSERT_EQ(holds[1].state, holds[0].state) << where;
    for (std::size_t i = 0; i < charges.size(); ++i) {
      ASSERT_EQ(models::answer_of(got.results()[i]), models::answer_of(expected.results()[i]))
          << where << ", charge " << i << " of " << charges.size();
    }
    const bool lives = holds[0].state == HoldState::taken || holds[0].state == HoldState::live;
    if (lives) {
      ASSERT_EQ(holds[1].token, holds[0].token) << where;
      ASSERT_EQ(holds[1].expires, holds[0].expires) << where;
      known[number] = holds[0];
    }
    ASSERT_EQ(listed[1].size(), listed[0].size()) << where;
  }
}

}  // namespace weir::contract
