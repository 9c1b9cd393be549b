// How many buckets each rule has: exact through creation, sweeping, eviction, snapshots and many threads.
#include "stores/memory/subject_counts.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "stores/memory/memory_store.h"
#include "stores/memory/snapshot.h"
#include "tests/contract/calls.h"
#include "tests/support/temporary_folder.h"

namespace weir::memory {
namespace {

using contract::allowance_of;
using contract::ask;
using contract::charge_of;
using contract::OwnedCall;
using std::chrono::seconds;

const TimePoint kStart = from_micros(1'800'000'000'000'000);
constexpr SnapshotKeyId kKeyId = {1, 2, 3};

BucketKey key_of(std::uint64_t rule, std::uint64_t subject) { return contract::spread_key(rule * 1'000'000 + subject); }

Charge of_rule(const Allowance& allowance, std::uint32_t number, std::uint64_t subject, std::uint32_t most = 0) {
  Charge charge = charge_of(key_of(number, subject), allowance);
  charge.number = number;
  charge.max_subjects = most;
  charge.rule = number == 1 ? "first" : "second";
  return charge;
}

TEST(SubjectCounts, FollowEveryBucketOfARandomHistory) {
  const Allowance allowances[] = {allowance_of(Algorithm::fixed_window, 5, seconds(10)),
                                  allowance_of(Algorithm::sliding_log, 5, seconds(7)),
                                  allowance_of(Algorithm::token_bucket, 5, seconds(30))};
  MemoryStore store({.max_bytes = std::size_t{1} << 20});
  std::mt19937_64 random(20'261'118);
  TimePoint now = kStart;
  for (int step = 0; step < 60'000; ++step) {
    now += Duration(static_cast<std::int64_t>(random() % 2'000));
    const auto number = static_cast<std::uint32_t>(random() % 3);  // 0: of no rule
    Charge charge = of_rule(allowances[number], number, random() % 20'000);
    const Action action = random() % 20 == 0 ? Action::reset : Action::take;
    ask(store, action, now, charge);
    if (step % 500 == 0) store.sweep(now, 4'096);
    if (step % 5'000 != 0) continue;
    std::int64_t counted[3] = {};
    ShardCopy copy;
    for (std::size_t shard = 0; shard < MemoryStore::kShards; ++shard) store.copy_shard(shard, copy);
    for (const ShardCopy::Bucket& bucket : copy.buckets) ++counted[bucket.number];
    EXPECT_EQ(store.subjects().of(1), counted[1]);
    EXPECT_EQ(store.subjects().of(2), counted[2]);
  }
  EXPECT_GT(store.stats().refused_newcomers + store.stats().evicted_idle, 0U) << "the bound was reached";
  store.clear();
  EXPECT_EQ(store.subjects().of(1) + store.subjects().of(2), 0);
}

TEST(SubjectCounts, ANewcomerBeyondTheBoundIsToldAndNothingOfItsCallIsCharged) {
  const Allowance allowance = allowance_of(Algorithm::gcra, 3, seconds(10));
  MemoryStore store;
  for (std::uint64_t i = 0; i < 4; ++i) ask(store, Action::take, kStart, of_rule(allowance, 1, i, 4));
  OwnedCall call(Action::take, kStart, {of_rule(allowance, 2, 0), of_rule(allowance, 1, 4, 4)});
  ASSERT_TRUE(store.begin(call));
  EXPECT_EQ(call.results()[0].status, Code::ok);
  EXPECT_EQ(call.results()[1].status, Code::out_of_range);
  EXPECT_EQ(store.subjects().of(2), 0);
  EXPECT_EQ(ask(store, Action::take, kStart, of_rule(allowance, 1, 3, 4)).status, Code::ok) << "not a newcomer";
  EXPECT_EQ(ask(store, Action::peek, kStart, of_rule(allowance, 1, 9, 4)).status, Code::out_of_range);
  EXPECT_EQ(ask(store, Action::reset, kStart, of_rule(allowance, 1, 9, 4)).status, Code::ok);
  EXPECT_EQ(store.stats().keys, 4U);
}

TEST(SubjectCounts, NoMoreThanTheBoundHoweverManyThreadsBringNewcomers) {
  const Allowance allowance = allowance_of(Algorithm::fixed_window, 3, seconds(1'000));
  MemoryStore store;
  constexpr std::uint32_t kMost = 500;
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 5'000; ++i) {
        if (ask(store, Action::take, kStart, of_rule(allowance, 1, t * 5'000 + i, kMost)).status == Code::ok)
          ++admitted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted.load(), static_cast<int>(kMost));
  EXPECT_EQ(store.subjects().of(1), std::int64_t{kMost});
}

TEST(SubjectCounts, ARestartKeepsThemUnderTheNumbersThatRulesHaveThen) {
  const rules::TemporaryFolder folder;
  const Allowance allowance = allowance_of(Algorithm::sliding_log, 3, seconds(100));
  MemoryStore before;
  for (std::uint64_t i = 0; i < 30; ++i) ask(before, Action::take, kStart, of_rule(allowance, 1, i));
  for (std::uint64_t i = 0; i < 20; ++i) ask(before, Action::take, kStart, of_rule(allowance, 2, i));
  ask(before, Action::take, kStart, charge_of(key_of(7, 7), allowance));
  const std::filesystem::path path = folder.path() / "snapshot";
  ASSERT_TRUE(save_snapshot(before, path, kKeyId).ok());

  MemoryStore after;
  const auto number = [](std::string_view rule) -> std::uint32_t { return rule == "first" ? 900'000 : 0; };
  const Result<LoadReport> loaded = load_snapshot(after, path, kKeyId, kStart, number);
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
  EXPECT_EQ(loaded.value().loaded, 31U);
  EXPECT_EQ(loaded.value().no_room, 20U) << "of a rule that has no number now";
  EXPECT_EQ(after.subjects().of(900'000), 30);
  EXPECT_EQ(after.subjects().name_of(900'000), "first");
  Charge known = of_rule(allowance, 1, 29);
  known.number = 900'000;
  EXPECT_EQ(ask(after, Action::take, kStart, known).remaining, 1);
  EXPECT_EQ(ask(after, Action::take, kStart, charge_of(key_of(7, 7), allowance)).remaining, 1);

  MemoryStore same;
  ASSERT_TRUE(load_snapshot(same, path, kKeyId, kStart).ok());
  EXPECT_EQ(same.subjects().of(1), 30);
  EXPECT_EQ(same.subjects().of(2), 20);
}

}  // namespace
}  // namespace weir::memory
