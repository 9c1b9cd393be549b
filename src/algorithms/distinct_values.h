// The different values that one subject has been seen with (Rule::distinct), as pure arithmetic on a bucket's words: no
// I/O, clock or locks. Each value counts once, until it expires: at the end of its window with Algorithm::fixed_window,
// one window after it was last seen with Algorithm::sliding_log.
//
//   head  0 entries · 1 when it was last changed · 2 when the last value expires
//   tail  two words for each entry: the value's hash, and when it expires
//
// Values are keyed hashes of kValueBits, so two of the at most kMaxDistinct values of a subject are taken for one with
// a probability of about 10^-10. Any words are safe: a damaged state gives a bounded answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/bucket.h"

namespace weir::algorithms {

// What a double can hold exactly, with one bit to spare.
inline constexpr unsigned kValueBits = 52;

// A value, and how many others are about to be counted before it.
struct NewValue {
  std::uint64_t value = 0;
  std::int64_t others = 0;
};

// What the subject gets for the value at `now`. A cost of 0 describes it as it is.
ChargeOutcome evaluate_distinct(const Allowance& allowance, ConstBucketWords bucket, std::int64_t now_us,
                                const NewValue& added, std::int64_t cost);

// The value is counted at `now`.
bool has_distinct(ConstBucketWords bucket, std::int64_t now_us, std::uint64_t value);

// Tail words that charge_distinct() needs.
std::size_t distinct_words_needed(ConstBucketWords bucket, std::int64_t now_us, const NewValue& added);

// Counts the value, or renews its time. Precondition: it was admitted, and the tail has the words.
void charge_distinct(const Allowance& allowance, BucketWords bucket, std::int64_t now_us, std::uint64_t value);

// From this moment on it is full again.
std::int64_t distinct_idle_from(ConstHead head);

void move_distinct_back(BucketWords bucket, std::int64_t by_us);

}  // namespace weir::algorithms
