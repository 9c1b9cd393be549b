#include "algorithms/bucket_holds.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace weir::algorithms {
namespace {

constexpr std::int64_t kNoExpiry = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kHighestLevel = std::int64_t{1} << 42;  // more than any bucket counts

std::int64_t magnitude(std::int64_t units) {
  return units < 0 ? bounded(-std::max(units, -kMaxUnits), kMaxUnits) : bounded(units, kMaxUnits);
}

}  // namespace

void BucketHolds::begin(std::span<std::int64_t> words) {
  assert(words.size() >= kHeaderWords);
  const std::size_t room = (words.size() - kHeaderWords) / kEntryWords;
  words[kCount] = static_cast<std::int64_t>(room << 32);
  words[kNext] = kNoExpiry;
  words[kLast] = 0;
}

void BucketHolds::set_size(std::size_t size) {
  std::uint64_t entries = static_cast<std::uint64_t>(words_[kCount]) >> 32U;
  if (words_for(entries) != words_.size()) [[unlikely]]
    entries = room();
  words_[kCount] = static_cast<std::int64_t>(entries << 32U | size);
}

void BucketHolds::clear() {
  if (!words_.empty()) begin(words_);
}

void BucketHolds::copy_from(const BucketHolds& other) {
  const std::size_t count = std::min(other.size(), room());
  std::copy_n(other.words_.begin() + kHeaderWords, count * kEntryWords, words_.begin() + kHeaderWords);
  words_[kNext] = other.words_[kNext];
  words_[kLast] = other.words_[kLast];
  set_size(count);
}

HoldEntry BucketHolds::entry(std::size_t i) const {
  const std::span<const std::int64_t> words = words_of(i);
  return {{static_cast<std::uint64_t>(words[0]), static_cast<std::uint64_t>(words[1])},
          magnitude(words[kUnits]),
          bounded(words[kLowest], kHighestLevel),
          clamp_tick(words[kReserved]),
          clamp_tick(words[kExpires]),
          words[kUnits] < 0};
}

bool BucketHolds::has(const BucketKey& id) const {
  for (std::size_t i = size(); i > 0; --i) {
    if (entry(i - 1).id == id) return true;
  }
  return false;
}

void BucketHolds::note_level(std::int64_t level) {
  for (std::size_t i = size(); i > 0; --i) {
    std::int64_t& lowest = words_of(i - 1)[kLowest];
    if (lowest <= level) return;
    lowest = level;
  }
}

void BucketHolds::note(const Allowance& allowance, const BucketWords& bucket, std::int64_t now_us) {
  const TimePoint now = from_micros(now_us);
  if (keeps_level(allowance.algorithm)) return note_level(counted(allowance, bucket, now, now));
  for (std::size_t i = 0, count = size(); i < count; ++i) {
    std::int64_t& lowest = words_of(i)[kLowest];
    lowest = std::min(lowest, counted(allowance, bucket, now, from_micros(entry(i).reserved_us)));
  }
}

void BucketHolds::add(const BucketKey& id, std::int64_t units, std::int64_t now_us, std::int64_t expires_us,
                      const Allowance& allowance, const BucketWords& bucket) {
  assert(has_room() && units >= 0);
  const TimePoint reserved = units > 0 ? last_change(allowance.algorithm, bucket) : from_micros(now_us);
  const std::size_t at = size();
  const std::span<std::int64_t> words = words_of(at);
  words[0] = static_cast<std::int64_t>(id.high);
  words[1] = static_cast<std::int64_t>(id.low);
  words[kUnits] = allowance.charges_lapsed ? -units : units;
  words[kLowest] = counted(allowance, bucket, reserved, reserved);
  words[kReserved] = micros(reserved);
  words[kExpires] = expires_us;
  words_[kNext] = std::min(words_[kNext], expires_us);
  words_[kLast] = std::max(words_[kLast], expires_us);
  set_size(at + 1);
}

void BucketHolds::extend(const BucketKey& id, std::int64_t expires_us) {
  for (std::size_t i = 0, count = size(); i < count; ++i) {
    if (entry(i).id == id) words_of(i)[kExpires] = expires_us;
  }
  words_[kNext] = std::min(words_[kNext], expires_us);
  words_[kLast] = std::max(words_[kLast], expires_us);
}

