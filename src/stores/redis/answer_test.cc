#include "stores/redis/answer.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace weir::redis {
namespace {

using std::chrono::seconds;

std::vector<ReplyItem> numbers(std::initializer_list<std::int64_t> values) {
  std::vector<ReplyItem> items;
  for (const std::int64_t value : values) items.push_back({ReplyKind::integer, value, {}});
  return items;
}

Allowance allowance_of(Algorithm algorithm) {
  AllowanceSpec spec;
  spec.algorithm = algorithm;
  spec.limit = 10;
  spec.window = seconds(60);
  if (algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra) spec.burst = 25;
  if (algorithm == Algorithm::leaky_bucket) spec.queue = 7;
  return make_allowance(spec).value();
}

TEST(ReadOutcome, TakesWhatAScriptCanAnswer) {
  const Allowance allowance = allowance_of(Algorithm::fixed_window);
  ChargeOutcome outcome;
  ASSERT_TRUE(read_outcome(numbers({1, 10, 0, 5, 3}), allowance, outcome));
  EXPECT_TRUE(outcome.admitted);
  EXPECT_FALSE(outcome.too_large);
  EXPECT_EQ(outcome.remaining, 10);
  EXPECT_EQ(outcome.reset_after, Duration(5));
  EXPECT_EQ(outcome.delay, Duration(3));
  ASSERT_TRUE(read_outcome(numbers({0, 0, 7, 8, 0}), allowance, outcome));
  EXPECT_FALSE(outcome.admitted);
  EXPECT_EQ(outcome.retry_after, Duration(7));
  ASSERT_TRUE(read_outcome(numbers({2, 0, 0, kMostMicros, 0}), allowance, outcome));
  EXPECT_TRUE(outcome.too_large);
  EXPECT_FALSE(outcome.admitted);
}

TEST(ReadOutcome, RemainingIsWhatTheAllowanceCanHave) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const Allowance allowance = allowance_of(static_cast<Algorithm>(i));
    const std::int64_t most = i == static_cast<int>(Algorithm::token_bucket) || i == static_cast<int>(Algorithm::gcra)
                                  ? 25
                              : i == static_cast<int>(Algorithm::leaky_bucket) ? 8
                                                                               : 10;
    ChargeOutcome outcome;
    EXPECT_TRUE(read_outcome(numbers({1, most, 0, 0, 0}), allowance, outcome)) << i;
    EXPECT_FALSE(read_outcome(numbers({1, most + 1, 0, 0, 0}), allowance, outcome)) << i;
  }
}

// Every place, with the numbers that no script of ours can give.
TEST(ReadOutcome, RefusesEveryOtherNumber) {
  const Allowance allowance = allowance_of(Algorithm::token_bucket);
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (std::size_t place = 0; place < kAnswer; ++place) {
    for (const std::int64_t wrong : {kLeast, std::int64_t{-1}, kMostMicros + 1, kMost}) {
      std::vector<ReplyItem> answer = numbers({1, 1, 1, 1, 1});
      answer[place].number = wrong;
      ChargeOutcome outcome;
      EXPECT_FALSE(read_outcome(answer, allowance, outcome)) << place << ' ' << wrong;
    }
    for (const ReplyKind wrong : {ReplyKind::nil, ReplyKind::text, ReplyKind::error, ReplyKind::array}) {
      std::vector<ReplyItem> answer = numbers({1, 1, 1, 1, 1});
      answer[place].kind = wrong;
      ChargeOutcome outcome;
      EXPECT_FALSE(read_outcome(answer, allowance, outcome)) << place;
    }
  }
  ChargeOutcome outcome;
  EXPECT_FALSE(read_outcome(numbers({3, 1, 1, 1, 1}), allowance, outcome));
}

