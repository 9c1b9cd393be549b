// Bucketed window: the rolling sum of `buckets` sub-buckets, each window/buckets wide and aligned to the epoch;
// the current sub-bucket is the last of them. At most `limit` in any run of sub-buckets: units in the oldest one are
// released a little early, by at most one sub-bucket's width.
//
// Head: {width of a sub-bucket in microseconds, number of sub-buckets, time of the last change}. Tail: one counter per
// sub-bucket, that of index i (time / width) at i % number; it holds the sub-buckets that end with the last change's.
// If width or number differ from the allowance's (the rules were changed), everything counted is treated as if it were
// in the sub-bucket of the last change, and the next charge stores it there. If the tail is too short for the
// allowance's number and cannot grow, every charge does this: then everything taken counts from the last charge on,
// which is longer than it should be and never shorter.
#pragma once

#include "algorithms/bucket.h"

namespace weir::algorithms {

struct BucketedWindow {
  static ChargeOutcome evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                std::int64_t cost);
  static std::size_t tail_words_needed(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                       std::int64_t cost);
  static void charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static void charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static bool refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost);
  static std::int64_t counted(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                              TimePoint since);
  static void give_back(const Allowance& allowance, const BucketWords& bucket, TimePoint now, TimePoint since,
                        std::int64_t units);
  static std::int64_t charge_beyond(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                    std::int64_t units);
  static TimePoint idle_from(const Allowance& allowance, const ConstBucketWords& bucket);
  static TimePoint last_change(const ConstBucketWords& bucket);
  static Duration move_back(const BucketWords& bucket, Duration by);
};

}  // namespace weir::algorithms
