#include "rules/compile/window_lengths.h"

#include <gtest/gtest.h>

#include <set>

namespace weir::rules {
namespace {

using namespace std::chrono_literals;

Allowance allowance_of(Algorithm algorithm, std::int64_t limit, Duration window,
                       std::optional<std::int64_t> buckets = std::nullopt) {
  return make_allowance({.algorithm = algorithm, .limit = limit, .window = window, .buckets = buckets}).value();
}

TEST(WindowLengths, CountsDifferentWindowsOnce) {
  WindowLengths lengths;
  EXPECT_TRUE(lengths.add(allowance_of(Algorithm::fixed_window, 10, 60s)));
  EXPECT_TRUE(lengths.add(allowance_of(Algorithm::fixed_window, 99, 60s)));
  EXPECT_FALSE(lengths.several());
  EXPECT_TRUE(lengths.add(allowance_of(Algorithm::fixed_window, 10, 1h)));
  EXPECT_TRUE(lengths.several());
  ASSERT_EQ(lengths.recording().size(), 2U);
  EXPECT_EQ(lengths.recording()[1].window, 1h);
  EXPECT_EQ(lengths.recording()[1].limit, kMaxUnits);
  EXPECT_EQ(lengths.index_of(allowance_of(Algorithm::fixed_window, 5, 1h)), 1U);
}

TEST(WindowLengths, TellsSubBucketsApart) {
  WindowLengths lengths;
  lengths.add(allowance_of(Algorithm::bucketed_window, 10, 60s, 10));
  lengths.add(allowance_of(Algorithm::bucketed_window, 10, 60s, 20));
  EXPECT_TRUE(lengths.several());
  EXPECT_EQ(lengths.index_of(allowance_of(Algorithm::bucketed_window, 7, 60s, 20)), 1U);
}

TEST(WindowLengths, DebtsNeedNone) {
  for (const Algorithm algorithm : {Algorithm::token_bucket, Algorithm::gcra, Algorithm::leaky_bucket}) {
    WindowLengths lengths;
    lengths.add(allowance_of(algorithm, 10, 60s));
    lengths.add(allowance_of(algorithm, 10, 1h));
    EXPECT_FALSE(lengths.several());
  }
}

TEST(WindowLengths, EachLengthHasAKeyOfItsOwnAndTheFirstTheSubjects) {
  WindowLengths lengths;
  for (std::size_t i = 0; i < kMaxWindowLengths; ++i) {
    EXPECT_TRUE(lengths.add(allowance_of(Algorithm::sliding_log, 10, 60s * (i + 1))));
  }
  EXPECT_FALSE(lengths.add(allowance_of(Algorithm::sliding_log, 10, 24h)));
  EXPECT_EQ(lengths.index_of(allowance_of(Algorithm::sliding_log, 10, 24h)), 0U);
  const BucketKey subject{0x0123456789abcdef, 0xfedcba9876543210};
  std::set<std::pair<std::uint64_t, std::uint64_t>> keys;
  for (std::size_t i = 0; i < lengths.recording().size(); ++i) {
    const BucketKey key = lengths.key(subject, i);
    keys.insert({key.high, key.low});
    EXPECT_EQ(lengths.key(key, i), subject);
  }
  EXPECT_EQ(keys.size(), kMaxWindowLengths);
  EXPECT_EQ(lengths.key(subject, 0), subject);
}

}  // namespace
}  // namespace weir::rules
