#include "algorithms/lease_bucket.h"

#include <limits>

namespace weir::algorithms {

void LeaseBucket::clear() {
  std::fill(head_.begin(), head_.end(), 0);
  if (tail_.size() >= kHeaderWords) std::fill_n(tail_.begin(), kHeaderWords, 0);
}

// Every entry: drops what has lapsed and what need not be remembered, and counts the rest.
void LeaseBucket::scan(std::int64_t now_us) {
  std::size_t kept = 0;
  std::int64_t held = 0;
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0, count = size(); i < count; ++i) {
    LeaseEntry each = entry(i);
    if (!each.ended() && each.expires_us <= now_us) {
      each.units = 0;
      each.expires_us += each.ttl_us;
    }
    if (each.ended() && (each.ttl_us == 0 || each.expires_us <= now_us)) continue;
    if (!each.ended()) next = std::min(next, each.expires_us);
    held += each.units;
    write(kept++, each);
  }
  head_[kHeld] = bounded(held, kMaxUnits);
  tail_[kNext] = next;
  set_size(kept, true);
}

void LeaseBucket::renew(std::size_t i, std::int64_t expires_us, std::int64_t ttl_us, std::uint64_t token) {
  LeaseEntry renewed = entry(i);
  doubt_next(renewed.expires_us);
  renewed.expires_us = expires_us;
  renewed.token = std::max(renewed.token, token);
  head_[kToken] = static_cast<std::int64_t>(std::max(last_token(), renewed.token));
  if (renewed.ttl_us > 0) renewed.ttl_us = ttl_us;
  write(i, renewed);
  note(renewed);
}

// An id that has ended: there are fewer live leases than entries, unless the words are damaged.
void LeaseBucket::forget_one() {
  std::size_t first = 0;
  for (std::size_t i = 1; i < size(); ++i) {
    const LeaseEntry a = entry(i);
    const LeaseEntry b = entry(first);
    if (a.ended() != b.ended() ? a.ended() : a.expires_us < b.expires_us) first = i;
  }
  head_[kHeld] = bounded(held() - entry(first).units, kMaxUnits);
  erase(first);
}

TimePoint LeaseBucket::last_change() const { return from_micros(clamp_tick(head_[kToken])); }

void LeaseBucket::move_back(std::int64_t by_us) {
  head_[kSince] = clamp_tick(clamp_tick(head_[kSince]) - by_us);
  if (tail_.size() < kHeaderWords) return;
  for (const std::size_t word : {kNext, kLast, kUntil}) tail_[word] = clamp_tick(clamp_tick(tail_[word]) - by_us);
  for (std::size_t i = 0; i < size(); ++i) words_of(i)[2] = clamp_tick(entry(i).expires_us - by_us);
}

}  // namespace weir::algorithms
