#include "algorithms/bucketed_window.h"

#include <cassert>

#include "algorithms/arithmetic.h"

namespace weir::algorithms {
namespace {

constexpr std::size_t kWidth = 0;
constexpr std::size_t kNumber = 1;
constexpr std::size_t kLast = 2;

std::int64_t count_in(std::int64_t word) { return bounded(word, kMaxUnits); }

// The bucket's counters under one allowance: how many units lie in the sub-bucket of a given index.
class Counters {
 public:
  Counters(const Allowance& allowance, const ConstBucketWords& bucket)
      : bucket_(bucket),
        number_(allowance.buckets),
        width_(allowance.window.count() / allowance.buckets),
        newest_(clamp_tick(bucket.head[kLast]) / width_) {
    in_place_ = bucket.head[kWidth] == width_ && bucket.head[kNumber] == number_ &&
                bucket.tail.size() >= static_cast<std::size_t>(number_);
    if (!in_place_) moved_ = sum_of_all();
  }

  bool in_place() const { return in_place_; }
  std::int64_t width() const { return width_; }
  std::int64_t newest() const { return newest_; }
  std::int64_t index_of(std::int64_t time) const { return time / width_; }
  std::size_t slot(std::int64_t index) const { return static_cast<std::size_t>(index % number_); }
  // The oldest sub-bucket that still counts at `time`.
  std::int64_t oldest_at(std::int64_t time) const { return std::max(index_of(time), newest_) - number_ + 1; }
  // When the sub-bucket stops counting.
  std::int64_t leaves_at(std::int64_t index) const { return (index + number_) * width_; }

  // Precondition: newest() - number < index <= newest().
  std::int64_t at(std::int64_t index) const {
    if (!in_place_) return index == newest_ ? moved_ : 0;
    return index < 0 ? 0 : count_in(bucket_.tail[slot(index)]);
  }

  std::int64_t sum_from(std::int64_t oldest) const {
    if (!in_place_) return newest_ >= oldest ? moved_ : 0;
    std::int64_t index = std::max<std::int64_t>(0, oldest);
    std::int64_t sum = 0;
    // A running slot: one division for the whole walk.
    for (std::size_t at = slot(index); index <= newest_; ++index) {
      sum += count_in(bucket_.tail[at]);
      if (++at == static_cast<std::size_t>(number_)) at = 0;
    }
    return sum;
  }

  // The newest sub-bucket, from `oldest` on, with something in it; below `oldest` if there is none.
  std::int64_t newest_used(std::int64_t oldest) const {
    std::int64_t index = newest_;
    while (index >= oldest && at(index) == 0) --index;
    return index;
  }

 private:
  std::int64_t sum_of_all() const {
    const auto size = static_cast<std::int64_t>(bucket_.tail.size());
    const std::int64_t written = bounded(bucket_.head[kNumber], std::min(size, kMaxSubBuckets));
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < written; ++i) sum += count_in(bucket_.tail[static_cast<std::size_t>(i)]);
    return std::min(sum, kMaxUnits);
  }

