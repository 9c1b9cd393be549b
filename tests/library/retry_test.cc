// Client behaviour: waits, what is not retried, the budget, and every form of Retry-After.
#include "weir/retry.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace weir {
namespace {

using std::chrono::milliseconds;

// 2026-11-15 12:00:00 UTC, a Sunday.
constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'794'744'000)};

RetryPolicy policy_with(std::uint64_t random) {
  RetryPolicy policy;
  policy.now = [] { return kNow; };
  policy.random = [random] { return random; };
  return policy;
}

RetryAdvice advice_for(const RetryAnswer& answer, RetryPolicy policy = policy_with(0)) {
  RetryBudget budget;
  Retry retry(budget, std::move(policy));
  return retry.next(answer);
}

std::optional<milliseconds> parsed(std::string_view text) { return parse_retry_after(text, kNow); }

TEST(RetryAfter, IsReadAsSecondsAndAsEveryFormOfDate) {
  EXPECT_EQ(milliseconds(0), parsed("0"));
  EXPECT_EQ(milliseconds(120'000), parsed("120"));
  EXPECT_EQ(milliseconds(7'000), parsed(" \t7 "));
  EXPECT_EQ(milliseconds(30'000), parsed("Sun, 15 Nov 2026 12:00:30 GMT"));
  EXPECT_EQ(milliseconds(30'000), parsed("Sunday, 15-Nov-26 12:00:30 GMT"));
  EXPECT_EQ(milliseconds(30'000), parsed("Sun Nov 15 12:00:30 2026"));
  EXPECT_EQ(milliseconds(16 * 86'400'000LL), parsed("Tue Dec  1 12:00:00 2026"));
  EXPECT_EQ(milliseconds(0), parsed("Sun, 06 Nov 1994 08:49:37 GMT")) << "a date that is past";
  EXPECT_EQ(milliseconds(0), parsed("Sunday, 06-Nov-94 08:49:37 GMT")) << "1994, not 2094";
}

TEST(RetryAfter, IsRoundedUpWithinTheSecond) {
  const auto within = std::chrono::system_clock::time_point(kNow) + milliseconds(400);
  EXPECT_EQ(milliseconds(1'000), parse_retry_after("Sun, 15 Nov 2026 12:00:01 GMT", within));
}

TEST(RetryAfter, IsBoundedWhateverItSays) {
  const milliseconds bound(retry_detail::kMaxSeconds * 1000);
  EXPECT_EQ(bound, parsed("99999999999999999999999999999999"));
  EXPECT_EQ(bound, parsed("9223372036854775807"));
  EXPECT_EQ(bound, parsed("Fri, 31 Dec 9999 23:59:59 GMT"));
}

TEST(RetryAfter, IsNothingWhenItIsNeitherSecondsNorADate) {
  for (const char* text :
       {"", " ", "-1", "+1", "1.5", "1s", "0x10", "soon", "Sun", "Sun, 15 Nov 2026", "Sun, 31 Feb 2027 12:00:00 GMT",
        "Sun, 15 Nov 2026 24:00:00 GMT", "Sun, 15 Nov 2026 12:60:00 GMT", "Sun, 15 ovD 2026 12:00:00 GMT",
        "Sun, 15 Nov 2026 12:00:30 CET", "Sun, 15 Nov 99999 12:00:30 GMT", "- - - - - - - - -",
        "Sun, 15 Nov 2026 1:00:300 GMT", "Sun, 15 Nov 2026 12:00:30 GMT GMT"}) {
    EXPECT_EQ(std::nullopt, parsed(text)) << text;
  }
}

TEST(Retry, NeverComesBeforeRetryAfter) {
  EXPECT_EQ(milliseconds(2'000), advice_for({429, "2", {}}, policy_with(0)).wait);
  EXPECT_EQ(milliseconds(2'100), advice_for({429, "2", {}}, policy_with(100)).wait) << "jitter comes on top";
  EXPECT_EQ(milliseconds(5'000), advice_for({503, "Sun, 15 Nov 2026 12:00:05 GMT", {}}, policy_with(0)).wait);
}

TEST(Retry, DrawsFromZeroToABoundThatDoublesUpToACap) {
  RetryBudget budget;
  RetryPolicy policy = policy_with(0);
  std::uint64_t random = 0;
  policy.random = [&random] { return random; };
  policy.max_attempts = 10;
  policy.max_backoff = milliseconds(700);
  Retry retry(budget, policy);
  for (const int bound : {100, 200, 400, 700, 700}) {
    random = static_cast<std::uint64_t>(bound);
    EXPECT_EQ(milliseconds(bound), retry.next({503, {}, {}}).wait);
  }
  random = 701;
  EXPECT_EQ(milliseconds(0), retry.next({503, {}, {}}).wait) << "one past the bound wraps to zero";
}

TEST(Retry, OwnRandomnessStaysWithinTheBound) {
  std::vector<milliseconds> waits;
  for (int i = 0; i < 200; ++i) waits.push_back(advice_for({503, {}, {}}, RetryPolicy{}).wait);
  const auto [least, most] = std::minmax_element(waits.begin(), waits.end());
  EXPECT_GE(*least, milliseconds(0));
  EXPECT_LE(*most, milliseconds(100));
  EXPECT_LT(*least, *most) << "two hundred draws that are all the same are not random";
}

TEST(Retry, LeavesAloneWhatARetryCannotMend) {
  for (const int status : {400, 401, 403, 404, 405, 409, 413, 422, 500, 501, 505}) {
    EXPECT_EQ("not_retryable", advice_for({status, "1", {}}).reason) << status;
  }
  EXPECT_EQ("cost_too_large", advice_for({429, {}, "cost_too_large"}).reason);
  EXPECT_FALSE(advice_for({429, {}, "cost_too_large"}).retry);
  for (const int status : {200, 201, 204, 304}) EXPECT_EQ("done", advice_for({status, {}, {}}).reason) << status;
}

TEST(Retry, WhatMayHaveBeenCarriedOutIsRepeatedOnlyIfThatIsHarmless) {
  RetryPolicy once = policy_with(0);
  once.idempotent = false;
  for (const int status : {0, 408, 502, 504}) {
    EXPECT_TRUE(advice_for({status, {}, {}}).retry) << status;
    EXPECT_FALSE(advice_for({status, {}, {}}, once).retry) << status;
  }
  for (const int status : {429, 503}) EXPECT_TRUE(advice_for({status, {}, {}}, once).retry) << status;
}

TEST(Retry, EndsAfterTheAttemptsAndWaitsThatThePolicyAllows) {
  RetryBudget budget;
  Retry retry(budget, policy_with(0));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(retry.next({429, "1", {}}).retry);
  EXPECT_EQ("attempts", retry.next({429, "1", {}}).reason);
  EXPECT_EQ("wait_too_long", advice_for({429, "61", {}}).reason);
  Retry patient(budget, policy_with(0));
  EXPECT_TRUE(patient.next({429, "60", {}}).retry);
  EXPECT_TRUE(patient.next({429, "60", {}}).retry);
  EXPECT_EQ("wait_too_long", patient.next({429, "1", {}}).reason);
}

TEST(Retry, SurvivesAPolicyOfExtremes) {
  RetryPolicy policy = policy_with(std::numeric_limits<std::uint64_t>::max());
  policy.first_backoff = policy.max_backoff = milliseconds::max();
  policy.max_attempts = 100;
  EXPECT_EQ("wait_too_long", advice_for({503, {}, {}}, policy).reason);
  policy.first_backoff = policy.max_backoff = milliseconds(-5);
  EXPECT_EQ(milliseconds(0), advice_for({503, {}, {}}, policy).wait);
}

TEST(RetryBudget, KeepsRetriesToItsShareOfTheRequests) {
  RetryBudget budget(10, 5);
  int retries = 0;
  for (int i = 0; i < 1000; ++i) {
    Retry retry(budget, policy_with(0));
    while (retry.next({503, {}, {}}).retry) ++retries;
  }
  EXPECT_EQ(5 + 99, retries) << "the reserve, and a tenth of the requests after the first, whose share found it full";
}

TEST(RetryBudget, OfNothingAllowsNoRetry) {
  RetryBudget budget(0, 0);
  Retry retry(budget, policy_with(0));
  EXPECT_EQ("budget", retry.next({503, {}, {}}).reason);
}

TEST(RetryBudget, IsExactAmongConcurrentCallers) {
  RetryBudget budget(0, 1000);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) taken += budget.take_retry() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(1000, taken);
}

}  // namespace
}  // namespace weir
