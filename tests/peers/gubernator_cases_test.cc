// The published cases of Gubernator. Its leaky bucket, which leaks continuously, is a token bucket here; its token
// bucket is refilled at once when its time is over, and its calendar durations are fixed windows here.
#include <gtest/gtest.h>

#include "tests/peers/peer_bucket.h"

namespace weir::peers {
namespace {

struct Hit {
  std::int64_t hits;
  std::int64_t remaining;
  bool allowed;
  Duration pause;  // after it
};

// Gubernator tells the time until full by whole units; ours is exact, and so at most one unit earlier.
void expect_hits(PeerBucket& bucket, std::int64_t capacity, Duration per_unit, const std::vector<Hit>& hits) {
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const Hit& hit = hits[i];
    const Answer answer = bucket.take(hit.hits);
    EXPECT_EQ(answer.allowed, hit.allowed) << "hit " << i;
    EXPECT_EQ(answer.remaining, hit.remaining) << "hit " << i;
    EXPECT_LE(answer.reset_after, (capacity - hit.remaining) * per_unit) << "hit " << i;
    EXPECT_GE(answer.reset_after, (capacity - hit.remaining - 1) * per_unit) << "hit " << i;
    bucket.advance(hit.pause);
  }
}

TEST(PeerGubernator, TheThirdOfTwoIsOverTheLimit) {
  PeerBucket bucket(tokens(2, 9s));
  expect_hits(bucket, 2, 4500ms, {{1, 1, true, 0s}, {1, 0, true, 0s}, {1, 0, false, 0s}});
}

TEST(PeerGubernator, ATokenBucketIsFullAfterItsDuration) {
  PeerBucket bucket(tokens(2, 5ms));
  expect_hits(bucket, 2, 2500us, {{1, 1, true, 0s}, {1, 0, true, 100ms}, {1, 1, true, 0s}});
}

TEST(PeerGubernator, ACalendarMinuteIsAFixedWindow) {
  PeerBucket bucket(limit_of(Algorithm::fixed_window, 60, 1min));
  for (const Hit& hit : std::vector<Hit>{
           {1, 59, true, 0s}, {1, 58, true, 0s}, {58, 0, true, 0s}, {1, 0, false, 61s}, {0, 60, true, 0s}}) {
    const Answer answer = bucket.take(hit.hits);
    EXPECT_EQ(answer.allowed, hit.allowed);
    EXPECT_EQ(answer.remaining, hit.remaining);
    bucket.advance(hit.pause);
  }
}

// Gubernator lets negative hits raise a bucket of 2 to 4; here nothing is ever given back above full.
TEST(PeerGubernator, NegativeHitsGiveBackButNeverAboveFull) {
  PeerBucket bucket(tokens(2, 5ms));
  EXPECT_EQ(bucket.refund(1), 2);                // 3 there
  EXPECT_EQ(bucket.refund(1), 2);                // 4 there
  EXPECT_EQ(bucket.take(4), never_fits(2, 0s));  // admitted there
  EXPECT_EQ(bucket.take(2).remaining, 0);
  EXPECT_EQ(bucket.refund(1), 1);
}

TEST(PeerGubernator, NegativeHitsOfALeakyBucketGiveBack) {
  PeerBucket bucket(tokens(10, 30s));
  EXPECT_EQ(bucket.take(1), allowed(9, 3s));
  EXPECT_EQ(bucket.refund(1), 10);
  EXPECT_EQ(bucket.take(10), allowed(0, 30s));
  EXPECT_EQ(bucket.refund(1), 1);
}

// Its behaviour "drain over limit" is count_denied.
TEST(PeerGubernator, ADenialDrainsTheBucketIfToldTo) {
  for (const Algorithm algorithm : {Algorithm::token_bucket, Algorithm::gcra, Algorithm::fixed_window}) {
    PeerBucket bucket(std::vector{limit_of(algorithm, 10, 30s)}, /*count_denied=*/true);
    EXPECT_EQ(bucket.take(0).remaining, 10);
    EXPECT_EQ(bucket.take(1).remaining, 9);
    EXPECT_FALSE(bucket.take(100).allowed);
    EXPECT_EQ(bucket.remaining(), 0);
    EXPECT_TRUE(bucket.take(0).allowed);
  }
}

TEST(PeerGubernator, ALeakyBucketLeaksOneEveryThreeSeconds) {
  PeerBucket bucket(tokens(10, 30s));
  expect_hits(bucket, 10, 3s,
              {{1, 9, true, 1s},
               {1, 8, true, 1s},
               {1, 7, true, 1500ms},
               {0, 8, true, 3s},
               {0, 9, true, 0s},
               {9, 0, true, 0s},
               {1, 0, false, 3s},
               {0, 1, true, 60s},
               {0, 10, true, 60s},
               {10, 0, true, 29s},
               {9, 0, true, 3s},
               {1, 0, true, 1s}});
}

TEST(PeerGubernator, ALeakyBucketMayHoldABurst) {
  PeerBucket bucket(tokens(10, 30s, 20));
  expect_hits(bucket, 20, 3s,
              {{1, 19, true, 1s},
               {1, 18, true, 1s},
               {1, 17, true, 1500ms},
               {0, 18, true, 3s},
               {0, 19, true, 0s},
               {19, 0, true, 0s},
               {1, 0, false, 3s},
               {0, 1, true, 60s},
               {0, 20, true, 1s}});
}

TEST(PeerGubernator, ALeakyBucketOfAMinuteLeaksOneEverySecond) {
  PeerBucket bucket(tokens(60, 1min));
  expect_hits(bucket, 60, 1s, {{1, 59, true, 500ms}, {1, 58, true, 1s}, {1, 58, true, 0s}});
}

TEST(PeerGubernator, MoreThanOnePerMillisecondIsCountedExactly) {
  PeerBucket bucket(tokens(2'000, 1s));
  EXPECT_EQ(bucket.take(1), allowed(1'999, 500us));
  EXPECT_EQ(bucket.take(100), allowed(1'899, 50'500us));
}

// Gubernator takes a duration of zero, and a limit of zero as "always over": here a rule says what it means.
TEST(PeerGubernator, ALimitOfZeroNeverAdmitsAndADurationOfZeroCannotBeLoaded) {
  EXPECT_TRUE(load_error(tokens(10, 0s)).starts_with("window:"));
  PeerBucket nothing(tokens(0, 10s));
  EXPECT_FALSE(nothing.take(1).allowed);
}

TEST(PeerGubernator, AChangedLimitKeepsWhatWasUsed) {
  PeerBucket bucket(tokens(100, 9s));
  EXPECT_EQ(bucket.take(1).remaining, 99);
  EXPECT_EQ(bucket.take(1).remaining, 98);
  bucket.change(tokens(10, 9s));
  EXPECT_EQ(bucket.take(1).remaining, 7);
  EXPECT_EQ(bucket.take(1).remaining, 6);
  bucket.change(tokens(200, 9s));
  EXPECT_EQ(bucket.take(1).remaining, 195);
}

// Its leaky bucket forgets what was used when the limit changes (9 and 8 left there); ours keeps it.
TEST(PeerGubernator, AChangedLimitOfALeakyBucketKeepsItToo) {
  PeerBucket bucket(limit_of(Algorithm::gcra, 100, 9s));
  EXPECT_EQ(bucket.take(1).remaining, 99);
  bucket.change(limit_of(Algorithm::gcra, 10, 9s));
  EXPECT_EQ(bucket.take(1).remaining, 8);
  EXPECT_EQ(bucket.take(1).remaining, 7);
}

TEST(PeerGubernator, AResetFillsTheBucket) {
  PeerBucket bucket(tokens(100, 9s));
  EXPECT_EQ(bucket.take(1).remaining, 99);
  EXPECT_EQ(bucket.take(1).remaining, 98);
  bucket.reset();
  EXPECT_EQ(bucket.remaining(), 100);
  EXPECT_EQ(bucket.take(1).remaining, 99);
}

TEST(PeerGubernator, ABatchIsAnsweredInItsOrder) {
  PeerBucket bucket(tokens(2'000, 1s));
  for (const std::size_t size : {1U, 2U, 5U, 10U, 100U, 1'000U}) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < size; ++i) keys.push_back(std::to_string(size) + ":" + std::to_string(i));
    std::vector<std::array<Attribute, 2>> attributes;
    for (const std::string& key : keys) attributes.push_back({Attribute{"subject", key}, Attribute{"rules", "all"}});
    std::vector<Request> requests;
    for (std::size_t i = 0; i < size; ++i) {
      requests.emplace_back(attributes[i], Cost{static_cast<std::int64_t>(i)});
    }
    std::vector<Decision> decisions(size);
    bucket.limiter().check_batch(requests, decisions);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_NE(decisions[i].decisive(), nullptr);
      EXPECT_EQ(decisions[i].decisive()->remaining, 2'000 - static_cast<std::int64_t>(i));
    }
  }
}

TEST(PeerGubernator, ABatchMayAskForSeveralLimits) {
  PeerBucket two(std::vector{tokens(2, 9s), tokens(10, 9s)});
  const std::array<Attribute, 2> first{Attribute{"subject", "9234"}, Attribute{"rules", "0"}};
  const std::array<Attribute, 2> second{Attribute{"subject", "5678"}, Attribute{"rules", "1"}};
  const std::array<Request, 2> requests{Request(first, Cost{1}), Request(second, Cost{5})};
  std::array<Decision, 2> decisions;
  two.limiter().check_batch(requests, decisions);
  EXPECT_EQ(decisions[0].decisive()->remaining, 1);
  EXPECT_EQ(decisions[0].decisive()->limit, 2);
  EXPECT_EQ(decisions[1].decisive()->remaining, 5);
  EXPECT_EQ(decisions[1].decisive()->limit, 10);
}

}  // namespace
}  // namespace weir::peers