  ConstBucketWords bucket_;
  std::int64_t number_;
  std::int64_t width_;
  std::int64_t newest_;
  std::int64_t moved_ = 0;
  bool in_place_ = false;
};

// Rewrites the counters so that they end with the sub-bucket of `time`. Precondition: the tail is large enough.
void roll_to(const Allowance& allowance, const BucketWords& bucket, const Counters& counters, std::int64_t time) {
  assert(bucket.tail.size() >= static_cast<std::size_t>(allowance.buckets));
  const std::int64_t current = counters.index_of(time);
  if (counters.in_place()) {
    const std::int64_t steps = std::min(current - counters.newest(), allowance.buckets);
    for (std::int64_t i = 0; i < steps; ++i) bucket.tail[counters.slot(current - i)] = 0;
  } else {
    const std::int64_t moved = counters.at(counters.newest());
    std::fill(bucket.tail.begin(), bucket.tail.end(), 0);
    if (counters.newest() >= counters.oldest_at(time)) bucket.tail[counters.slot(counters.newest())] = moved;
  }
  bucket.head[kWidth] = counters.width();
  bucket.head[kNumber] = allowance.buckets;
  bucket.head[kLast] = time;
}

bool too_short(const Allowance& allowance, const BucketWords& bucket) {
  return bucket.tail.size() < static_cast<std::size_t>(allowance.buckets);
}

// For a tail that is too short: a single sub-bucket, which no allowance has, so it is read as all in that of `time`.
void write_as_one(const BucketWords& bucket, std::int64_t used, std::int64_t width, std::int64_t time) {
  std::fill(bucket.tail.begin(), bucket.tail.end(), 0);
  bucket.tail[0] = used;
  bucket.head[kWidth] = width;
  bucket.head[kNumber] = 1;
  bucket.head[kLast] = time;
}

// The first moment at which `cost` fits if nothing else is charged. Precondition: it is at most the limit and does not
// fit while `used` is counted.
std::int64_t fits_from(const Allowance& allowance, const Counters& counters, std::int64_t oldest, std::int64_t used,
                       std::int64_t cost) {
  std::int64_t index = oldest;
  while (index < counters.newest()) {
    used -= counters.at(index);
    if (used + cost <= allowance.limit) break;
    ++index;
  }
  return counters.leaves_at(index);
}

// Where the counters cannot be rewritten (the tail is still the old one), gives back in them as they are.
void give_back_in_old_counters(const BucketWords& bucket, std::int64_t cost) {
  for (std::int64_t& word : bucket.tail) {
    const std::int64_t given = std::min(cost, count_in(word));
    word = count_in(word) - given;
    cost -= given;
  }
}

}  // namespace

ChargeOutcome BucketedWindow::evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                       std::int64_t cost) {
  ChargeOutcome outcome;
  const Moment moment(now, bucket.head[kLast]);
  const Counters counters(allowance, bucket);
  const std::int64_t oldest = counters.oldest_at(moment.time);
  std::int64_t used = counters.sum_from(oldest);
  std::int64_t newest_used = used > 0 ? counters.newest_used(oldest) : oldest;
  if (cost > allowance.limit) {
    outcome.admitted = false;
    outcome.too_large = true;
  } else if (cost > 0 && used + cost <= allowance.limit) {
    used += cost;
    newest_used = counters.index_of(moment.time);
  } else if (cost > 0) {
    outcome.admitted = false;
    outcome.retry_after = moment.until(fits_from(allowance, counters, oldest, used, cost));
  }
  outcome.remaining = std::max<std::int64_t>(0, allowance.limit - used);
  if (used > 0) outcome.reset_after = moment.until(counters.leaves_at(newest_used));
  return outcome;
}

std::size_t BucketedWindow::tail_words_needed(const Allowance& allowance, const ConstBucketWords&, TimePoint,
                                              std::int64_t cost) {
  return cost == 0 ? 0 : static_cast<std::size_t>(allowance.buckets);
}

void BucketedWindow::charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  if (cost == 0) return;
  const Moment moment(now, bucket.head[kLast]);
  const Counters counters(allowance, bucket);
  const std::int64_t used = counters.sum_from(counters.oldest_at(moment.time));
  const std::int64_t taken = bounded(allowance.limit - used, cost);
  if (too_short(allowance, bucket)) return write_as_one(bucket, used + taken, counters.width(), moment.time);
  roll_to(allowance, bucket, counters, moment.time);
  std::int64_t& current = bucket.tail[counters.slot(counters.index_of(moment.time))];
  current = count_in(current) + taken;
}

void BucketedWindow::charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                   std::int64_t cost) {
  charge(allowance, bucket, now, cost);
}

