#include "engine/stages/fallback_times.h"

#include <gtest/gtest.h>

#include <thread>

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart = from_micros(1'800'000'000'000'000);

TEST(FallbackTimes, CountFromTheFirstFailure) {
  FallbackTimes times;
  EXPECT_FALSE(times.any());
  EXPECT_EQ(times.failed(7, kStart, 2h), 0s);
  EXPECT_EQ(times.failed(7, kStart + 1s, 2h), 1s);
  EXPECT_EQ(times.failed(7, kStart + 1h, 2h), 1h) << "a rule with few requests is on its fallback, too";
  EXPECT_EQ(times.failed(8, kStart + 1h, 2h), 0s) << "each rule by itself";
  EXPECT_TRUE(times.any());
  ASSERT_EQ(times.spells().size(), 2u);
  EXPECT_EQ(times.spells()[0].ordinal, 7u);
  EXPECT_EQ(times.spells()[0].since, kStart);
}

// A rule without requests does not notice that the store is back: its next failure is not part of the old outage.
TEST(FallbackTimes, AFailureAfterAQuietTimeBeginsAnotherSpell) {
  FallbackTimes times;
  const Duration quiet = FallbackTimes::quiet_after(10s);
  EXPECT_EQ(quiet, 10s);
  EXPECT_EQ(times.failed(1, kStart, quiet), 0s);
  EXPECT_EQ(times.failed(1, kStart + 10s, quiet), 10s) << "no longer than that";
  EXPECT_EQ(times.failed(1, kStart + 20s + 1us, quiet), 0s);
  EXPECT_EQ(times.failed(1, kStart + 25s, quiet), 5s - 1us);
  EXPECT_TRUE(times.any());
  EXPECT_EQ(times.spells().front().since, kStart + 20s + 1us);
  EXPECT_EQ(times.spells().front().last_failure, kStart + 25s);
  EXPECT_EQ(FallbackTimes::quiet_after(1s), 5s);
  EXPECT_EQ(FallbackTimes::quiet_after(std::nullopt), 1min);
}

TEST(FallbackTimes, EndWithAnAnswerOnceTheStoreHasSettled) {
  FallbackTimes times;
  times.failed(1, kStart, 2h);
  times.answered(1, kStart + 1s);
  EXPECT_EQ(times.failed(1, kStart + 3s, 2h), 3s) << "a store that answers now and then is not back";
  times.answered(1, kStart + 3s + FallbackTimes::kSettled - 1us);
  EXPECT_TRUE(times.any());
  times.answered(1, kStart + 3s + FallbackTimes::kSettled);
  EXPECT_FALSE(times.any());
  EXPECT_TRUE(times.spells().empty());
  EXPECT_EQ(times.failed(1, kStart + 1min, 2h), 0s) << "another spell";
}

TEST(FallbackTimes, FailuresAreCountedForEachSpell) {
  FallbackTimes times;
  TimePoint now = from_micros(1'000'000'000);
  EXPECT_EQ(times.failures(3), 0u);
  for (int i = 0; i < 3; ++i) times.failed(3, now, FallbackTimes::kSettled);
  EXPECT_EQ(times.failures(3), 3u);
  now += FallbackTimes::kSettled;
  times.answered(3, now);
  EXPECT_FALSE(times.any());
  EXPECT_EQ(times.failures(3), 3u) << "of the spell that has ended";
  times.failed(3, now, FallbackTimes::kSettled);
  EXPECT_EQ(times.failures(3), 1u);
  now += FallbackTimes::kSettled + Duration(1);
  times.failed(3, now, FallbackTimes::kSettled);
  EXPECT_EQ(times.failures(3), 1u) << "after a quiet time it is another spell";
}

TEST(FallbackTimes, AnswersForRulesThatNeverFailedMeanNothing) {
  FallbackTimes times;
  times.answered(5, kStart);
  times.answered(999'999, kStart);
  times.failed(rules::kMaxRuleNames - 1, kStart, 2h);
  EXPECT_EQ(times.spells().size(), 1u);
  times.forget(5);
  times.forget(rules::kMaxRuleNames - 1);
  EXPECT_FALSE(times.any());
}

TEST(FallbackTimes, ThreadsBeginAndEndASpellOnce) {
  FallbackTimes times;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&times] {
      for (std::uint32_t rule = 0; rule < 3'000; ++rule) {
        times.failed(rule, kStart, 2h);
        times.answered(rule, kStart + 1min);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const FallbackTimes::Spell& spell : times.spells()) times.forget(spell.ordinal);
  EXPECT_FALSE(times.any()) << "as many ends as beginnings";
}

}  // namespace
}  // namespace weir::engine
