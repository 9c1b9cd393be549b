#include "algorithms/bucket.h"

#include <cassert>

#include "algorithms/bucketed_window.h"
#include "algorithms/fixed_window.h"
#include "algorithms/leaky_bucket.h"
#include "algorithms/sliding_counter.h"
#include "algorithms/sliding_log.h"
#include "algorithms/take.h"
#include "algorithms/token_bucket.h"

namespace weir::algorithms {
namespace {

// Calls `use` with the algorithm: the only place that knows all seven.
template <typename Use>
auto with_algorithm(Algorithm algorithm, Use use) {
  switch (algorithm) {
    case Algorithm::fixed_window:
      return use(FixedWindow{});
    case Algorithm::bucketed_window:
      return use(BucketedWindow{});
    case Algorithm::sliding_log:
      return use(SlidingLog{});
    case Algorithm::sliding_counter:
      return use(SlidingCounter{});
    case Algorithm::token_bucket:
    case Algorithm::gcra:
      return use(TokenBucket{});
    case Algorithm::leaky_bucket:
      return use(LeakyBucket{});
  }
  assert(false && "an allowance that make_allowance did not make");
  __builtin_unreachable();
}

void assert_cost([[maybe_unused]] std::int64_t cost) { assert(cost >= 0 && cost <= kMaxUnits); }

}  // namespace

ChargeOutcome evaluate(const Allowance& allowance, ConstBucketWords bucket, TimePoint now, std::int64_t cost) {
  assert_cost(cost);
  return with_algorithm(allowance.algorithm,
                        [&](auto algorithm) { return algorithm.evaluate(allowance, bucket, now, cost); });
}

std::size_t tail_words_needed(const Allowance& allowance, ConstBucketWords bucket, TimePoint now, std::int64_t cost) {
  assert_cost(cost);
  return with_algorithm(allowance.algorithm,
                        [&](auto algorithm) { return algorithm.tail_words_needed(allowance, bucket, now, cost); });
}

void charge(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t cost) {
  assert_cost(cost);
  with_algorithm(allowance.algorithm, [&](auto algorithm) { algorithm.charge(allowance, bucket, now, cost); });
}

bool take_by_algorithm(const Allowance& allowance, Head head, TimePoint now, std::int64_t cost, ChargeOutcome& outcome,
                       TimePoint& idle_from) {
  assert_cost(cost);
  assert(!keeps_tail(allowance.algorithm));
  return with_algorithm(allowance.algorithm, [&](auto algorithm) {
    const BucketWords bucket{head, {}};
    outcome = algorithm.evaluate(allowance, bucket, now, cost);
    if (!outcome.admitted || cost == 0) return false;
    algorithm.charge(allowance, bucket, now, cost);
    idle_from = algorithm.idle_from(allowance, bucket);
    return true;
  });
}

void charge_denied(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t cost) {
  assert_cost(cost);
  with_algorithm(allowance.algorithm, [&](auto algorithm) { algorithm.charge_denied(allowance, bucket, now, cost); });
}

bool refund(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t cost) {
  assert_cost(cost);
  return with_algorithm(allowance.algorithm,
                        [&](auto algorithm) { return algorithm.refund(allowance, bucket, now, cost); });
}

std::int64_t counted(const Allowance& allowance, ConstBucketWords bucket, TimePoint now, TimePoint since) {
  return with_algorithm(allowance.algorithm,
                        [&](auto algorithm) { return algorithm.counted(allowance, bucket, now, since); });
}

void give_back(const Allowance& allowance, BucketWords bucket, TimePoint now, TimePoint since, std::int64_t units) {
  assert(units > 0);
  with_algorithm(allowance.algorithm,
                 [&](auto algorithm) { algorithm.give_back(allowance, bucket, now, since, units); });
}

std::int64_t charge_beyond(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t units) {
  assert_cost(units);
  return with_algorithm(allowance.algorithm,
                        [&](auto algorithm) { return algorithm.charge_beyond(allowance, bucket, now, units); });
}

TimePoint idle_from(const Allowance& allowance, ConstBucketWords bucket) {
  return with_algorithm(allowance.algorithm, [&](auto algorithm) { return algorithm.idle_from(allowance, bucket); });
}

TimePoint last_change(Algorithm algorithm, ConstBucketWords bucket) {
  return with_algorithm(algorithm, [&](auto one) { return one.last_change(bucket); });
}

Duration move_back(Algorithm algorithm, BucketWords bucket, Duration by) {
  assert(by.count() > 0);
  return with_algorithm(algorithm, [&](auto one) { return one.move_back(bucket, by); });
}

}  // namespace weir::algorithms
