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

// Lengths of a rule that was loaded again at 10:20 with other windows.
class FormerWindows : public testing::Test {
 protected:
  static constexpr TimePoint kLoaded{Duration(10h + 20min)};

  static Allowance fixed(std::int64_t limit, Duration window) {
    return allowance_of(Algorithm::fixed_window, limit, window);
  }
  static WindowLengths lengths_of(const std::vector<Allowance>& allowances) {
    WindowLengths lengths;
    for (const Allowance& each : allowances) lengths.add(each);
    return lengths;
  }
  // What the rule goes on with, when it has these numbers from now on.
  static WindowLengths next(const WindowLengths& before, const std::vector<Allowance>& allowances,
                            TimePoint now = kLoaded) {
    WindowLengths lengths = before.as_former(now);
    for (const Allowance& each : allowances) lengths.add(each);
    lengths.settle([&](auto use) {
      for (const Allowance& each : allowances) use(each);
    });
    return lengths;
  }
  static std::vector<Duration> windows_of(const WindowLengths& lengths) {
    std::vector<Duration> windows;
    for (const Allowance& each : lengths.recording()) windows.push_back(each.window);
    return windows;
  }
};

TEST_F(FormerWindows, ALengthThatIsGoneCountsUntilItsWindowIsOver) {
  const WindowLengths lengths = next(lengths_of({fixed(10, 1h), fixed(10, 24h)}), {fixed(10, 1h)});
  EXPECT_EQ(windows_of(lengths), (std::vector<Duration>{1h, 24h}));
  const TimePoint end{Duration(24h)};
  EXPECT_EQ(lengths.counting(end - Duration{1}), 2U);
  EXPECT_EQ(lengths.longest(end - Duration{1}), 1U);
  EXPECT_EQ(lengths.counting(end), 1U);
  EXPECT_EQ(lengths.longest(end), 0U);
  std::vector<TimePoint> changes;
  lengths.for_each_change([&](TimePoint at) { changes.push_back(at); });
  EXPECT_EQ(changes, std::vector<TimePoint>{end});
  EXPECT_EQ(lengths.bounds(fixed(10, 1h), kLoaded), nullptr) << "its own count is complete";
}

TEST_F(FormerWindows, ALengthThatIsNewIsBoundByTheOthersUntilItsCountIsComplete) {
  Allowance asked = fixed(7, 3h);
  asked.overdraft = 50;
  const WindowLengths lengths = next(lengths_of({fixed(10, 1h)}), {fixed(10, 1h), asked, fixed(8, 3h)});
  EXPECT_EQ(windows_of(lengths), (std::vector<Duration>{1h, 3h}));
  const TimePoint complete{Duration(12h)};
  EXPECT_EQ(lengths.complete_from(asked), complete);
  const Allowance* const bounds = lengths.bounds(asked, complete - Duration{1});
  ASSERT_NE(bounds, nullptr);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(bounds[i].limit, 7);
    EXPECT_EQ(bounds[i].overdraft, 50);
    EXPECT_EQ(bounds[i].window, lengths.recording()[i].window);
  }
  EXPECT_EQ(lengths.bounds(fixed(8, 3h), kLoaded)->limit, 8) << "each limit has bounds of its own";
  EXPECT_EQ(lengths.bounds(fixed(9, 3h), kLoaded), nullptr) << "no rule asks for it";
  EXPECT_EQ(lengths.bounds(asked, complete), nullptr);
  EXPECT_EQ(lengths.bounds(fixed(10, 1h), kLoaded), nullptr);
}

TEST_F(FormerWindows, EveryAlgorithmCountsForItsOwnTime) {
  const auto complete_from = [](Algorithm algorithm) {
    const Allowance hour = allowance_of(algorithm, 10, 1h);
    return next(lengths_of({allowance_of(algorithm, 10, 10min)}), {allowance_of(algorithm, 10, 10min), hour})
        .complete_from(hour);
  };
  EXPECT_EQ(complete_from(Algorithm::fixed_window), TimePoint(Duration(11h)));
  EXPECT_EQ(complete_from(Algorithm::sliding_counter), TimePoint(Duration(12h)));
  EXPECT_EQ(complete_from(Algorithm::sliding_log), TimePoint(Duration(11h + 20min)));
  EXPECT_EQ(complete_from(Algorithm::bucketed_window), TimePoint(Duration(11h + 20min)));
}

TEST_F(FormerWindows, AnotherFirstLengthTakesTheSubjectsKey) {
  const WindowLengths lengths = next(lengths_of({fixed(10, 1h)}), {fixed(10, 2h)});
  EXPECT_EQ(windows_of(lengths), std::vector<Duration>{2h});
  EXPECT_EQ(lengths.complete_from(fixed(10, 2h)), TimePoint(Duration(12h)));
  const WindowLengths same = next(lengths_of({fixed(10, 1h)}), {fixed(99, 1h)});
  EXPECT_EQ(same.complete_from(fixed(99, 1h)), TimePoint::min());
}

TEST_F(FormerWindows, OfFormerLengthsThoseThatLastLongestStay) {
  std::vector<Allowance> many;
  for (std::size_t i = 1; i <= kMaxWindowLengths; ++i) many.push_back(fixed(10, 24h * i));
  const WindowLengths lengths = next(lengths_of(many), {fixed(10, 24h), fixed(10, 1h)});
  ASSERT_EQ(lengths.recording().size(), kMaxWindowLengths);
  EXPECT_EQ(windows_of(lengths)[0], 24h);
  EXPECT_EQ(windows_of(lengths)[1], 1h) << "its own lengths come before those that it had";
  EXPECT_EQ(windows_of(lengths)[2], 24h * kMaxWindowLengths);
  EXPECT_EQ(windows_of(lengths).back(), 24h * 3) << "the one of two days ends first";
}

TEST_F(FormerWindows, WhatIsOverIsForgottenAtTheNextLoad) {
  const WindowLengths first = next(lengths_of({fixed(10, 1h), fixed(10, 2h)}), {fixed(10, 1h)});
  EXPECT_EQ(windows_of(next(first, {fixed(10, 1h)}, TimePoint(Duration(12h)) - Duration{1})),
            (std::vector<Duration>{1h, 2h}));
  EXPECT_EQ(windows_of(next(first, {fixed(10, 1h)}, TimePoint(Duration(12h)))), std::vector<Duration>{1h});
}

TEST_F(FormerWindows, ARuleThatKeepsNoCountHasNone) {
  const WindowLengths lengths =
      next(lengths_of({fixed(10, 1h), fixed(10, 2h)}), {allowance_of(Algorithm::token_bucket, 10, 60s)});
  EXPECT_TRUE(lengths.recording().empty());
}

}  // namespace
}  // namespace weir::rules
