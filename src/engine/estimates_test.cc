#include "engine/estimates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weir::engine {
namespace {

Estimates::Subject subject(std::uint64_t value, std::uint64_t rule = 1) { return {{rule, value}, {rule, 0}}; }

TEST(QuantileSketch, IsNeverTooLowAndAtMostASixteenthTooHigh) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; ++round) {
    QuantileSketch sketch;
    std::vector<std::int64_t> values;
    const auto count = 1 + random() % 2'000;
    for (std::uint64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int64_t>(random() % (std::uint64_t{1} << random() % 40)) % (kMaxUnits + 1));
      sketch.add(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const int percent : {1, 50, 95, 99, 100}) {
      const std::size_t rank = (values.size() * static_cast<std::size_t>(percent) + 99) / 100;
      const std::int64_t exact = values[std::max<std::size_t>(1, rank) - 1];
      EXPECT_GE(sketch.quantile(percent), exact);
      EXPECT_LE(sketch.quantile(percent), exact + exact / 16);
    }
  }
}

TEST(QuantileSketch, CountsTheSmallestAndTheLargest) {
  QuantileSketch sketch;
  sketch.add(0);
  EXPECT_EQ(sketch.quantile(100), 0);
  sketch.add(kMaxUnits);
  EXPECT_GE(sketch.quantile(100), kMaxUnits);
  EXPECT_EQ(sketch.quantile(50), 0);
}

TEST(QuantileSketch, ForgetsWhatIsOld) {
  QuantileSketch sketch;
  for (int i = 0; i < 4'000; ++i) sketch.add(1'000'000);
  for (int i = 0; i < 40'000; ++i) sketch.add(10);
  EXPECT_LT(sketch.total(), QuantileSketch::kMost);
  EXPECT_EQ(sketch.quantile(99), 10);
}

TEST(QuantileSketch, RefusesMoreThanCanHaveBeenCounted) {
  QuantileSketch sketch;
  std::array<std::uint16_t, QuantileSketch::kSizes> counts{};
  counts[3] = 9;
  EXPECT_TRUE(sketch.restore(counts));
  EXPECT_EQ(sketch.quantile(50), 3);
  counts[7] = 60'000;
  EXPECT_FALSE(sketch.restore(counts));
  EXPECT_EQ(sketch.total(), 9U);
}

TEST(Estimates, EachValueIsLearnedApart) {
  Estimates estimates;
  EXPECT_FALSE(estimates.quantile(subject(1), 95));
  estimates.learn(subject(1), 7);
  EXPECT_EQ(estimates.quantile(subject(1), 95), 7);
  EXPECT_FALSE(estimates.quantile(subject(2), 95));
}

TEST(Estimates, NewcomersBeyondTheBoundShareASketch) {
  Estimates estimates;
  for (std::uint64_t value = 1; value <= Estimates::kMaxSketches; ++value) estimates.learn(subject(value), 1);
  estimates.learn(subject(99'999), 12);
  EXPECT_EQ(estimates.quantile(subject(99'999), 95), 12);
  EXPECT_EQ(estimates.quantile(subject(88'888), 95), 12) << "of the same rule";
  EXPECT_EQ(estimates.quantile(subject(5), 95), 1);
  EXPECT_EQ(estimates.learned().size(), Estimates::kMaxSketches + 1);
}

TEST(Estimates, ErrorsAreCountedByRule) {
  Estimates estimates;
  estimates.count_error("a", 100, 40);
  estimates.count_error("a", 100, 130);
  estimates.count_error("b", 5, 5);
  const auto errors = estimates.errors();
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].settled, 2U);
  EXPECT_EQ(errors[0].over, 60U);
  EXPECT_EQ(errors[0].under, 30U);
  EXPECT_EQ(errors[1].over + errors[1].under, 0U);
}

TEST(Estimates, SketchesOfRulesAreBoundedToo) {
  Estimates estimates;
  for (std::uint64_t value = 1; value <= Estimates::kMaxSketches; ++value) estimates.learn(subject(value), 1);
  for (std::uint64_t rule = 2; rule <= Estimates::kMaxRules + 1; ++rule) estimates.learn(subject(7, rule), 5);
  constexpr std::size_t kAll = Estimates::kMaxSketches + Estimates::kMaxRules;
  EXPECT_EQ(estimates.learned().size(), kAll);
  EXPECT_EQ(estimates.quantile(subject(7, Estimates::kMaxRules + 1), 95), 5);
  estimates.learn(subject(7, 999'999), 5);
  EXPECT_FALSE(estimates.quantile(subject(7, 999'999), 95)) << "there is no room for another rule";
  estimates.restore({{999'999, 1}, estimates.learned().front().sketch});
  EXPECT_EQ(estimates.learned().size(), kAll);
  for (int i = 0; i < 100; ++i) estimates.learn(subject(7), 9);
  EXPECT_EQ(estimates.quantile(subject(7), 95), 9) << "what is there goes on learning";
}

TEST(Estimates, WhatWasLearnedIsRestoredBesideWhatIsThere) {
  Estimates before;
  before.learn(subject(1), 7);
  before.learn(subject(2), 8);
  Estimates after;
  after.learn(subject(2), 3);
  for (const Estimates::Learned& each : before.learned()) after.restore(each);
  EXPECT_EQ(after.quantile(subject(1), 95), 7);
  EXPECT_EQ(after.quantile(subject(2), 95), 3);
}

TEST(Estimates, ErrorsAreOfABoundedNumberOfRules) {
  Estimates estimates;
  for (std::size_t i = 0; i <= Estimates::kMaxRules; ++i) estimates.count_error("r" + std::to_string(i), 2, 1);
  EXPECT_EQ(estimates.errors().size(), Estimates::kMaxRules);
  estimates.count_error("r0", 2, 1);
  EXPECT_EQ(estimates.errors().front().settled, 2U);
}

}  // namespace
}  // namespace weir::engine
