// Buckets that were written under a clock that was ahead.
#include <gtest/gtest.h>

#include "algorithms/bucketed_window.h"
#include "tests/models/generators.h"
#include "tests/models/word_bucket.h"

namespace weir::algorithms {
namespace {

using models::Step;
using models::WordBucket;

constexpr TimePoint kStart = TimePoint{Duration{1'800'000'000'000'000}};

rc::Gen<Algorithm> any_algorithm() {
  return rc::gen::map(rc::gen::inRange(0, kAlgorithmCount), [](int i) { return static_cast<Algorithm>(i); });
}

rc::Gen<Duration> any_difference() {
  return rc::gen::map(rc::gen::weightedOneOf<std::int64_t>({
                          {2, rc::gen::inRange<std::int64_t>(1, 1'000'000)},
                          {2, rc::gen::inRange<std::int64_t>(1, micros(kStart) / 2)},
                          {1, rc::gen::element<std::int64_t>(1, 86'400'000'000, 400 * 86'400'000'000)},
                      }),
                      [](std::int64_t ticks) { return Duration{ticks}; });
}

TEST(MoveBack, KeepsWhatWasTakenAndRestrictsNoLonger) {
  const bool held = rc::check([] {
    const Allowance allowance = *models::any_allowance(*any_algorithm());
    WordBucket bucket;
    TimePoint now = kStart;
    for (const Step& step : *models::any_steps(allowance)) {
      now += Duration{std::max<std::int64_t>(0, step.advance) % (micros(kStart) / 100)};
      if (step.kind == Step::Kind::refund) {
        bucket.refund(allowance, now, step.cost);
      } else {
        bucket.take(allowance, now, step.cost);
      }
    }
    const TimePoint last = last_change(allowance.algorithm, bucket.words());
    if (last == TimePoint{}) return;
    const TimePoint idle = bucket.idle_from(allowance);
    const ChargeOutcome before = bucket.peek(allowance, last, 0);
    const Duration by = *any_difference();
    const Duration earlier = move_back(allowance.algorithm, bucket.words(), by);
    RC_ASSERT(last_change(allowance.algorithm, bucket.words()) == last - by);
    const ChargeOutcome after = bucket.peek(allowance, last - by, 0);
    RC_ASSERT(after.remaining <= before.remaining);
    if (allowance.algorithm != Algorithm::sliding_counter) RC_ASSERT(after.remaining == before.remaining);
    // For the store the bucket is fresh from here on.
    const Duration slack =
        allowance.algorithm == Algorithm::bucketed_window ? allowance.window / allowance.buckets : Duration{0};
    RC_ASSERT(idle - earlier - (last - by) <= idle - last + slack);
    if (slack > Duration{0} && after.reset_after > Duration{0}) {
      RC_ASSERT(last - by + after.reset_after == idle - earlier);
      RC_ASSERT(after.reset_after <= allowance.window);
    }
  });
  EXPECT_TRUE(held);
}

// Its sub-buckets are of the numbers that wrote it last, though there was room for one only.
TEST(MoveBack, TakesTheSubBucketsOfATailThatCouldNotGrow) {
  AllowanceSpec spec{.algorithm = Algorithm::bucketed_window, .limit = 20, .window = Duration{1'000}, .buckets = 4};
  const Allowance few = make_allowance(spec).value();
  spec.buckets = 50;
  const Allowance many = make_allowance(spec).value();
  WordBucket bucket;
  bucket.tail.resize(4);
  BucketedWindow::charge(few, bucket.words(), kStart, 1);
  BucketedWindow::charge(many, bucket.words(), kStart + Duration{100}, 1);
  ASSERT_EQ(bucket.tail.size(), 4U);
  const TimePoint idle = bucket.idle_from(many);
  const Duration by{330};
  const Duration earlier = move_back(Algorithm::bucketed_window, bucket.words(), by);
  const TimePoint last = kStart + Duration{100} - by;
  EXPECT_EQ(bucket.peek(many, last, 0).remaining, 18);
  EXPECT_EQ(last + bucket.peek(many, last, 0).reset_after, idle - earlier);
}

TEST(MoveBack, AnyWordsAreSafeToMove) {
  const bool held = rc::check([] {
    const Algorithm algorithm = *any_algorithm();
    const auto any_word = rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(), rc::gen::inRange<std::int64_t>(0, 40),
                                         rc::gen::just(kMaxWindow.count() / 7));
    WordBucket bucket;
    for (std::int64_t& word : bucket.head) word = *any_word;
    if (keeps_tail(algorithm)) bucket.tail = *rc::gen::container<std::vector<std::int64_t>>(any_word);
    const TimePoint last = last_change(algorithm, bucket.words());
    RC_ASSERT(last >= TimePoint{});
    if (last == TimePoint{}) return;
    const Duration by{*rc::gen::inRange<std::int64_t>(1, micros(last) + 1)};
    const Duration earlier = move_back(algorithm, bucket.words(), by);
    RC_ASSERT(earlier >= Duration{0} && last_change(algorithm, bucket.words()) == last - by);
    const Allowance allowance = *models::any_allowance(algorithm);
    RC_ASSERT(bucket.peek(allowance, last - by, 1).remaining >= 0);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace weir::algorithms
