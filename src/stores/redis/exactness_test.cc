#include "stores/redis/exactness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::redis {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

Allowance allowance(Algorithm algorithm, std::int64_t limit, Duration window,
                    std::optional<std::int64_t> capacity = std::nullopt) {
  AllowanceSpec spec;
  spec.algorithm = algorithm;
  spec.limit = limit;
  spec.window = window;
  (algorithm == Algorithm::leaky_bucket ? spec.queue : spec.burst) = capacity;
  auto made = make_allowance(spec);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.failure().message);
  return made.value();
}

TEST(RedisSupports, EverydayRules) {
  for (const Algorithm algorithm : {Algorithm::token_bucket, Algorithm::gcra, Algorithm::leaky_bucket,
                                    Algorithm::fixed_window, Algorithm::sliding_counter}) {
    EXPECT_TRUE(redis_supports(allowance(algorithm, 120, seconds(60))).ok());
    EXPECT_TRUE(redis_supports(allowance(algorithm, 1'000'000, hours(24))).ok());
  }
}

TEST(RedisSupports, WindowsOfAnySize) {
  for (const Algorithm algorithm : {Algorithm::fixed_window, Algorithm::sliding_counter}) {
    EXPECT_TRUE(redis_supports(allowance(algorithm, kMaxUnits, kMaxWindow)).ok());
  }
}

TEST(RedisSupports, RefusesDebtsThatDoublesCannotCountAndNamesTheBound) {
  const Allowance odd = allowance(Algorithm::token_bucket, 999'983, hours(24));
  const Status status = redis_supports(odd);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().code, Code::invalid_argument);
  const std::int64_t most = (std::int64_t{1} << 52) / odd.rate_ticks;
  EXPECT_THAT(status.failure().message, ::testing::StartsWith("burst: is 999983"));
  EXPECT_THAT(status.failure().message, ::testing::HasSubstr("at most " + std::to_string(most)));
  EXPECT_TRUE(redis_supports(allowance(Algorithm::token_bucket, 999'983, hours(24), most)).ok());
  EXPECT_FALSE(redis_supports(allowance(Algorithm::token_bucket, 999'983, hours(24), most + 1)).ok());
}

TEST(RedisSupports, BoundsTheQueueOfALeakyBucket) {
  const Allowance odd = allowance(Algorithm::leaky_bucket, 999'983, hours(24), 10);
  const std::int64_t most = ((std::int64_t{1} << 53) / odd.rate_ticks - 2) / 3;
  EXPECT_TRUE(redis_supports(allowance(Algorithm::leaky_bucket, 999'983, hours(24), most)).ok());
  EXPECT_FALSE(redis_supports(allowance(Algorithm::leaky_bucket, 999'983, hours(24), most + 1)).ok());
}

}  // namespace
}  // namespace weir::redis
