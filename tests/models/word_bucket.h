// WordBucket: one bucket that owns its words and drives the algorithms as a store does. For tests; not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <limits>
#include <vector>

#include "algorithms/take.h"

namespace weir::models {

class WordBucket {
 public:
  ChargeOutcome peek(const Allowance& allowance, TimePoint now, std::int64_t cost) const {
    return algorithms::evaluate(allowance, words(), now, cost);
  }

  // Charges if admitted, step by step; where the algorithm also has the one-step take(), both must agree.
  ChargeOutcome take(const Allowance& allowance, TimePoint now, std::int64_t cost) {
    WordBucket twin = *this;
    const ChargeOutcome outcome = peek(allowance, now, cost);
    if (outcome.admitted) {
      grow(allowance, now, cost);
      algorithms::charge(allowance, words(), now, cost);
    }
    if (!algorithms::keeps_tail(allowance.algorithm)) {
      ChargeOutcome one_step;
      TimePoint idle;
      const bool changed = algorithms::take(allowance, twin.head, now, cost, one_step, idle);
      assert(one_step == outcome && twin == *this);
      assert(changed == (outcome.admitted && cost > 0));
      assert(!changed || idle == idle_from(allowance));
    }
    return outcome;
  }

  // Precondition: peek() denies it.
  void count_denied(const Allowance& allowance, TimePoint now, std::int64_t cost) {
    grow(allowance, now, cost);
    algorithms::charge_denied(allowance, words(), now, cost);
  }

  void refund(const Allowance& allowance, TimePoint now, std::int64_t cost) {
    algorithms::refund(allowance, words(), now, cost);
  }

  TimePoint idle_from(const Allowance& allowance) const { return algorithms::idle_from(allowance, words()); }

  algorithms::BucketWords words() { return {head, tail}; }
  algorithms::ConstBucketWords words() const { return {head, tail}; }

  friend bool operator==(const WordBucket&, const WordBucket&) = default;

  std::array<std::int64_t, algorithms::kHeadWords> head{};
  std::vector<std::int64_t> tail;
  std::size_t most_tail_words = std::numeric_limits<std::size_t>::max();  // a store without memory lets it grow no more

 private:
  void grow(const Allowance& allowance, TimePoint now, std::int64_t cost) {
    const std::size_t needed = algorithms::tail_words_needed(allowance, words(), now, cost);
    if (needed > tail.size()) tail.resize(std::max(tail.size(), std::min(needed, most_tail_words)), 0);
  }
};

}  // namespace weir::models
