// Sliding log: the exact rolling window. At most `limit` in any span of one window's length; a unit taken at s
// counts in (t - window, t] and so leaves at s + window.
//
// Head: {index of the first entry << 32 | number of entries, sum of their units, time of the last change}. Tail:
// entries of two words, {time, units}, in order of time and next to each other; units taken in one microsecond share an
// entry. Entries that have left are dropped by the next charge. Dropping only moves the first index; when the end of
// the tail is reached the entries move to the front if a good part of it is free, else the tail grows, up to a quarter
// more than `limit` entries: the spare quarter is what keeps the cost of moving small.
//
// A new log has room for kFirstEntries entries, or for `limit` if that is less: such a log never needs to grow. A log
// that should grow and cannot is charged anyway: units taken within one of n equal parts of the window then share
// the entry of the latest of them. They count longer than one window, by at most that part, and never shorter, so no
// more than `limit` is ever admitted. n is seven eighths of the entries that there is room for, less one.
//
// A denied attempt that counts takes what is left of the limit; a full log stays as it is.
#pragma once

#include <vector>

#include "algorithms/bucket.h"

namespace weir::algorithms {

// Units that were taken at a time.
struct LogEntry {
  TimePoint at;
  std::int64_t units = 0;
};

struct SlidingLog {
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
  // The entries that count at `now`, in order of time: for people who look at a bucket.
  static std::vector<LogEntry> entries(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now);
  static Duration move_back(const BucketWords& bucket, Duration by);
};

}  // namespace weir::algorithms