bool BucketedWindow::refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  const Moment moment(now, bucket.head[kLast]);
  const Counters counters(allowance, bucket);
  const std::int64_t oldest = counters.oldest_at(moment.time);
  if (cost == 0 || counters.sum_from(oldest) == 0) return false;
  if (too_short(allowance, bucket)) {
    give_back_in_old_counters(bucket, cost);
    return true;
  }
  roll_to(allowance, bucket, counters, moment.time);
  for (std::int64_t index = counters.newest(); index >= std::max<std::int64_t>(0, oldest) && cost > 0; --index) {
    std::int64_t& word = bucket.tail[counters.slot(index)];
    const std::int64_t given = std::min(cost, count_in(word));
    word = count_in(word) - given;
    cost -= given;
  }
  return true;
}

std::int64_t BucketedWindow::counted(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                     TimePoint since) {
  const Moment moment(now, bucket.head[kLast]);
  const Counters counters(allowance, bucket);
  const std::int64_t index = counters.index_of(std::max<std::int64_t>(0, micros(since)));
  if (index < counters.oldest_at(moment.time) || index > counters.newest()) return 0;
  return counters.at(index);
}

void BucketedWindow::give_back(const Allowance& allowance, const BucketWords& bucket, TimePoint now, TimePoint since,
                               std::int64_t units) {
  const Moment moment(now, bucket.head[kLast]);
  const Counters counters(allowance, bucket);
  if (too_short(allowance, bucket)) return give_back_in_old_counters(bucket, units);
  roll_to(allowance, bucket, counters, moment.time);
  std::int64_t& word = bucket.tail[counters.slot(counters.index_of(std::max<std::int64_t>(0, micros(since))))];
  word = std::max<std::int64_t>(0, count_in(word) - units);
}

std::int64_t BucketedWindow::charge_beyond(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                           std::int64_t units) {
  const Moment moment(now, bucket.head[kLast]);
  const Counters counters(allowance, bucket);
  const std::int64_t used = counters.sum_from(counters.oldest_at(moment.time));
  const std::int64_t most = std::min(allowance.limit + allowance.overdraft, kMaxUnits);
  const std::int64_t charged = bucket.tail.empty() ? 0 : bounded(most - used, units);
  if (charged == 0) return 0;
  if (too_short(allowance, bucket)) {
    write_as_one(bucket, used + charged, counters.width(), moment.time);
    return charged;
  }
  roll_to(allowance, bucket, counters, moment.time);
  std::int64_t& current = bucket.tail[counters.slot(counters.index_of(moment.time))];
  current = count_in(current) + charged;
  return charged;
}

TimePoint BucketedWindow::idle_from(const Allowance& allowance, const ConstBucketWords& bucket) {
  const Counters counters(allowance, bucket);
  const std::int64_t oldest = counters.oldest_at(0);
  const std::int64_t newest_used = counters.newest_used(oldest);
  if (newest_used < oldest) return from_micros(clamp_tick(bucket.head[kLast]));
  return from_micros(counters.leaves_at(newest_used));
}

TimePoint BucketedWindow::last_change(const ConstBucketWords& bucket) {
  return from_micros(clamp_tick(bucket.head[kLast]));
}

// Counters keep their distance from that of the last change, whose sub-bucket becomes the one of the new moment.
Duration BucketedWindow::move_back(const BucketWords& bucket, Duration by) {
  const std::int64_t last = clamp_tick(bucket.head[kLast]);
  const std::int64_t width = bounded(bucket.head[kWidth], kMaxWindow.count());
  const auto number = bounded(bucket.head[kNumber], static_cast<std::int64_t>(bucket.tail.size()));
  bucket.head[kLast] = last - by.count();
  if (width == 0 || number == 0) return by;
  const std::int64_t steps = last / width - (last - by.count()) / width;
  std::rotate(bucket.tail.begin(), bucket.tail.begin() + steps % number, bucket.tail.begin() + number);
  return Duration{steps * width};
}

}  // namespace weir::algorithms
