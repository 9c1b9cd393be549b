#include "stores/synced/account.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::synced {
namespace {

using namespace std::chrono_literals;

const Allowance kBucket =
    make_allowance({.algorithm = Algorithm::token_bucket, .limit = 10, .window = 1s, .burst = 100}).value();
const Allowance kWindow = make_allowance({.algorithm = Algorithm::fixed_window, .limit = 100, .window = 10s}).value();
constexpr TimePoint kNow{Duration(1'000s)};

ChargeOutcome answer_of(std::int64_t remaining, Duration reset_after) {
  ChargeOutcome outcome;
  outcome.remaining = remaining;
  outcome.reset_after = reset_after;
  return outcome;
}

Account account_of(const Allowance& allowance) {
  Account account;
  account.allowance = allowance;
  return account;
}

// A thousandth less time has passed than the clock says, and a thousandth more is to pass.
TEST(Account, ABucketRefillsALittleSlowerThanTheClockSays) {
  Account account = account_of(kBucket);
  account.learn(answer_of(20, 8s), {}, kNow, kNow);
  EXPECT_TRUE(account.known);
  EXPECT_TRUE(account.is_good(kNow + 1h));
  EXPECT_EQ(account.level(kNow), 20);
  EXPECT_EQ(account.level(kNow + 100ms), 20);
  EXPECT_EQ(account.level(kNow + 101ms), 21);
  EXPECT_EQ(account.level(kNow + 1s), 29);
  EXPECT_EQ(account.level(kNow + 2s), 39);
  EXPECT_EQ(account.level(kNow + 1h), 100) << "no more than it holds";
  EXPECT_EQ(account.level(kNow - 1s), 20) << "a clock that went back refills nothing";
}

TEST(Account, ABucketThatOwesHasNothingUntilThatIsRepaid) {
  Account account = account_of(kBucket);
  account.learn(answer_of(0, 20s), {}, kNow, kNow);
  EXPECT_LT(account.level(kNow), 0) << "it owes 100 more than it holds";
  EXPECT_LE(account.level(kNow + 10s), 0);
  EXPECT_GT(account.level(kNow + 11s), 0);
  EXPECT_LT(account.level(kNow + 20s), 100) << "a thousandth longer";
  EXPECT_EQ(account.level(kNow + 20s + 21ms), 100);
}

TEST(Account, UnitsTakeTheTimeInWhichTheyRefill) {
  const Account bucket = account_of(kBucket);
  EXPECT_EQ(bucket.time_for(0), 0s);
  EXPECT_EQ(bucket.time_for(-1), 0s);
  EXPECT_EQ(bucket.time_for(1), 100ms);
  EXPECT_EQ(bucket.time_for(25), 2500ms);
  EXPECT_EQ(bucket.time_for(kMaxUnits), kMaxWindow);
  const Account thirds =
      account_of(make_allowance({.algorithm = Algorithm::token_bucket, .limit = 3, .window = 1s, .burst = 3}).value());
  EXPECT_EQ(thirds.time_for(1), Duration{333'334}) << "rounded up";
}

TEST(Account, AWindowIsKnownUntilItMayHaveEnded) {
  Account account = account_of(kWindow);
  EXPECT_FALSE(account.is_good(kNow));
  DrawStep step;
  step.at = TimePoint(Duration(503s));  // seven seconds before its end
  account.learn(answer_of(40, 7s), step, kNow, kNow + 1s);
  const TimePoint end = kNow + 7s - 7ms - Duration{1};
  EXPECT_TRUE(account.is_good(end - Duration{1}));
  EXPECT_FALSE(account.is_good(end));
  EXPECT_EQ(account.level(kNow + 6s), 40) << "nothing refills";
  EXPECT_EQ(account.store_time, step.at);
}

TEST(Account, WhatWasAdmittedInAWindowThatHasPassedIsForgotten) {
  Account account = account_of(kWindow);
  DrawStep step;
  step.at = TimePoint(Duration(503s));
  account.learn(answer_of(40, 7s), step, kNow, kNow);
  account.unsynced = 5;
  step.at = TimePoint(Duration(509s));
  account.learn(answer_of(30, 1s), step, kNow, kNow);
  EXPECT_EQ(account.unsynced, 5) << "it is the same window";
  step.at = TimePoint(Duration(510s));
  account.learn(answer_of(100, 10s), step, kNow, kNow);
  EXPECT_EQ(account.unsynced, 0);
}

TEST(Account, WhatTheStoreDoesNotKnowIsAllThatIsUnderWayOrLost) {
  Account account;
  account.unsynced = 1;
  account.pending = 2;
  account.in_flight = 4;
  account.lost = 8;
  EXPECT_EQ(account.unreflected(), 15);
}

Account known_account(const AllowanceSpec& spec, std::int64_t left) {
  Account account;
  account.allowance = make_allowance(spec).value();
  account.known = true;
  account.left = left;
  account.known_at = from_micros(1'000'000);
  return account;
}

// Products of units and microseconds that do not fit into 64 bits.
TEST(Account, TheLargestBucketsAreCountedWithoutOverflow) {
  const Account account = known_account(
      {.algorithm = Algorithm::token_bucket, .limit = kMaxUnits, .window = std::chrono::hours(24 * 365)}, 1);
  const std::int64_t month = account.level(account.known_at + std::chrono::hours(24 * 73)) / 1'000'000;
  EXPECT_EQ(month, kMaxUnits / 5 / 1'000 * 999 / 1'000'000);
  EXPECT_EQ(account.time_for(kMaxUnits / 5), std::chrono::hours(24 * 73));
}

class AccountTableTest : public testing::Test {
 protected:
  // One that is in use. Null: it is not kept.
  Account* use(std::uint64_t key, TimePoint at) {
    Account* const account = table_.admit({key, key});
    if (account == nullptr) return nullptr;
    account->asked_under = &kBucket;
    account->used_at = at;
    return account;
  }
  bool has(std::uint64_t key) { return table_.find({key, key}) != nullptr; }

  AccountTable table_{1};
};

TEST_F(AccountTableTest, FindsWhatIsInUse) {
  EXPECT_FALSE(has(1));
  Account* const first = use(1, kNow);
  EXPECT_EQ(table_.find({1, 1}), first);
  EXPECT_EQ(table_.find({1, 2}), nullptr);
  EXPECT_EQ(table_.admit({1, 1}), first);
  first->asked_under = nullptr;
  EXPECT_FALSE(has(1)) << "given up";
  for (std::uint64_t key = 2; key < 2 + AccountTable::kWays; ++key) use(key, kNow);
  EXPECT_FALSE(has(99)) << "the set is full, and nothing is behind it";
}

TEST_F(AccountTableTest, ANewcomerTakesAFreePlaceOrThatOfTheOneUsedLeastRecently) {
  for (std::uint64_t key = 1; key <= 4; ++key) {
    use(key, kNow + key * 1s);
    for (std::uint64_t earlier = 1; earlier <= key; ++earlier) EXPECT_TRUE(has(earlier)) << "there was a free place";
  }
  use(1, kNow + 9s);
  use(5, kNow + 10s);
  EXPECT_FALSE(has(2));
  for (const std::uint64_t key : {1U, 3U, 4U, 5U}) EXPECT_TRUE(has(key)) << key;
}

TEST_F(AccountTableTest, WhatOwesSomethingKeepsItsPlace) {
  Exchange* const under_way = reinterpret_cast<Exchange*>(this);  // compared, never used
  use(1, kNow)->unsynced = 1;
  use(2, kNow)->pending = 1;
  use(3, kNow)->exchange = under_way;
  Account* const free = use(4, kNow + 1h);
  free->listed = true;
  free->left = 7;
  Account* const newcomer = use(5, kNow);
  EXPECT_EQ(newcomer, free);
  EXPECT_TRUE(newcomer->listed) << "it is still looked at";
  EXPECT_EQ(newcomer->left, 0);
  newcomer->unsynced = 1;
  EXPECT_EQ(use(6, kNow), nullptr);
  std::vector<std::uint64_t> keys;
  table_.for_each([&](const Account& account) { keys.push_back(account.key.high); });
  EXPECT_EQ(keys, (std::vector<std::uint64_t>{1, 2, 3, 5}));
}

}  // namespace
}  // namespace weir::synced
