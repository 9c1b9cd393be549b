#include "base/latency_counts.h"

#include <gtest/gtest.h>

namespace weir::base {
namespace {

TEST(LatencyCounts, EachValueIsBelowTheEndOfItsBucketAndNotBelowTheEndOfTheOneBefore) {
  for (std::uint64_t ns = 0; ns < 100'000; ns += ns / 7 + 1) {
    const std::size_t bucket = latency_bucket(ns);
    EXPECT_LT(ns, latency_bucket_end(bucket)) << ns;
    EXPECT_GE(ns, bucket > 0 ? latency_bucket_end(bucket - 1) : 0) << ns;
  }
}

TEST(LatencyCounts, WhatTakesTooLongIsInTheLastBucket) {
  EXPECT_EQ(latency_bucket(~std::uint64_t{0}), kLatencyBuckets - 1);
}

TEST(LatencyCounts, AQuantileIsAtMostAQuarterTooHigh) {
  LatencyCounts counts;
  for (std::uint64_t us = 1; us <= 1000; ++us) counts.add(us * 1000);
  const LatencySums sums = counts.sums();
  EXPECT_EQ(sums.count(), 1000u);
  EXPECT_EQ(sums.total_ns, 500'500'000u);
  EXPECT_GE(latency_quantile(sums, 500), 500'000u);
  EXPECT_LE(latency_quantile(sums, 500), 625'000u);
  EXPECT_GE(latency_quantile(sums, 990), 990'000u);
  EXPECT_LE(latency_quantile(sums, 990), 1'237'500u);
}

TEST(LatencyCounts, ADifferenceHasOnlyWhatCameSince) {
  LatencyCounts counts;
  counts.add(1'000'000);
  const LatencySums before = counts.sums();
  counts.add(10);
  const LatencySums since = counts.sums().since(before);
  EXPECT_EQ(since.count(), 1u);
  EXPECT_EQ(since.total_ns, 10u);
  EXPECT_LE(latency_quantile(since, 1000), 12u);
  EXPECT_EQ(latency_quantile(since.since(since), 500), 0u);
}

}  // namespace
}  // namespace weir::base
