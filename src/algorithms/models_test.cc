// Every algorithm against its sequential reference model: admitted, remaining, retry_after, reset_after, delay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "algorithms/debt.h"
#include "tests/models/generators.h"
#include "tests/models/reference_models.h"
#include "tests/models/word_bucket.h"

namespace weir::models {

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  return out << (answer.admitted ? "admitted" : "denied") << (answer.too_large ? " (too large)" : "") << " remaining "
             << answer.remaining << " retry " << answer.retry_after.count() << " reset " << answer.reset_after.count()
             << " delay " << answer.delay.count();
}

}  // namespace weir::models

namespace weir::algorithms {
namespace {

using models::Answer;
using models::answer_of;
using models::Step;
using models::WordBucket;

// rapidcheck's default is 100 cases; each takes this many sequences.
constexpr std::size_t kSequences = 12;

class EveryAlgorithm : public ::testing::TestWithParam<Algorithm> {};

std::string test_name(const ::testing::TestParamInfo<Algorithm>& tested) {
  std::string name(algorithm_name(tested.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithm,
                         ::testing::Values(Algorithm::fixed_window, Algorithm::bucketed_window, Algorithm::sliding_log,
                                           Algorithm::sliding_counter, Algorithm::token_bucket, Algorithm::gcra,
                                           Algorithm::leaky_bucket),
                         test_name);

// Runs one sequence and calls visit(now, step) for each step at its moment. The visitor returns the retry_after that a
// later step may use.
template <typename Visit>
void walk(TimePoint start, const std::vector<Step>& steps, Visit visit) {
  TimePoint now = start;
  TimePoint promised = start;
  for (const Step& step : steps) {
    now = step.at_retry ? promised : std::max(from_micros(0), now + Duration{step.advance});
    now = std::min(now, from_micros(DebtWords::kLatest - 10 * kMaxWindow.count()));  // before the end of time
    const Duration retry_after = visit(now, step);
    promised = now + retry_after;
  }
}

void expect_honest_retry(const Allowance& allowance, const WordBucket& bucket, TimePoint now, std::int64_t cost) {
  const ChargeOutcome outcome = bucket.peek(allowance, now, cost);
  if (outcome.admitted || outcome.too_large) {
    RC_ASSERT(outcome.retry_after == Duration{0});
    return;
  }
  RC_ASSERT(outcome.retry_after > Duration{0});
  // Beyond the longest wait that is reported, and beyond the last time that a debt can store, a wait helps but is not
  // exact.
  if (outcome.retry_after > Duration{kLongestWait / 2}) return;
  if (now + outcome.retry_after > from_micros(DebtWords::kLatest)) return;
  RC_ASSERT(bucket.peek(allowance, now + outcome.retry_after, cost).admitted);
  RC_ASSERT(!bucket.peek(allowance, now + outcome.retry_after - Duration{1}, cost).admitted);
}

TEST_P(EveryAlgorithm, AnswersAsItsReferenceModel) {
  const bool held = rc::check([algorithm = GetParam()] {
    const Allowance allowance = *models::any_allowance(algorithm);
    for (std::size_t i = 0; i < kSequences; ++i) {
      const auto model = models::make_reference_model(allowance);
      WordBucket bucket;
      walk(*models::any_start(), *models::any_steps(allowance), [&](TimePoint now, const Step& step) {
        expect_honest_retry(allowance, bucket, now, step.cost);
        const Answer peeked = answer_of(bucket.peek(allowance, now, step.cost));
        RC_ASSERT(peeked == model->peek(now, step.cost));
        switch (step.kind) {
          case Step::Kind::take:
            model->take(now, step.cost);
            RC_ASSERT(answer_of(bucket.take(allowance, now, step.cost)) == peeked);
            break;
          case Step::Kind::peek:
            break;
          case Step::Kind::refund:
            model->refund(now, step.cost);
            bucket.refund(allowance, now, step.cost);
            break;
          case Step::Kind::count_denied:
            if (peeked.admitted) break;
            model->count_denied(now, step.cost);
            bucket.count_denied(allowance, now, step.cost);
            break;
        }
        RC_ASSERT(answer_of(bucket.peek(allowance, now, 0)) == model->peek(now, 0));
        expect_honest_retry(allowance, bucket, now, step.cost);
        return peeked.retry_after;
      });
    }
  });
  EXPECT_TRUE(held);
}

TEST_P(EveryAlgorithm, ADenialAndAPeekChangeNoWord) {
  const bool held = rc::check([algorithm = GetParam()] {
    const Allowance allowance = *models::any_allowance(algorithm);
    WordBucket bucket;
    walk(*models::any_start(), *models::any_steps(allowance), [&](TimePoint now, const Step& step) {
      const WordBucket before = bucket;
      const ChargeOutcome outcome = bucket.take(allowance, now, step.cost);
      RC_ASSERT((bucket == before) == (!outcome.admitted || step.cost == 0));
      return outcome.retry_after;
    });
  });
  EXPECT_TRUE(held);
}

// A bucket that was forgotten at idle_from answers like one that was kept, whatever follows.
TEST_P(EveryAlgorithm, MayBeForgottenFromIdleOn) {
  const bool held = rc::check([algorithm = GetParam()] {
    const Allowance allowance = *models::any_allowance(algorithm);
    WordBucket kept;
    TimePoint end{};
    walk(*models::any_start(), *models::any_steps(allowance), [&](TimePoint now, const Step& step) {
      if (step.kind == Step::Kind::refund) kept.refund(allowance, now, step.cost);
      end = std::max(end, now);
      return kept.take(allowance, now, step.cost).retry_after;
    });

    const TimePoint idle = kept.idle_from(allowance);
    const ChargeOutcome at_idle = kept.peek(allowance, idle, 0);
    RC_ASSERT(at_idle.reset_after == Duration{0});
    // Not later than needed: just before, something of the bucket was still missing, or it had just been changed.
    const Duration told = kept.peek(allowance, end, 0).reset_after;
    if (told > Duration{0}) RC_ASSERT(end + told == idle);

    WordBucket forgotten;
    walk(idle, *models::any_steps(allowance), [&](TimePoint now, const Step& step) {
      const TimePoint later = std::max(idle, now);
      if (step.kind == Step::Kind::refund) {
        kept.refund(allowance, later, step.cost);
        forgotten.refund(allowance, later, step.cost);
      }
      const ChargeOutcome outcome = kept.take(allowance, later, step.cost);
      RC_ASSERT(answer_of(forgotten.take(allowance, later, step.cost)) == answer_of(outcome));
      return outcome.retry_after;
    });
  });
  EXPECT_TRUE(held);
}

TEST_P(EveryAlgorithm, StaysHonestWhenLimitsChangeBetweenCalls) {
  const bool held = rc::check([algorithm = GetParam()] {
    WordBucket bucket;
    TimePoint now = *models::any_start();
    for (int change = 0; change < 4; ++change) {
      const Allowance allowance = *models::any_allowance(algorithm);
      walk(now, *models::any_steps(allowance), [&](TimePoint at, const Step& step) {
        now = at;
        expect_honest_retry(allowance, bucket, at, step.cost);
        const ChargeOutcome outcome = bucket.take(allowance, at, step.cost);
        RC_ASSERT(outcome.remaining >= 0 && outcome.remaining <= allowance.largest_cost());
        if (step.kind == Step::Kind::refund) bucket.refund(allowance, at, step.cost);
        if (!outcome.admitted && step.kind == Step::Kind::count_denied) {
          bucket.count_denied(allowance, at, step.cost);
          expect_honest_retry(allowance, bucket, at, step.cost);
        }
        return outcome.retry_after;
      });
    }
  });
  EXPECT_TRUE(held);
}

// The words of a bucket may come from a damaged snapshot: any of them must give a bounded answer (run under UBSan).
TEST_P(EveryAlgorithm, SurvivesAnyWords) {
  const bool held = rc::check([algorithm = GetParam()] {
    const auto any_word = rc::gen::weightedOneOf<std::int64_t>({
        {2, rc::gen::arbitrary<std::int64_t>()},
        {2, rc::gen::inRange<std::int64_t>(-3, 40)},
        {1, rc::gen::element<std::int64_t>(INT64_MIN, INT64_MAX, -1, kMaxUnits, std::int64_t{1} << 62)},
        {1, rc::gen::inRange<std::int64_t>(1'800'000'000'000'000, 1'800'000'100'000'000)},
        {1, rc::gen::map(rc::gen::inRange<std::int64_t>(0, 20), [](std::int64_t n) { return (n << 32) | (20 - n); })},
    });
    const Allowance allowance = *models::any_allowance(algorithm);
    WordBucket bucket;
    for (std::int64_t& word : bucket.head) word = *any_word;
    bucket.tail = *rc::gen::container<std::vector<std::int64_t>>(any_word);
    if (algorithm == Algorithm::bucketed_window && *rc::gen::arbitrary<bool>()) {
      bucket.head[0] = allowance.window.count() / allowance.buckets;
      bucket.head[1] = allowance.buckets;
    }
    for (const Step& step : *models::any_steps(allowance)) {
      const TimePoint now = *rc::gen::oneOf(rc::gen::map(any_word, from_micros), models::any_start());
      const ChargeOutcome outcome = bucket.peek(allowance, now, step.cost);
      RC_ASSERT(outcome.remaining >= 0 && outcome.remaining <= allowance.largest_cost());
      RC_ASSERT(outcome.retry_after >= Duration{0} && outcome.reset_after >= Duration{0});
      RC_ASSERT(outcome.delay >= Duration{0});
      RC_ASSERT((outcome.retry_after > Duration{0}) == (!outcome.admitted && !outcome.too_large));
      RC_ASSERT(bucket.idle_from(allowance) >= TimePoint{});
      if (step.kind == Step::Kind::refund) {
        bucket.refund(allowance, now, step.cost);
      } else if (outcome.admitted) {
        bucket.take(allowance, now, step.cost);
      } else {
        bucket.count_denied(allowance, now, step.cost);
      }
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace weir::algorithms
