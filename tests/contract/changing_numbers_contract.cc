// What a store owes to a bucket that several allowances touch: plans, overrides and reloads, request by request.
#include <random>

#include "algorithms/debt.h"
#include "tests/contract/store_contract.h"

namespace weir::contract {
namespace {

struct Passed {
  TimePoint time;
  std::int64_t units;
};

bool keeps_debt(Algorithm algorithm) {
  return algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra || algorithm == Algorithm::leaky_bucket;
}

// All allowances here have one window. At most the largest burst and what the fastest rate brings in any time; in
// windows at most the largest limit in each. A leaky bucket lets its last request join a full queue.
void expect_within_bounds(Algorithm algorithm, const std::vector<Allowance>& allowances,
                          const std::vector<Passed>& passed) {
  std::int64_t most = 0;
  for (const Allowance& one : allowances) most = std::max(most, one.limit);
  const std::int64_t burst = algorithm == Algorithm::leaky_bucket ? 2 * most : most;
  const std::int64_t window = allowances[0].window.count();
  for (std::size_t first = 0; first < passed.size(); ++first) {
    std::int64_t sum = 0;
    for (std::size_t last = first; last < passed.size(); ++last) {
      const std::int64_t span = (passed[last].time - passed[first].time).count();
      const bool same_window = micros(passed[first].time) / window == micros(passed[last].time) / window;
      if (!keeps_debt(algorithm) && (!same_window || span >= window)) break;
      sum += passed[last].units;
      const std::int64_t rate = keeps_debt(algorithm) ? most * span / window : 0;
      ASSERT_LE(sum, burst + rate) << "from request " << first << " to " << last << ", " << span << " us";
    }
  }
}

}  // namespace

// A large request, then again and again a small one under the smaller numbers and as much as possible under the larger.
TEST_P(StoreContract, SmallerNumbersDoNotMakeABucketForget) {
  const Allowance large = allowance_of(algorithm(), 1'000, seconds(60));
  const Allowance small = allowance_of(algorithm(), 60, seconds(60));
  std::vector<Passed> passed;
  const auto ask = [&](const Allowance& allowance, std::int64_t cost) {
    Charge one = charge(1, cost);
    one.allowance = &allowance;
    if (take(one).admitted) passed.push_back({now_, cost});
  };
  ask(large, 1'000);
  for (int i = 0; i < 5; ++i) {
    now_ += milliseconds(1'100);
    ask(small, 1);
    ask(large, 940);
  }
  expect_within_bounds(algorithm(), {large, small}, passed);
}

TEST_P(StoreContract, LoweringAndRaisingALimitGivesNothingAway) {
  const Allowance high = allowance_of(algorithm(), 80, seconds(60));
  const Allowance low = allowance_of(algorithm(), 10, seconds(60));
  std::vector<Passed> passed;
  for (int i = 0; i < 400; ++i) {
    Charge one = charge(1, 1 + i % 3);
    one.allowance = i / 20 % 2 == 0 ? &high : &low;
    if (take(one).admitted) passed.push_back({now_, one.cost});
    if (i % 25 == 7) {
      one.allowance = &low;
      one.cost = 1;
      refund(one);
      passed.push_back({now_, -1});
    }
    now_ += milliseconds(47);
  }
  expect_within_bounds(algorithm(), {high, low}, passed);
}

// Takes, peeks, refunds and counted denials under random numbers.
TEST_P(StoreContract, AdmitsNoMoreThanTheLargestNumbersWhateverTheirOrder) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t bound) { return static_cast<std::int64_t>(random() % bound); };
    std::vector<Allowance> allowances;
    for (int i = 0; i < 4; ++i)
      allowances.push_back(allowance_of(algorithm(), 1 + below(i == 0 ? 900 : 60), seconds(6)));
    std::vector<Passed> passed;
    for (int step = 0; step < 120; ++step) {
      const Allowance& allowance = allowances[static_cast<std::size_t>(below(4))];
      Charge one = charge(seed, 1 + below(static_cast<std::uint32_t>(below(3) == 0 ? allowance.limit : 4)));
      one.allowance = &allowance;
      one.count_denied = below(5) == 0;
      const std::int64_t kind = below(12);
      if (kind == 0) {
        refund(one);
        passed.push_back({now_, -one.cost});
      } else if (kind == 1) {
        peek(one);
      } else if (take(one).admitted) {
        passed.push_back({now_, one.cost});
      }
      now_ += microseconds(below(step % 10 == 0 ? 4'000'000 : 90'000));
    }
    expect_within_bounds(algorithm(), allowances, passed);
  }
}

// More may have been used than the numbers that apply now allow at all; a cost of 0 is still admitted.
TEST_P(StoreContract, ACostOfZeroIsAdmittedWhateverWasUsedUnderLargerNumbers) {
  const Allowance large = allowance_of(algorithm(), 1'000, seconds(60));
  const Allowance small = allowance_of(algorithm(), 60, seconds(60));
  Charge one = charge(1, 1'000);
  one.allowance = &large;
  ASSERT_TRUE(take(one).admitted);
  one.allowance = &small;
  one.cost = 0;
  for (const Action action : {Action::take, Action::peek}) {
    const ChargeOutcome nothing = run(action, {one})[0];
    EXPECT_TRUE(nothing.admitted);
    EXPECT_EQ(nothing.remaining, 0);
    EXPECT_EQ(nothing.retry_after.count(), 0);
  }
  one.cost = 1;
  EXPECT_FALSE(take(one).admitted);
}

// Whether a bucket that nothing restricts any more has been forgotten must make no difference to other numbers.
TEST_P(StoreContract, ABucketThatIsIdleIsFreshForAllNumbers) {
  const Allowance fast = allowance_of(algorithm(), 100, seconds(1));
  const Allowance slow = allowance_of(algorithm(), 10, std::chrono::hours(1));
  Charge one = charge(1, 50);
  one.allowance = &fast;
  const ChargeOutcome taken = take(one);
  ASSERT_TRUE(taken.admitted);
  one.allowance = &slow;
  one.cost = 10;
  for (const std::vector<Charge>& charges : {std::vector{one}, std::vector{one, charge(2)}}) {
    const ChargeOutcome denied = run(Action::take, charges)[0];
    ASSERT_FALSE(denied.admitted);
    EXPECT_LE(denied.retry_after, taken.reset_after);
    EXPECT_LE(denied.reset_after, taken.reset_after);
    EXPECT_LE(run(Action::peek, charges)[0].retry_after, taken.reset_after);
  }
  now_ += taken.reset_after;
  EXPECT_TRUE(take(one).admitted);
}

}  // namespace weir::contract
