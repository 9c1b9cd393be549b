// Several allowances on one bucket, in any order, as plans, overrides and reloads put them there. Whatever the order,
// no more is admitted than the largest of them would allow by itself:
//   token-bucket, gcra   max(burst) + max(rate)·T in any time T
//   leaky-bucket         2·max(queue) + 1 + max(rate)·T
//   windows              max(limit) between two neighbouring window boundaries of any of the lengths; with one length
//                        and fixed-window, that is max(limit) per window
// Units that are given back do not count.
#include <gtest/gtest.h>

#include "algorithms/debt.h"
#include "tests/models/generators.h"
#include "tests/models/word_bucket.h"

namespace weir::algorithms {
namespace {

using models::WordBucket;

// What a bucket let through, net of what was given back, in the order of its own time.
struct Passed {
  std::int64_t time;
  std::int64_t units;
};

struct Traffic {
  std::vector<Allowance> allowances;
  std::vector<Passed> passed;
};

std::int64_t largest_burst(const Traffic& run) {
  std::int64_t most = 0;
  for (const Allowance& one : run.allowances) {
    most = std::max(most, one.algorithm == Algorithm::leaky_bucket ? 2 * one.queue + 1 : one.burst);
  }
  return most;
}

const Allowance& fastest(const Traffic& run) {
  return *std::max_element(run.allowances.begin(), run.allowances.end(), [](const Allowance& a, const Allowance& b) {
    return Wide{a.limit} * b.window.count() < Wide{b.limit} * a.window.count();
  });
}

// Several allowances of one algorithm; now and then all are of one window.
std::vector<Allowance> any_allowances(Algorithm algorithm) {
  std::vector<Allowance> allowances;
  const bool one_window = *rc::gen::arbitrary<bool>();
  const auto count = *rc::gen::inRange<std::size_t>(2, 5);
  while (allowances.size() < count) {
    Allowance allowance = *models::any_allowance(algorithm);
    if (one_window && !allowances.empty()) {
      AllowanceSpec spec;
      spec.algorithm = algorithm;
      spec.limit = allowance.limit;
      spec.window = allowances[0].window;
      if (algorithm == Algorithm::bucketed_window) spec.buckets = allowances[0].buckets;
      const Result<Allowance> made = make_allowance(spec);
      if (!made.ok()) continue;
      allowance = made.value();
    }
    allowances.push_back(allowance);
  }
  return allowances;
}

// The bucket's own time. Debts share the word with other bits.
std::int64_t last_change(const WordBucket& bucket) { return bucket.head[2] & DebtWords::kLatest; }

// Random takes, peeks, refunds and counted denials, each under one of the allowances. Every wait told is honest.
Traffic traffic_of(Algorithm algorithm) {
  Traffic run;
  run.allowances = any_allowances(algorithm);
  WordBucket bucket;
  TimePoint now = *models::any_start();
  const auto steps = *rc::gen::inRange<std::size_t>(10, 60);
  for (std::size_t i = 0; i < steps; ++i) {
    const Allowance& allowance = run.allowances[*rc::gen::inRange<std::size_t>(0, run.allowances.size())];
    const std::int64_t cost = *models::any_cost(allowance);
    now = std::max(from_micros(0), now + Duration{*models::any_advance(allowance)});
    const ChargeOutcome outcome = bucket.take(allowance, now, cost);
    RC_ASSERT(outcome.remaining >= 0 && outcome.remaining <= allowance.largest_cost());
    if (outcome.admitted && cost > 0) {
      run.passed.push_back({last_change(bucket), cost});
    } else if (*rc::gen::inRange(0, 4) == 0) {
      bucket.count_denied(allowance, now, cost);
    }
    if (*rc::gen::inRange(0, 10) == 0) {
      const std::int64_t back = *models::any_cost(allowance);
      bucket.refund(allowance, now, back);
      run.passed.push_back({last_change(bucket), -back});
    }
  }
  return run;
}

class ChangingNumbers : public ::testing::TestWithParam<Algorithm> {};

auto named = [](const auto& tested) {
  std::string name(algorithm_name(tested.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
};

class ChangingRates : public ChangingNumbers {};
INSTANTIATE_TEST_SUITE_P(Algorithms, ChangingRates,
                         ::testing::Values(Algorithm::token_bucket, Algorithm::gcra, Algorithm::leaky_bucket), named);

TEST_P(ChangingRates, NeverPassMoreThanTheLargestBurstAndTheFastestRate) {
  const bool held = rc::check([algorithm = GetParam()] {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Traffic run = traffic_of(algorithm);
      const Allowance& rate = fastest(run);
      const std::int64_t burst = largest_burst(run);
      for (std::size_t first = 0; first < run.passed.size(); ++first) {
        Wide sum = 0;
        for (std::size_t last = first; last < run.passed.size(); ++last) {
          sum += run.passed[last].units;
          const Wide span = run.passed[last].time - run.passed[first].time;
          RC_ASSERT((sum - burst) * rate.window.count() <= span * rate.limit);
        }
      }
    }
  });
  EXPECT_TRUE(held);
}

class ChangingWindows : public ChangingNumbers {};
INSTANTIATE_TEST_SUITE_P(Algorithms, ChangingWindows,
                         ::testing::Values(Algorithm::fixed_window, Algorithm::bucketed_window, Algorithm::sliding_log,
                                           Algorithm::sliding_counter),
                         named);

TEST_P(ChangingWindows, NeverPassMoreThanTheLargestLimitBetweenTwoBoundaries) {
  const bool held = rc::check([algorithm = GetParam()] {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Traffic run = traffic_of(algorithm);
      std::int64_t limit = 0;
      for (const Allowance& one : run.allowances) limit = std::max(limit, one.limit);
      const auto crosses = [&](std::int64_t from, std::int64_t to) {
        return std::any_of(run.allowances.begin(), run.allowances.end(), [&](const Allowance& one) {
          const std::int64_t width = one.window.count();
          return algorithm == Algorithm::sliding_log ? to - from >= width : from / width != to / width;
        });
      };
      for (std::size_t first = 0; first < run.passed.size(); ++first) {
        Wide sum = 0;
        for (std::size_t last = first; last < run.passed.size(); ++last) {
          if (crosses(run.passed[first].time, run.passed[last].time)) break;
          sum += run.passed[last].units;
          RC_ASSERT(sum <= limit);
        }
      }
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace weir::algorithms
