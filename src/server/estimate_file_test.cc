#include "server/estimate_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

namespace weir::server {
namespace {

constexpr BucketKey kEstimateKeyId{3, 4};

TEST(EstimateFile, WhatWasLearnedSurvivesARestart) {
  const rules::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "weir.snapshot.estimates";
  ManualClock clock;
  LogFile lines(clock);
  observe::Log& log = lines.log();
  engine::Estimates before;
  for (int i = 0; i < 100; ++i) before.learn({{1, 2}, {1, 0}}, 1'500);
  EstimateFile(before, path, kEstimateKeyId, log).save();
  engine::Estimates after;
  EstimateFile(after, path, kEstimateKeyId, log).load();
  EXPECT_EQ(after.quantile({{1, 2}, {1, 0}}, 95), before.quantile({{1, 2}, {1, 0}}, 95));
  engine::Estimates other;
  EXPECT_FALSE(read_estimates(path, {9, 9}, other).ok()) << "of another hash key";
  EXPECT_TRUE(other.learned().empty());
}

TEST(EstimateFile, ADamagedFileIsRefusedAsAWhole) {
  const rules::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "estimates";
  ManualClock clock;
  LogFile lines(clock);
  observe::Log& log = lines.log();
  engine::Estimates some;
  some.learn({{1, 2}, {1, 0}}, 7);
  EstimateFile(some, path, kEstimateKeyId, log).save();
  std::ifstream in(path, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t at = 0; at < good.size(); at += 13) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    std::ofstream(path, std::ios::binary) << bad;
    engine::Estimates none;
    EXPECT_FALSE(read_estimates(path, kEstimateKeyId, none).ok()) << at;
    EXPECT_TRUE(none.learned().empty());
  }
  for (std::size_t size = 0; size < good.size(); size += 97) {
    std::ofstream(path, std::ios::binary) << good.substr(0, size);
    engine::Estimates none;
    EXPECT_FALSE(read_estimates(path, kEstimateKeyId, none).ok()) << size;
  }
}

}  // namespace
}  // namespace weir::server
