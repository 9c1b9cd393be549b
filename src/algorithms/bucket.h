// The seven algorithms behind the same few functions, as pure arithmetic on a bucket's words: no I/O, clock or locks.
//
// A bucket is borrowed: three head words, and for the two algorithms that need more a tail. All words zero, or an
// empty tail, is a fresh bucket. Each algorithm's file says what its words mean. The reference for all is the
// sequential models in tests/models, which every store is tested against.
//
// Time never runs backward inside a bucket: an earlier `now` than the bucket's last charge counts as that charge's.
// A denial changes nothing (count_denied calls charge_denied). Any words are safe to evaluate: a damaged or stale
// state, or one written under other limits, gives a bounded answer, never undefined behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/allowance.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir::algorithms {

inline constexpr std::size_t kHeadWords = 3;
using Head = std::span<std::int64_t, kHeadWords>;
using ConstHead = std::span<const std::int64_t, kHeadWords>;

struct BucketWords {
  std::span<std::int64_t, kHeadWords> head;
  std::span<std::int64_t> tail;
};

struct ConstBucketWords {
  std::span<const std::int64_t, kHeadWords> head;
  std::span<const std::int64_t> tail;

  ConstBucketWords(std::span<const std::int64_t, kHeadWords> h, std::span<const std::int64_t> t) : head(h), tail(t) {}
  ConstBucketWords(const BucketWords& words) : head(words.head), tail(words.tail) {}  // NOLINT: a view of the same
};

// What the bucket would answer to `cost` (0 to kMaxUnits) at `now`. `remaining` counts the cost as taken when it is
// admitted; `reset_after` likewise. A cost of 0 is always admitted and describes the bucket as it is.
ChargeOutcome evaluate(const Allowance& allowance, ConstBucketWords bucket, TimePoint now, std::int64_t cost);

// How many tail words the bucket should have before charge() or charge_denied() is called with these arguments. A
// caller that enlarges a tail keeps its words in place and appends zeros. A bucket that cannot get them may be charged
// anyway if it has least_tail_words(): it then counts what was taken for longer than it should, never for less.
std::size_t tail_words_needed(const Allowance& allowance, ConstBucketWords bucket, TimePoint now, std::int64_t cost);

// Precondition: evaluate() admitted the same arguments.
void charge(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t cost);

// The shortest tail with which a bucket can be charged.
constexpr std::size_t least_tail_words(Algorithm algorithm) {
  if (algorithm == Algorithm::sliding_log) return 2;
  return algorithm == Algorithm::bucketed_window ? 1 : 0;
}

constexpr bool keeps_tail(Algorithm algorithm) { return least_tail_words(algorithm) > 0; }

// A denied attempt that counts (count_denied): takes what is left, down to empty and not below, so that the next
// evaluate()'s retry_after is still correct. Precondition: evaluate() denied these arguments.
void charge_denied(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t cost);

// Gives `cost` back, never above full. A window that has passed has nothing to give back. False: nothing has changed.
bool refund(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t cost);

// What reservations (bucket_holds.h) need.
//
// True where all that a bucket counts is one number that time lowers: a debt, or the count of the window that is open.
constexpr bool keeps_level(Algorithm algorithm) {
  return algorithm == Algorithm::fixed_window || algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra ||
         algorithm == Algorithm::leaky_bucket;
}
// Units that still count where something charged at `since` was counted: in the whole bucket if it keeps a level, else
// in the window, sub-bucket or entry of that moment. Rounded down; 0 if that has passed.
std::int64_t counted(const Allowance& allowance, ConstBucketWords bucket, TimePoint now, TimePoint since);
// Gives back there. Precondition: 0 < units <= counted() with the same arguments.
void give_back(const Allowance& allowance, BucketWords bucket, TimePoint now, TimePoint since, std::int64_t units);
// Charges work that has been done: whether it fits or not, up to allowance.overdraft beyond the capacity. Returns what
// was charged. The tail should have tail_words_needed().
std::int64_t charge_beyond(const Allowance& allowance, BucketWords bucket, TimePoint now, std::int64_t units);

// From this moment on the bucket equals a fresh one and may be forgotten.
TimePoint idle_from(const Allowance& allowance, ConstBucketWords bucket);

// When the bucket was last changed.
TimePoint last_change(Algorithm algorithm, ConstBucketWords bucket);

// Makes the bucket one that was last changed `by` earlier and had then taken as much as it has: for buckets written
// under a clock that was ahead. Returns how much earlier it is idle, which is `by` unless its sub-buckets are aligned.
// Precondition: `by` is positive and leads to a moment after the epoch.
Duration move_back(Algorithm algorithm, BucketWords bucket, Duration by);

}  // namespace weir::algorithms
