#include "algorithms/distinct_values.h"

#include <algorithm>
#include <array>

#include "algorithms/arithmetic.h"

namespace weir::algorithms {
namespace {

constexpr std::size_t kCount = 0;
constexpr std::size_t kLast = 1;
constexpr std::size_t kUntil = 2;
constexpr std::size_t kEntryWords = 2;
constexpr std::size_t kFirstEntries = 4;

// Also where limits were higher before.
constexpr std::size_t kMostEntries = static_cast<std::size_t>(kMaxDistinct);

std::size_t entries_of(const ConstBucketWords& bucket) {
  const auto room = static_cast<std::int64_t>(std::min(bucket.tail.size() / kEntryWords, kMostEntries));
  return static_cast<std::size_t>(bounded(bucket.head[kCount], room));
}

std::uint64_t value_at(const ConstBucketWords& bucket, std::size_t i) {
  return static_cast<std::uint64_t>(bucket.tail[i * kEntryWords]);
}
std::int64_t expiry_at(const ConstBucketWords& bucket, std::size_t i) {
  return clamp_tick(bucket.tail[i * kEntryWords + 1]);
}

// Time does not run backward in a bucket.
std::int64_t time_of(const ConstBucketWords& bucket, std::int64_t now_us) {
  return std::max(now_us, clamp_tick(bucket.head[kLast]));
}

std::int64_t expiry_of(const Allowance& allowance, std::int64_t time) {
  const std::int64_t window = allowance.window.count();
  if (allowance.algorithm != Algorithm::fixed_window) return clamp_tick(time + window);
  const std::int64_t since_anchor = time + window - allowance.anchor.count();
  return time - since_anchor % window + window;
}

struct Live {
  std::int64_t count = 0;
  std::int64_t last = 0;  // when the last of them expires
  bool known = false;
  std::array<std::int64_t, kMostEntries> expiries;  // the first `count` of them
};

void find_live(const ConstBucketWords& bucket, std::int64_t time, std::uint64_t value, Live& live) {
  for (std::size_t i = 0, entries = entries_of(bucket); i < entries; ++i) {
    const std::int64_t expiry = expiry_at(bucket, i);
    if (expiry <= time) continue;
    live.expiries[static_cast<std::size_t>(live.count++)] = expiry;
    live.last = std::max(live.last, expiry);
    live.known = live.known || value_at(bucket, i) == value;
  }
}

// When so few are left that one more fits. Precondition: 0 < limit <= live.count.
std::int64_t first_room(Live& live, std::int64_t limit) {
  const auto place = live.expiries.begin() + (live.count - limit);
  std::nth_element(live.expiries.begin(), place, live.expiries.begin() + live.count);
  return *place;
}

}  // namespace

ChargeOutcome evaluate_distinct(const Allowance& allowance, ConstBucketWords bucket, std::int64_t now_us,
                                const NewValue& added, std::int64_t cost) {
  const std::int64_t time = time_of(bucket, now_us);
  Live live;
  find_live(bucket, time, added.value, live);
  const std::int64_t renewed = expiry_of(allowance, time);
  for (std::int64_t i = 0; i < added.others && live.count < kMaxDistinct; ++i) {
    live.expiries[static_cast<std::size_t>(live.count++)] = renewed;
    live.last = std::max(live.last, renewed);
  }
  ChargeOutcome outcome;
  if (cost > 0 && allowance.limit == 0) {
    outcome.admitted = false;
    outcome.too_large = true;
  } else if (cost > 0 && !live.known && live.count >= allowance.limit) {
    outcome.admitted = false;
    outcome.retry_after = Duration(first_room(live, allowance.limit) - now_us);
  } else if (cost > 0) {
    live.count += live.known ? 0 : 1;
    live.last = std::max(live.last, renewed);
  }
  outcome.remaining = std::max<std::int64_t>(0, allowance.limit - live.count);
  if (live.count > 0) outcome.reset_after = Duration(live.last - now_us);
  return outcome;
}

bool has_distinct(ConstBucketWords bucket, std::int64_t now_us, std::uint64_t value) {
  Live live;
  find_live(bucket, time_of(bucket, now_us), value, live);
  return live.known;
}

std::size_t distinct_words_needed(ConstBucketWords bucket, std::int64_t now_us, const NewValue& added) {
  const std::int64_t time = time_of(bucket, now_us);
  Live live;
  find_live(bucket, time, added.value, live);
  const auto entries = static_cast<std::size_t>(live.count + added.others) + (live.known ? 0 : 1);
  const std::size_t room = bucket.tail.size() / kEntryWords;
  if (entries <= room) return bucket.tail.size();
  return kEntryWords * std::min(std::max({kFirstEntries, 2 * room, entries}), kMostEntries);
}

void charge_distinct(const Allowance& allowance, BucketWords bucket, std::int64_t now_us, std::uint64_t value) {
  const std::int64_t time = time_of(bucket, now_us);
  std::size_t kept = 0;
  const auto keep = [&](std::uint64_t each, std::int64_t expiry) {
    bucket.tail[kept * kEntryWords] = static_cast<std::int64_t>(each);
    bucket.tail[kept * kEntryWords + 1] = expiry;
    bucket.head[kUntil] = std::max(bucket.head[kUntil], expiry);
    ++kept;
  };
  const std::int64_t renewed = expiry_of(allowance, time);
  const std::size_t entries = entries_of(bucket);
  bool known = false;
  bucket.head[kUntil] = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::uint64_t each = value_at(bucket, i);
    const std::int64_t expiry = expiry_at(bucket, i);
    if (expiry <= time) continue;
    known = known || each == value;
    keep(each, each == value ? std::max(expiry, renewed) : expiry);
  }
  if (!known && (kept + 1) * kEntryWords <= bucket.tail.size()) keep(value, renewed);
  bucket.head[kCount] = static_cast<std::int64_t>(kept);
  bucket.head[kLast] = time;
}

std::int64_t distinct_idle_from(ConstHead head) { return clamp_tick(head[kUntil]); }

void move_distinct_back(BucketWords bucket, std::int64_t by_us) {
  const std::size_t entries = entries_of(bucket);
  for (const std::size_t word : {kLast, kUntil}) bucket.head[word] = clamp_tick(clamp_tick(bucket.head[word]) - by_us);
  for (std::size_t i = 0; i < entries; ++i) {
    bucket.tail[i * kEntryWords + 1] = clamp_tick(expiry_at(bucket, i) - by_us);
  }
}

}  // namespace weir::algorithms
