// At the memory bound a subject that has a bucket is no newcomer: its limit holds, and the failure policy is not asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "stores/memory/memory_store.h"
#include "tests/contract/calls.h"
#include "tests/contract/model_store.h"

namespace weir::memory {
namespace {

using contract::all_algorithms;
using contract::allowance_of;
using contract::ask;
using contract::charge_of;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart = from_micros(1'800'000'000'000'000);
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

std::string test_name(const testing::TestParamInfo<Algorithm>& tested) {
  std::string name(algorithm_name(tested.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// A store with a few subjects and not a byte left: newcomers of the smallest kinds have taken the rest.
class AtTheBound : public testing::Test {
 protected:
  static constexpr std::uint64_t kSubjects = 6;
  static constexpr Duration kAges = hours(24 * 3);

  static BucketKey subject(std::uint64_t number) { return contract::spread_key(number); }

  // First every place in the tables; then, where some of those had been, every byte that was left over.
  void fill_up() {
    const Allowance slow = allowance_of(Algorithm::token_bucket, 10, kAges);
    std::vector<BucketKey> others;
    for (int refused_in_a_row = 0; refused_in_a_row < 5'000;) {
      const BucketKey key{random_(), random_()};
      const bool taken = ask(store_, Action::take, kStart, charge_of(key, slow)).status == Code::ok;
      refused_in_a_row = taken ? 0 : refused_in_a_row + 1;
      if (taken) others.push_back(key);
    }
    for (std::int64_t words = 1'000; words >= 2; words = words * 3 / 4) {
      const AllowanceSpec spec{
          .algorithm = Algorithm::bucketed_window, .limit = 10, .window = kAges * words, .buckets = words};
      const Allowance block = make_allowance(spec).value();
      bool room = true;
      while (room) {
        ASSERT_FALSE(others.empty());
        ask(store_, Action::reset, kStart, charge_of(others.back(), slow));
        room = ask(store_, Action::take, kStart, charge_of(others.back(), block)).status == Code::ok;
        if (!room) ask(store_, Action::take, kStart, charge_of(others.back(), slow));
        others.pop_back();
      }
    }
  }

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }

  std::mt19937_64 random_{20'261'117};
  MemoryStore store_{{.max_bytes = kMaxBytes}};
};
class EveryAlgorithmAtTheBound : public AtTheBound, public testing::WithParamInterface<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(Memory, EveryAlgorithmAtTheBound, testing::ValuesIn(all_algorithms()), test_name);

// Algorithms of constant size, and logs small enough to have had all their room from the beginning.
TEST_P(EveryAlgorithmAtTheBound, SubjectsWithABucketAreAnsweredAsIfThereWereRoom) {
  const Allowance allowances[] = {allowance_of(GetParam(), 5, seconds(600)), allowance_of(GetParam(), 10, seconds(60)),
                                  allowance_of(GetParam(), 1, seconds(30))};
  contract::ModelStore model;
  const auto charge = [&](std::uint64_t number, std::int64_t cost) {
    return charge_of(subject(number), allowances[number % 3], cost);
  };
  for (std::uint64_t i = 0; i < kSubjects; ++i) {
    ASSERT_TRUE(ask(store_, Action::take, kStart, charge(i, 1)).admitted);
    ask(model, Action::take, kStart, charge(i, 1));
  }
  fill_up();
  TimePoint now = kStart;
  for (int step = 0; step < 4'000; ++step) {
    now += milliseconds(below(4'000));
    const std::uint64_t number = static_cast<std::uint64_t>(below(kSubjects));
    Charge one = charge(number, 1 + below(below(4) == 0 ? 5 : 1));
    one.count_denied = number == 4;
    const Action action = below(12) == 0 ? Action::refund : Action::take;
    const bool known = ask(model, Action::peek, now, charge(number, 0)).reset_after.count() > 0;
    const ChargeOutcome got = ask(store_, action, now, one);
    // A bucket that equals a fresh one may have been dropped, and then its subject is a newcomer.
    if (!known && got.status == Code::resource_exhausted) continue;
    ASSERT_EQ(got.status, Code::ok) << "step " << step;
    ASSERT_EQ(models::answer_of(got), models::answer_of(ask(model, action, now, one))) << "step " << step;
  }
  EXPECT_LE(store_.stats().bytes, kMaxBytes);
}

TEST_F(AtTheBound, ALogThatCannotGrowAdmitsNoMoreThanItsLimitAndTellsHonestWaits) {
  struct Taken {
    TimePoint at;
    std::int64_t units;
  };
  constexpr Duration kWindow = seconds(100);
  const Allowance log = allowance_of(Algorithm::sliding_log, 200, kWindow);
  const auto charge = [&](std::int64_t cost) { return charge_of(subject(0), log, cost); };
  std::vector<Taken> taken;
  ASSERT_TRUE(ask(store_, Action::take, kStart, charge(1)).admitted);
  taken.push_back({kStart, 1});
  fill_up();
  const auto units_in = [&](TimePoint now, Duration stretch) {
    std::int64_t units = 0;
    for (const Taken& each : taken) units += each.at > now - stretch ? each.units : 0;
    return units;
  };
  TimePoint now = kStart;
  std::int64_t admitted = 0;
  for (int step = 0; step < 20'000; ++step) {
    now += Duration(below(step / 1'000 % 2 == 0 ? 300'000 : 1'400'000));  // far beyond the limit, and just above it
    const std::int64_t cost = below(10) == 0 ? 1 + below(20) : 1;
    const ChargeOutcome outcome = ask(store_, Action::take, now, charge(cost));
    ASSERT_EQ(outcome.status, Code::ok) << "not a newcomer";
    if (outcome.admitted) {
      taken.push_back({now, cost});
      admitted += cost;
      ASSERT_LE(units_in(now, kWindow), 200) << "step " << step;
      continue;
    }
    // A unit counts for at most an eighth of the window longer than it would in a log with room.
    ASSERT_GT(units_in(now, kWindow + kWindow / 8) + cost, 200) << "step " << step;
    ASSERT_GT(outcome.retry_after.count(), 0);
    ASSERT_FALSE(ask(store_, Action::peek, now + outcome.retry_after - Duration(1), charge(cost)).admitted);
    ASSERT_TRUE(ask(store_, Action::peek, now + outcome.retry_after, charge(cost)).admitted);
    if (below(200) == 0) now += outcome.retry_after;
  }
  EXPECT_GT(admitted, 10'000);
  EXPECT_GT(store_.stats().coarse_charges, 0u);
}

// A reload that asks for more sub-buckets than the tail has room for.
TEST_F(AtTheBound, ABucketedWindowThatCannotGetMoreSubBucketsKeepsToItsLimit) {
  AllowanceSpec spec{.algorithm = Algorithm::bucketed_window, .limit = 20, .window = seconds(100), .buckets = 4};
  const Allowance few = make_allowance(spec).value();
  spec.buckets = 50;
  const Allowance many = make_allowance(spec).value();
  ASSERT_TRUE(ask(store_, Action::take, kStart, charge_of(subject(0), few, 4)).admitted);
  fill_up();
  TimePoint now = kStart;
  std::int64_t admitted_in_window = 4;
  for (int i = 0; i < 100; ++i) {
    now += milliseconds(900);
    const ChargeOutcome outcome = ask(store_, Action::take, now, charge_of(subject(0), many));
    ASSERT_EQ(outcome.status, Code::ok);
    if (outcome.admitted) {
      ++admitted_in_window;
      ASSERT_EQ(outcome.remaining, 20 - admitted_in_window);
      continue;
    }
    ASSERT_FALSE(
        ask(store_, Action::peek, now + outcome.retry_after - Duration(1), charge_of(subject(0), many)).admitted);
    ASSERT_TRUE(ask(store_, Action::peek, now + outcome.retry_after, charge_of(subject(0), many)).admitted);
  }
  EXPECT_EQ(admitted_in_window, 20);
  EXPECT_EQ(ask(store_, Action::refund, now, charge_of(subject(0), many, 7)).remaining, 7);
}

TEST_F(AtTheBound, ADenialThatCountsIsCountedInALogThatCannotGrow) {
  const Allowance log = allowance_of(Algorithm::sliding_log, 40, seconds(100));
  Charge counted = charge_of(subject(0), log);
  counted.count_denied = true;
  ASSERT_TRUE(ask(store_, Action::take, kStart, counted).admitted);
  fill_up();
  TimePoint now = kStart;
  for (int i = 0; i < 400; ++i) {
    now += milliseconds(100);
    const ChargeOutcome outcome = ask(store_, Action::take, now, counted);
    ASSERT_EQ(outcome.status, Code::ok);
    ASSERT_EQ(outcome.admitted, i < 39);
  }
  EXPECT_EQ(ask(store_, Action::peek, now, counted).remaining, 0);
}

// Leases cannot be counted more coarsely: one that finds no room is denied, and not left to the failure policy.
TEST_F(AtTheBound, ASubjectWithLeasesIsDeniedThoseThatFindNoRoom) {
  const Allowance slots = make_concurrency({.algorithm = {}, .limit = 1'000, .window = Duration{0}}, hours(1)).value();
  const auto acquire = [&](const BucketKey& key, std::uint64_t id, HoldStep& hold) {
    Charge charge = charge_of(key, slots);
    charge.kind = ChargeKind::lease;
    hold = {.id = contract::spread_key(id), .ttl = hours(1)};
    contract::OwnedCall call(Action::take, kStart, {charge});
    call.hold = &hold;
    EXPECT_TRUE(store_.begin(call));
    return call.results()[0];
  };
  HoldStep hold;
  ASSERT_TRUE(acquire(subject(0), 1, hold).admitted);
  fill_up();
  std::int64_t held = 1;
  std::int64_t denied = 0;
  for (std::uint64_t id = 2; id < 200; ++id) {
    const ChargeOutcome outcome = acquire(subject(0), id, hold);
    ASSERT_EQ(outcome.status, Code::ok) << "not a newcomer";
    ASSERT_EQ(outcome.admitted, hold.state == HoldState::taken);
    if (outcome.admitted) {
      ++held;
      continue;
    }
    ++denied;
    EXPECT_EQ(hold.state, HoldState::none);
    EXPECT_GT(outcome.retry_after.count(), 0);
  }
  EXPECT_GT(denied, 0);
  Charge all = charge_of(subject(0), slots, 0);
  all.kind = ChargeKind::lease;
  EXPECT_EQ(ask(store_, Action::peek, kStart, all).remaining, 1'000 - held);
  EXPECT_EQ(acquire({random_(), random_()}, 1, hold).status, Code::resource_exhausted) << "a newcomer";
}

TEST_F(AtTheBound, NewcomersAreStillRefused) {
  fill_up();
  for (const Algorithm algorithm : all_algorithms()) {
    const Allowance allowance = allowance_of(algorithm, 10, seconds(100));
    EXPECT_EQ(ask(store_, Action::take, kStart, charge_of({random_(), random_()}, allowance)).status,
              Code::resource_exhausted)
        << algorithm_name(algorithm);
  }
}

}  // namespace
}  // namespace weir::memory