TEST(ReadStanding, TakesAndRefusesLikewise) {
  const Allowance allowance = allowance_of(Algorithm::token_bucket);
  Standing standing;
  ASSERT_TRUE(read_standing(numbers({25, 3, 1'700'000'000'000'000}), allowance, standing));
  EXPECT_EQ(standing.remaining, 25);
  EXPECT_EQ(standing.reset_after_us, 3);
  EXPECT_EQ(standing.charged_at_us, 1'700'000'000'000'000);
  for (std::size_t place = 0; place < 3; ++place) {
    for (const std::int64_t wrong : {std::int64_t{-1}, kMostMicros + 1}) {
      std::vector<ReplyItem> answer = numbers({1, 1, 1});
      answer[place].number = wrong;
      EXPECT_FALSE(read_standing(answer, allowance, standing)) << place << ' ' << wrong;
    }
  }
  EXPECT_FALSE(read_standing(numbers({26, 1, 1}), allowance, standing));
}

// A script may say only what it was asked about.
TEST(ReadOutcome, EveryVerdictMeansOneThing) {
  const Allowance allowance = allowance_of(Algorithm::token_bucket);
  for (std::int64_t verdict = 0; verdict <= 6; ++verdict) {
    ChargeOutcome outcome;
    ASSERT_TRUE(read_outcome(numbers({verdict, 1, 2, 3, 4}), allowance, outcome, {.newcomer = true, .crowded = true}));
    EXPECT_EQ(outcome.admitted, verdict == 1) << verdict;
    EXPECT_EQ(outcome.too_large, verdict == 2) << verdict;
    EXPECT_EQ(outcome.status, verdict == 3 ? Code::out_of_range : Code::ok) << verdict;
    EXPECT_EQ(outcome.crowded, verdict == 4) << verdict;
    EXPECT_EQ(outcome.penalized, verdict >= 5) << verdict;
    EXPECT_EQ(outcome.challenge, verdict == 6) << verdict;
    EXPECT_EQ(outcome.remaining, 1);
    EXPECT_EQ(outcome.retry_after, Duration(2));
    EXPECT_EQ(outcome.reset_after, Duration(3));
    EXPECT_EQ(outcome.delay, Duration(4));
    EXPECT_EQ(read_outcome(numbers({verdict, 1, 2, 3, 4}), allowance, outcome, {.newcomer = true}), verdict != 4);
    EXPECT_EQ(read_outcome(numbers({verdict, 1, 2, 3, 4}), allowance, outcome, {.crowded = true}), verdict != 3);
  }
  ChargeOutcome outcome;
  EXPECT_FALSE(read_outcome(numbers({7, 1, 2, 3, 4}), allowance, outcome, {.newcomer = true, .crowded = true}));
}

// Every place takes its numbers up to its most, and neither more nor another kind.
template <typename ReadNumbers>
void expect_bounds(const std::vector<std::int64_t>& most, ReadNumbers read) {
  std::vector<ReplyItem> good;
  for (const std::int64_t each : most) good.push_back({ReplyKind::integer, each, {}});
  EXPECT_TRUE(read(good));
  for (std::size_t place = 0; place < most.size(); ++place) {
    for (const std::int64_t wrong : {std::int64_t{-1}, most[place] + 1}) {
      std::vector<ReplyItem> items = good;
      items[place].number = wrong;
      EXPECT_FALSE(read(items)) << place << ' ' << wrong;
    }
    std::vector<ReplyItem> items = good;
    items[place].kind = ReplyKind::text;
    EXPECT_FALSE(read(items)) << place;
  }
}

TEST(ReadDraw, TakesWhatAScriptCanAnswer) {
  const Allowance allowance = allowance_of(Algorithm::token_bucket);
  DrawStep draw;
  ASSERT_TRUE(read_draw(numbers({5, 6, 7, 0}), allowance, draw));
  EXPECT_EQ(draw.granted, 5);
  EXPECT_EQ(draw.lasts, Duration(6));
  EXPECT_EQ(draw.at, from_micros(7));
  EXPECT_FALSE(draw.existed);
  ASSERT_TRUE(read_draw(numbers({5, 6, 7, 1}), allowance, draw));
  EXPECT_TRUE(draw.existed);
  expect_bounds({25, kMaxWindow.count(), kMostMicros, 1},
                [&](Reply items) { return read_draw(items, allowance, draw); });
}

TEST(ReadHold, TakesLeasesAndReservations) {
  HoldAnswer answer;
  ASSERT_TRUE(read_hold(numbers({2, 11, 12, 13}), answer));
  EXPECT_EQ(answer.state, HoldState::live);
  EXPECT_EQ(answer.token, 11U);
  EXPECT_EQ(answer.expires_us, 12);
  EXPECT_EQ(answer.at_us, 13);
  ASSERT_TRUE(read_hold(numbers({4, 11, 12, 13, 1, 21, 22, 23, 24, 25}), answer));
  EXPECT_EQ(answer.state, HoldState::ended);
  EXPECT_EQ(answer.reserved, ReservationState::committed);
  EXPECT_EQ(answer.granted, 21);
  EXPECT_EQ(answer.actual, 22);
  EXPECT_EQ(answer.returned, 23);
  EXPECT_EQ(answer.debt, 24);
  EXPECT_EQ(answer.uncharged, 25);
  const auto read = [&](Reply items) { return read_hold(items, answer); };
  expect_bounds({5, kMostMicros, kMostMicros, kMostMicros}, read);
  expect_bounds({5, kMostMicros, kMostMicros, kMostMicros, 3, kMaxUnits, kMaxUnits, kMaxUnits, kMaxUnits, kMaxUnits},
                read);
}

TEST(ReadListed, TakesAHoldOfOneOfTheBuckets) {
  const auto listed_of = [](std::int64_t bucket, std::string_view id, std::int64_t units, std::int64_t third,
                            std::int64_t expires) {
    std::vector<ReplyItem> items = numbers({bucket, 0, units, third, expires});
    items[1] = {ReplyKind::text, 0, id};
    return items;
  };
  constexpr std::string_view kId("\x01\x02\x03\x04\x05\x06\x07\xf8\x11\x12\x13\x14\x15\x16\x17\xf9", 16);
  ListedHold listed;
  ASSERT_TRUE(read_listed(listed_of(1, kId, 3, 4, 5), 2, false, listed));
  EXPECT_EQ(listed.charge, 1U);
  EXPECT_EQ(listed.id, (BucketKey{0x01020304050607f8, 0x11121314151617f9}));
  EXPECT_EQ(listed.units, 3);
  EXPECT_EQ(listed.token, 4U);
  EXPECT_EQ(listed.reserved, TimePoint{});
  EXPECT_EQ(listed.expires, from_micros(5));
  ASSERT_TRUE(read_listed(listed_of(0, kId, kMaxUnits, kMostMicros, kMostMicros), 1, true, listed));
  EXPECT_EQ(listed.token, 0U);
  EXPECT_EQ(listed.reserved, from_micros(kMostMicros));
  const auto refused = [&](const std::vector<ReplyItem>& items) { return !read_listed(items, 2, false, listed); };
  EXPECT_TRUE(refused(listed_of(2, kId, 3, 4, 5))) << "there are two buckets";
  EXPECT_TRUE(refused(listed_of(-1, kId, 3, 4, 5)));
  EXPECT_TRUE(refused(listed_of(1, kId.substr(1), 3, 4, 5)));
  EXPECT_TRUE(refused(listed_of(1, std::string(17, 'x'), 3, 4, 5)));
  EXPECT_TRUE(refused(listed_of(1, kId, kMaxUnits + 1, 4, 5)));
  EXPECT_TRUE(refused(listed_of(1, kId, 3, kMostMicros + 1, 5)));
  EXPECT_TRUE(refused(listed_of(1, kId, 3, 4, kMostMicros + 1)));
  for (const std::size_t place : {0U, 2U, 3U, 4U}) {
    std::vector<ReplyItem> items = listed_of(1, kId, 3, 4, 5);
    items[place].kind = ReplyKind::text;
    EXPECT_TRUE(refused(items)) << place;
  }
  std::vector<ReplyItem> items = listed_of(1, kId, 3, 4, 5);
  items[1].kind = ReplyKind::integer;
  EXPECT_TRUE(refused(items));
}

}  // namespace
}  // namespace weir::redis
