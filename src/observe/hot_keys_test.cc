#include "observe/hot_keys.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace weir::observe {
namespace {

using std::chrono::seconds;

const TimePoint kNow = from_micros(1'800'000'000'000'000);

BucketKey key_of(std::uint64_t number) {
  return {number * 0x9E37'79B9'7F4A'7C15U, (number + 7) * 0xC2B2'AE3D'27D4'EB4FU};
}

Decision decision_of(std::uint64_t subject, std::int64_t remaining = 90, std::uint32_t ordinal = 0) {
  Decision decision;
  decision.reason = Reason::ok;
  decision.at = kNow;
  RuleOutcome& rule = decision.rules.append();
  rule.rule = "search";
  rule.ordinal = ordinal;
  rule.subject = key_of(subject);
  rule.limit = rule.capacity = 100;
  rule.remaining = remaining;
  return decision;
}

Decision denial_of(std::uint64_t subject) {
  Decision decision = decision_of(subject, 0);
  decision.allowed = decision.rules[0].allowed = false;
  decision.reason = Reason::limit_exceeded;
  decision.deciding = 0;
  return decision;
}

// Zipf's distribution over so many keys, beside as many requests of keys that never come again.
TEST(HeavySketch, FindsTheTopTwentyAmongHalfAMillionKeysThatOccurOnce) {
  HeavySketch sketch;
  std::mt19937_64 random(42);
  std::vector<double> weights;
  for (int i = 1; i <= 10'000; ++i) weights.push_back(1.0 / i);
  std::discrete_distribution<std::uint64_t> zipf(weights.begin(), weights.end());
  std::vector<std::uint32_t> real(weights.size());
  for (int i = 0; i < 500'000; ++i) {
    const std::uint64_t key = zipf(random);
    ++real[key];
    sketch.add({key_of(key), 0}, false, random());
    sketch.add({key_of(1'000'000 + static_cast<std::uint64_t>(i)), 0}, false, random());
  }
  std::vector<HeavySketch::Place> places;
  sketch.each([&](const HeavySketch::Place& place) { places.push_back(place); });
  std::sort(places.begin(), places.end(), [](const auto& left, const auto& right) { return left.count > right.count; });
  ASSERT_GE(places.size(), 20u);
  std::size_t found = 0;
  for (std::uint64_t key = 0; key < 20; ++key) {
    for (std::size_t i = 0; i < 20; ++i) found += places[i].key.subject == key_of(key) ? 1 : 0;
  }
  EXPECT_GE(found, 19u);
  for (std::uint64_t key = 0; key < 5; ++key) {
    EXPECT_NEAR(places[key].count, real[key], 0.05 * real[key]);
    EXPECT_LE(places[key].count, real[key]);
  }
}

TEST(HotKeys, RatesOfABusySubjectApproachWhatItReallyAsks) {
  HotKeyCounter first(1);
  HotKeyCounter second(2);
  HotKeys keys({&first, &second});
  for (int s = 0; s < 8; ++s) {
    for (int i = 0; i < 50'000; ++i) {
      first.on_decision(decision_of(i % 2 == 0 ? 7 : 100 + static_cast<std::uint64_t>(i) % 1000));
      second.on_decision(decision_of(i % 2 == 0 ? 7 : 100 + static_cast<std::uint64_t>(i) % 1000));
    }
    keys.merge(kNow + seconds(s));
  }
  const std::vector<HotKeys::Subject> most = keys.asked(3);
  ASSERT_FALSE(most.empty());
  EXPECT_EQ(most[0].key.subject, key_of(7));
  EXPECT_NEAR(most[0].per_second, 50'000, 5'000);
  EXPECT_NEAR(keys.decisions_per_second(), 100'000, 1'000);
  EXPECT_EQ(keys.hot(0.2), 1u);
  EXPECT_EQ(most[0].since, kNow);
}

TEST(HotKeys, ASubjectThatStopsIsForgotten) {
  HotKeyCounter counter(1);
  HotKeys keys({&counter});
  for (int i = 0; i < 100; ++i) counter.on_decision(denial_of(1));
  keys.merge(kNow);
  EXPECT_EQ(keys.denied(10).size(), 1u);
  for (int s = 1; s < 20; ++s) keys.merge(kNow + seconds(s));
  EXPECT_TRUE(keys.denied(10).empty());
  EXPECT_TRUE(keys.asked(10).empty());
}

TEST(HotKeys, EveryDenialCountsAlsoWhereDecisionsAreSampled) {
  HotKeyCounter counter(1);
  HotKeys keys({&counter});
  for (int i = 0; i < 200'000; ++i) counter.on_decision(decision_of(static_cast<std::uint64_t>(i)));
  keys.merge(kNow);
  keys.merge(kNow + seconds(1));
  for (int s = 2; s < 8; ++s) {
    for (int i = 0; i < 200'000; ++i) counter.on_decision(decision_of(static_cast<std::uint64_t>(i)));
    for (int i = 0; i < 3; ++i) counter.on_decision(denial_of(5));
    keys.merge(kNow + seconds(s));
  }
  ASSERT_EQ(keys.denied(10).size(), 1u);
  EXPECT_NEAR(keys.denied(10)[0].per_second, 3, 0.1);
}

TEST(HotKeys, TheFullestSubjectsOfARuleAreKept) {
  HotKeyCounter counter(1);
  HotKeys keys({&counter});
  for (std::uint64_t i = 0; i < 8; ++i) counter.on_decision(decision_of(i, 15 - static_cast<std::int64_t>(i)));
  counter.on_decision(decision_of(50, 60, 1));
  keys.merge(kNow);
  const std::vector<SubjectFill> fullest = keys.fullest_of(0, 10);
  ASSERT_EQ(fullest.size(), HotKeys::kFillsOfRule);
  EXPECT_EQ(fullest[0].key.subject, key_of(7));
  EXPECT_EQ(fullest[0].used, 92);
  EXPECT_EQ(fullest[0].limit, 100);
  EXPECT_EQ(keys.fullest_of(1, 10).size(), 1u);
  EXPECT_EQ(keys.fullest(10, 0.8).size(), HotKeys::kFillsOfRule);
  EXPECT_EQ(keys.fullest(10, 0).size(), HotKeys::kFillsOfRule + 1);
}

TEST(HotKeys, ASubjectThatBecomesEmptierIsShownAsItIs) {
  HotKeyCounter counter(1);
  HotKeys keys({&counter});
  counter.on_decision(decision_of(1, 5));
  keys.merge(kNow);
  EXPECT_NEAR(keys.fullest(1, 0)[0].share(), 0.95, 1e-9);
  counter.on_decision(decision_of(1, 80));
  keys.merge(kNow + seconds(1));
  EXPECT_NEAR(keys.fullest(1, 0)[0].share(), 0.2, 1e-9);
  keys.merge(kNow + HotKeys::kFillLives + seconds(2));
  EXPECT_TRUE(keys.fullest(1, 0).empty());
}

TEST(HotKeys, MemoryIsBoundedWhateverTheTraffic) {
  HotKeyCounter counter(1);
  HotKeys keys({&counter});
  for (int s = 0; s < 10; ++s) {
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      Decision decision = denial_of(static_cast<std::uint64_t>(s) * 20'000 + i);
      decision.rules[0].ordinal = static_cast<std::uint32_t>(i % 1000);
      counter.on_decision(decision);
    }
    keys.merge(kNow + seconds(s));
  }
  EXPECT_LE(keys.asked(1'000'000).size(), HotKeys::kMaxSubjects);
  EXPECT_LE(keys.denied(1'000'000).size(), HotKeys::kMaxSubjects);
  EXPECT_LE(keys.fullest(1'000'000, 0).size(), HotKeys::kMaxRules * HotKeys::kFillsOfRule);
}

TEST(HotKeys, UnlimitedRulesAndThoseThatTheStoreDidNotAnswerForAreLeftOut) {
  HotKeyCounter counter(1);
  HotKeys keys({&counter});
  Decision decision = decision_of(1, 0);
  decision.rules[0].unlimited = true;
  counter.on_decision(decision);
  decision.rules[0].unlimited = false;
  decision.rules[0].store_failed = true;
  counter.on_decision(decision);
  keys.merge(kNow);
  EXPECT_TRUE(keys.asked(10).empty());
  EXPECT_TRUE(keys.fullest(10, 0).empty());
}

TEST(HotKeys, RulesThatAreLeftOutAreNeitherCountedNorShown) {
  HotKeyCounter counter(1);
  HotKeys hot({&counter});
  for (int i = 0; i < 100; ++i) {
    counter.on_decision(decision_of(1, 5, 0));
    counter.on_decision(decision_of(2, 5, 3));
    counter.on_decision(denial_of(1));
  }
  hot.merge(kNow);
  ASSERT_EQ(hot.asked(10).size(), 2U);
  hot.leave_out({0});
  const auto only_other = [&] {
    EXPECT_EQ(hot.asked(10).size(), 1U);
    EXPECT_EQ(hot.asked(10).front().key.ordinal, 3U);
    EXPECT_TRUE(hot.denied(10).empty());
    EXPECT_TRUE(hot.fullest_of(0, 10).empty());
    EXPECT_FALSE(hot.fullest_of(3, 10).empty());
  };
  only_other();
  for (int i = 0; i < 100; ++i) {
    counter.on_decision(decision_of(1, 5, 0));
    counter.on_decision(decision_of(2, 5, 3));
    counter.on_decision(denial_of(1));
  }
  hot.merge(kNow + seconds(1));
  only_other();
}

}  // namespace
}  // namespace weir::observe
