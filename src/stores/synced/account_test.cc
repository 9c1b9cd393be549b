#include "stores/synced/account.h"

#include <gtest/gtest.h>

namespace weir::synced {
namespace {

Account account_of(const AllowanceSpec& spec, std::int64_t left) {
  Account account;
  account.allowance = make_allowance(spec).value();
  account.known = true;
  account.left = left;
  account.known_at = from_micros(1'000'000);
  return account;
}

TEST(SyncedAccount, RefillsAThousandthSlowerThanTheRate) {
  Account account = account_of(
      {.algorithm = Algorithm::token_bucket, .limit = 100'000, .window = std::chrono::seconds(1)}, 1'000);
  EXPECT_EQ(account.level(account.known_at + std::chrono::milliseconds(100)), 1'000 + 9'990);
  EXPECT_EQ(account.level(account.known_at - std::chrono::milliseconds(100)), 1'000);
  EXPECT_EQ(account.level(account.known_at + std::chrono::hours(1)), 100'000) << "no more than it holds";
}

TEST(SyncedAccount, WaitsAreRoundedUp) {
  const Account account = account_of({.algorithm = Algorithm::token_bucket, .limit = 3, .window = Duration{10'000}}, 0);
  EXPECT_EQ(account.time_for(1), Duration{3'334});
  EXPECT_EQ(account.time_for(3), Duration{10'000});
  EXPECT_EQ(account.time_for(0), Duration{0});
}

// Products of units and microseconds that do not fit into 64 bits.
TEST(SyncedAccount, TheLargestBucketsAreCountedWithoutOverflow) {
  const Account account = account_of(
      {.algorithm = Algorithm::token_bucket, .limit = kMaxUnits, .window = std::chrono::hours(24 * 365)}, 1);
  const std::int64_t month = account.level(account.known_at + std::chrono::hours(24 * 73)) / 1'000'000;
  EXPECT_EQ(month, kMaxUnits / 5 / 1'000 * 999 / 1'000'000);
  EXPECT_EQ(account.time_for(kMaxUnits / 5), std::chrono::hours(24 * 73));
}

}  // namespace
}  // namespace weir::synced
