// Buckets whose tail cannot grow (a store at its memory bound): they may count longer than they should, never less.
#include <gtest/gtest.h>

#include "tests/models/generators.h"
#include "tests/models/word_bucket.h"

namespace weir::algorithms {
namespace {

using namespace std::chrono_literals;
using models::Step;
using models::WordBucket;

constexpr TimePoint kStart = TimePoint{Duration{1'800'000'000'000'000}};

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

// What was admitted and not given back, kept exactly and forever.
class History {
 public:
  void take(std::int64_t time, std::int64_t units) { taken_.push_back({time, units}); }
  // The newest first, as the algorithms do.
  void give_back(std::int64_t units) {
    for (auto each = taken_.rbegin(); each != taken_.rend(); ++each) {
      const std::int64_t given = std::min(units, each->units);
      each->units -= given;
      units -= given;
    }
  }
  std::int64_t units_after(std::int64_t time) const {
    std::int64_t units = 0;
    for (const Taken& each : taken_) units += each.time > time ? each.units : 0;
    return units;
  }

 private:
  struct Taken {
    std::int64_t time;
    std::int64_t units;
  };
  std::vector<Taken> taken_;
};

void expect_honest_answer(const Allowance& allowance, const WordBucket& bucket, TimePoint now, std::int64_t cost) {
  const ChargeOutcome outcome = bucket.peek(allowance, now, cost);
  const std::int64_t left = bucket.peek(allowance, now, 0).remaining;
  RC_ASSERT(outcome.admitted == (cost <= left));
  if (outcome.admitted || outcome.too_large) return;
  RC_ASSERT(outcome.retry_after > Duration{0});
  RC_ASSERT(bucket.peek(allowance, now + outcome.retry_after, cost).admitted);
  RC_ASSERT(!bucket.peek(allowance, now + outcome.retry_after - Duration{1}, cost).admitted);
  RC_ASSERT(bucket.peek(allowance, now + bucket.peek(allowance, now, 0).reset_after, 0).remaining == allowance.limit);
}

// Runs one sequence of takes, looks and refunds on a bucket that may not grow beyond `words`. `forgets` gives, for a
// moment, the one at and before which nothing counts in a bucket with room, and the same for one without.
struct Forgotten {
  std::int64_t with_room;
  std::int64_t at_the_latest;
};
template <typename Forgets>
void run(const Allowance& allowance, WordBucket bucket, Forgets forgets) {
  History history;
  TimePoint now = kStart;
  std::int64_t time = 0;  // of the last change
  bool given_back = false;
  for (const Step& step : *models::any_steps(allowance)) {
    // A refund does not always show the bucket how late it is, so the clock does not step back after one.
    now += Duration{given_back ? std::max<std::int64_t>(0, step.advance) : step.advance};
    now = std::max(now, from_micros(0));
    const std::int64_t asked = std::max(time, micros(now));
    expect_honest_answer(allowance, bucket, now, step.cost);
    const ChargeOutcome outcome = bucket.peek(allowance, now, step.cost);
    if (step.kind == Step::Kind::refund) {
      history.give_back(std::min(step.cost, history.units_after(forgets(asked).with_room)));
      bucket.refund(allowance, now, step.cost);
      time = asked;
      now = from_micros(asked);
      given_back = true;
    } else if (step.kind == Step::Kind::take && outcome.admitted) {
      if (step.cost > 0) time = asked;
      history.take(asked, step.cost);
      bucket.take(allowance, now, step.cost);
      RC_ASSERT(history.units_after(forgets(asked).with_room) <= allowance.limit);
    } else if (step.kind == Step::Kind::take && !outcome.too_large && !given_back) {
      RC_ASSERT(history.units_after(forgets(asked).at_the_latest) + step.cost > allowance.limit);
    }
  }
}

TEST(ShortTail, ASlidingLogAdmitsNoMoreThanItsLimitAndCountsAtMostOnePartOfTheWindowLonger) {
  const bool held = rc::check([] {
    const Allowance allowance = *models::any_allowance(Algorithm::sliding_log);
    const std::int64_t window = allowance.window.count();
    for (int i = 0; i < 12; ++i) {
      const auto entries = *rc::gen::inRange<std::int64_t>(1, 20);
      WordBucket bucket;
      bucket.tail.resize(static_cast<std::size_t>(entries * 2));
      bucket.most_tail_words = bucket.tail.size();
      const std::int64_t parts = entries - entries / 8 - 1;
      run(allowance, bucket, [&](std::int64_t time) {
        if (parts == 0) return Forgotten{time - window, kNever};
        return Forgotten{time - window, time - window - (window + parts - 1) / parts};
      });
    }
  });
  EXPECT_TRUE(held);
}

TEST(ShortTail, ABucketedWindowAdmitsNoMoreThanItsLimit) {
  const bool held = rc::check([] {
    const Allowance allowance = *models::any_allowance(Algorithm::bucketed_window);
    const std::int64_t width = allowance.window.count() / allowance.buckets;
    for (int i = 0; i < 12; ++i) {
      WordBucket bucket;
      bucket.tail.resize(*rc::gen::inRange<std::size_t>(1, static_cast<std::size_t>(allowance.buckets)));
      bucket.most_tail_words = bucket.tail.size();
      run(allowance, bucket, [&](std::int64_t time) {
        return Forgotten{(time / width - allowance.buckets + 1) * width - 1, kNever};
      });
    }
  });
  EXPECT_TRUE(held);
}

TEST(ShortTail, AnyWordsAreSafeToCharge) {
  const bool held = rc::check([] {
    const Algorithm algorithm = *rc::gen::element(Algorithm::sliding_log, Algorithm::bucketed_window);
    const Allowance allowance = *models::any_allowance(algorithm);
    const auto any_word = rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(), rc::gen::inRange<std::int64_t>(0, 40),
                                         rc::gen::inRange<std::int64_t>(micros(kStart) - 50, micros(kStart) + 50));
    WordBucket bucket;
    for (std::int64_t& word : bucket.head) word = *any_word;
    bucket.tail = *rc::gen::container<std::vector<std::int64_t>>(any_word);
    bucket.tail.resize(std::max(bucket.tail.size(), least_tail_words(algorithm)));
    bucket.most_tail_words = bucket.tail.size();
    for (const Step& step : *models::any_steps(allowance)) {
      if (bucket.take(allowance, kStart, step.cost).admitted) continue;
      bucket.count_denied(allowance, kStart + Duration{step.cost % 7}, step.cost);
      RC_ASSERT(bucket.peek(allowance, kStart, step.cost).retry_after >= Duration{0});
    }
  });
  EXPECT_TRUE(held);
}

// A log that has room for `limit` entries is exact and never asks for more.
TEST(ShortTail, ASmallLogHasAllItsRoomFromTheBeginning) {
  for (std::int64_t limit = 1; limit <= 10; ++limit) {
    const Allowance allowance =
        make_allowance({.algorithm = Algorithm::sliding_log, .limit = limit, .window = 1s}).value();
    WordBucket bucket;
    ASSERT_TRUE(bucket.take(allowance, kStart, 1).admitted);
    const std::size_t words = bucket.tail.size();
    EXPECT_EQ(words, static_cast<std::size_t>(2 * limit));
    TimePoint now = kStart;
    for (int i = 0; i < 1'000; ++i) {
      now += Duration{1 + i * 7'919 % 200'000};
      bucket.take(allowance, now, 1);
      ASSERT_EQ(bucket.tail.size(), words);
    }
  }
}

// Bringing entries together costs as much as there are entries, so it must not be needed at every charge.
TEST(ShortTail, BringingEntriesTogetherLeavesRoomForMore) {
  const Allowance allowance =
      make_allowance({.algorithm = Algorithm::sliding_log, .limit = 100'000, .window = 1'000s}).value();
  WordBucket bucket;
  bucket.tail.resize(2'000);
  bucket.most_tail_words = bucket.tail.size();
  int without_room = 0;
  for (int i = 0; i < 20'000; ++i) {
    const TimePoint now = kStart + Duration{i * 40'000};
    if (tail_words_needed(allowance, bucket.words(), now, 1) > bucket.tail.size()) ++without_room;
    ASSERT_TRUE(bucket.take(allowance, now, 1).admitted);
  }
  EXPECT_GT(without_room, 10);
  EXPECT_LT(without_room, 20'000 / 100);
}

}  // namespace
}  // namespace weir::algorithms