// Two walks. An entry that has ended has a negative `lowest` between them. From the last entry to the first: what each
// returns, and that the lowest level since an earlier moment is not above what is left of it. From the first to the
// last: later levels fall by all that was returned before them.
template <typename Returns>
std::int64_t BucketHolds::end_some(const Allowance& allowance, const BucketWords& bucket, std::int64_t now_us,
                                   Returns returns) {
  const TimePoint now = from_micros(now_us);
  const bool level = keeps_level(allowance.algorithm);
  const std::size_t count = size();
  std::int64_t total = 0;
  std::int64_t cap = kHighestLevel;
  if (level) note_level(counted(allowance, bucket, now, now));
  for (std::size_t i = count; i > 0; --i) {
    const std::span<std::int64_t> words = words_of(i - 1);
    HoldEntry each = entry(i - 1);
    if (level) each.lowest = std::min(each.lowest, cap);
    words[kLowest] = each.lowest;
    const std::optional<std::int64_t> wanted = returns(each);
    if (!wanted) continue;
    std::int64_t returned = std::min(*wanted, each.lowest);
    if (!level && returned > 0) {
      const TimePoint since = from_micros(each.reserved_us);
      returned = std::min(returned, counted(allowance, bucket, now, since));
      if (returned > 0) give_back(allowance, bucket, now, since, returned);
    }
    cap = std::min(cap, each.lowest - returned);
    total += returned;
    words[kLowest] = -1 - returned;  // ended
  }
  if (level && total > 0) give_back(allowance, bucket, now, now, total);
  std::size_t kept = 0;
  std::int64_t returned_before = 0;
  words_[kNext] = kNoExpiry;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<std::int64_t> words = words_of(i);
    if (words[kLowest] < 0) {
      returned_before += bounded(-1 - words[kLowest], kHighestLevel);
      continue;
    }
    if (level) words[kLowest] = std::max<std::int64_t>(0, words[kLowest] - returned_before);
    words_[kNext] = std::min(words_[kNext], words[kExpires]);
    if (kept != i) std::copy(words.begin(), words.end(), words_of(kept).begin());
    ++kept;
  }
  set_size(kept);
  return total;
}

bool BucketHolds::lapse(const Allowance& allowance, const BucketWords& bucket, std::int64_t now_us) {
  if (!lapses_by(now_us)) return false;
  end_some(allowance, bucket, now_us, [now_us](const HoldEntry& entry) -> std::optional<std::int64_t> {
    if (entry.expires_us > now_us) return std::nullopt;
    return entry.charges_lapsed ? 0 : entry.units;
  });
  return true;
}

// end_some() for the entry of a bucket that has no other, and keeps a level: the most common case by far.
BucketHolds::Settled BucketHolds::settle_only(std::int64_t kept, const Allowance& allowance, const BucketWords& bucket,
                                              std::int64_t now_us) {
  const TimePoint now = from_micros(now_us);
  const HoldEntry only = entry(0);
  const std::int64_t wanted = std::max<std::int64_t>(0, only.units - kept);
  const std::int64_t returned = std::min({wanted, only.lowest, counted(allowance, bucket, now, now)});
  if (returned > 0) give_back(allowance, bucket, now, now, returned);
  words_[kNext] = kNoExpiry;
  set_size(0);
  return {.found = true, .held = only.units, .returned = returned};
}

BucketHolds::Settled BucketHolds::settle(const BucketKey& id, std::int64_t kept, const Allowance& allowance,
                                         const BucketWords& bucket, std::int64_t now_us) {
  Settled settled;
  if (size() == 1 && keeps_level(allowance.algorithm)) {
    return entry(0).id == id ? settle_only(kept, allowance, bucket, now_us) : settled;
  }
  for (std::size_t i = 0, count = size(); i < count; ++i) {
    const HoldEntry each = entry(i);
    if (each.id != id) continue;
    settled.found = true;
    settled.held += each.units;
  }
  if (!settled.found) return settled;
  std::int64_t left = std::max<std::int64_t>(0, settled.held - kept);
  settled.returned = end_some(allowance, bucket, now_us, [&](const HoldEntry& entry) -> std::optional<std::int64_t> {
    if (entry.id != id) return std::nullopt;
    const std::int64_t returns = std::min(left, entry.units);
    left -= returns;
    return returns;
  });
  return settled;
}

void BucketHolds::move_back(std::int64_t by_us) {
  if (words_.empty()) return;
  words_[kLast] = clamp_tick(clamp_tick(words_[kLast]) - by_us);
  words_[kNext] = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const HoldEntry each = entry(i);
    words_of(i)[kReserved] = std::max<std::int64_t>(0, each.reserved_us - by_us);
    words_of(i)[kExpires] = std::max<std::int64_t>(0, each.expires_us - by_us);
  }
}

}  // namespace weir::algorithms
