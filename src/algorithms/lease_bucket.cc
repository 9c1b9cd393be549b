#include "algorithms/lease_bucket.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "algorithms/arithmetic.h"

namespace weir::algorithms {
namespace {

bool comes_before(const BucketKey& a, const BucketKey& b) { return a.high != b.high ? a.high < b.high : a.low < b.low; }

}  // namespace

void LeaseBucket::clear() {
  std::fill(head_.begin(), head_.end(), 0);
  if (tail_.size() >= kHeaderWords) std::fill_n(tail_.begin(), kHeaderWords, 0);
}

std::int64_t LeaseBucket::held() const { return size() == 0 ? 0 : bounded(head_[kHeld], kMaxUnits); }

std::size_t LeaseBucket::size() const {
  if (tail_.size() < kHeaderWords) return 0;
  return static_cast<std::size_t>(bounded(tail_[kCount] / 2, static_cast<std::int64_t>(room())));
}

LeaseEntry LeaseBucket::entry(std::size_t i) const {
  const std::span<const std::int64_t> words = words_of(i);
  return {{static_cast<std::uint64_t>(words[0]), static_cast<std::uint64_t>(words[1])},
          clamp_tick(words[2]),
          static_cast<std::uint64_t>(words[3]),
          bounded(words[4], kMaxUnits),
          bounded(words[5], kMaxWindow.count())};
}

void LeaseBucket::write(std::size_t i, const LeaseEntry& entry) {
  const std::span<std::int64_t> words = words_of(i);
  words[0] = static_cast<std::int64_t>(entry.id.high);
  words[1] = static_cast<std::int64_t>(entry.id.low);
  words[2] = entry.expires_us;
  words[3] = static_cast<std::int64_t>(entry.token);
  words[4] = entry.units;
  words[5] = entry.ttl_us;
}

std::int64_t LeaseBucket::next_us() const { return clamp_tick(tail_[kNext]); }

void LeaseBucket::set_size(std::size_t size, bool exact) {
  tail_[kCount] = static_cast<std::int64_t>(size) * 2 + (exact ? 1 : 0);
}

void LeaseBucket::erase(std::size_t i) {
  const std::size_t count = size();
  std::copy(words_of(i).end(), tail_.begin() + static_cast<std::ptrdiff_t>(kHeaderWords + count * kEntryWords),
            words_of(i).begin());
  set_size(count - 1, exact());
}

std::size_t LeaseBucket::lower_bound(const BucketKey& id) const {
  std::size_t first = 0;
  for (std::size_t count = size(); count > 0;) {
    const std::size_t half = count / 2;
    if (comes_before(entry(first + half).id, id)) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

std::size_t LeaseBucket::find(const BucketKey& id) const {
  const std::size_t at = lower_bound(id);
  return at < size() && entry(at).id == id ? at : size();
}

void LeaseBucket::advance(std::int64_t now_us) {
  if (size() == 0 || held() == 0 || now_us < next_us()) return;
  scan(now_us);
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

ChargeOutcome LeaseBucket::evaluate(std::int64_t limit, std::int64_t cost, bool takes, std::int64_t now_us,
                                    std::int64_t ttl_us) {
  ChargeOutcome outcome;
  std::int64_t held = this->held();
  if (cost > limit) {
    outcome.admitted = false;
    outcome.too_large = true;
  } else if (cost > 0 && held + cost > limit) {
    outcome.admitted = false;
    if (next_us() - now_us < kLongestHint.count() && !exact()) scan(now_us);
    const std::int64_t lapses_in = std::max<std::int64_t>(1, next_us() - now_us);
    outcome.retry_after = std::min(Duration{lapses_in}, kLongestHint);
  } else if (takes) {
    held += cost;
  }
  outcome.remaining = std::max<std::int64_t>(0, limit - held);
  if (this->held() > 0) outcome.reset_after = Duration{std::max<std::int64_t>(0, clamp_tick(tail_[kLast]) - now_us)};
  if (takes && outcome.admitted && cost > 0) outcome.reset_after = std::max(outcome.reset_after, Duration{ttl_us});
  return outcome;
}

std::size_t LeaseBucket::words_for_one_more(std::int64_t now_us) {
  if (size() > 0 && size() == room()) scan(now_us);
  if (tail_.size() >= kHeaderWords) set_size(size(), exact());  // more room must not bring more entries
  const std::size_t count = size();
  if (count < room() || count >= kMaxEntries) return tail_.size();
  return kHeaderWords + std::min(std::max(kFirstRoom, 2 * room()), kMaxEntries) * kEntryWords;
}

void LeaseBucket::add(const LeaseEntry& added, std::int64_t now_us) {
  if (size() == kMaxEntries) forget_one();
  const std::size_t at = lower_bound(added.id);
  const std::size_t count = size();
  const bool again = at < count && entry(at).id == added.id;
  assert(again || count < room());
  if (!again) {
    const auto end = tail_.begin() + static_cast<std::ptrdiff_t>(kHeaderWords + count * kEntryWords);
    std::copy_backward(words_of(at).begin(), end, end + kEntryWords);
    set_size(count + 1, exact());
  }
  write(at, added);
  if (head_[kSince] == 0) head_[kSince] = now_us;
  if (held() == 0) {
    tail_[kNext] = added.expires_us;
    set_size(size(), true);
  }
  head_[kHeld] = bounded(held() + added.units, kMaxUnits);
  head_[kToken] = static_cast<std::int64_t>(std::max(last_token(), added.token));
  note(added);
}

// What the header must know of a live lease.
void LeaseBucket::note(const LeaseEntry& entry) {
  if (entry.expires_us < next_us()) {
    tail_[kNext] = entry.expires_us;
    set_size(size(), true);
  }
  tail_[kLast] = std::max(clamp_tick(tail_[kLast]), entry.expires_us);
  tail_[kUntil] = std::max({clamp_tick(tail_[kUntil]), entry.expires_us + entry.ttl_us, clamp_tick(head_[kToken])});
}

// The lease that would have lapsed next is gone, and which one is next now is not known.
void LeaseBucket::doubt_next(std::int64_t expires_us) {
  if (expires_us == tail_[kNext]) set_size(size(), false);
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

void LeaseBucket::end(std::size_t i, std::int64_t now_us) {
  LeaseEntry ended = entry(i);
  head_[kHeld] = bounded(held() - ended.units, kMaxUnits);
  doubt_next(ended.expires_us);
  if (ended.ttl_us == 0) return erase(i);
  ended.units = 0;
  ended.expires_us = now_us + ended.ttl_us;
  write(i, ended);
  tail_[kUntil] = std::max(clamp_tick(tail_[kUntil]), ended.expires_us);
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

std::int64_t LeaseBucket::idle_from_us() const { return tail_.size() < kHeaderWords ? 0 : clamp_tick(tail_[kUntil]); }

TimePoint LeaseBucket::last_change() const { return from_micros(clamp_tick(head_[kToken])); }

void LeaseBucket::move_back(std::int64_t by_us) {
  head_[kSince] = clamp_tick(clamp_tick(head_[kSince]) - by_us);
  if (tail_.size() < kHeaderWords) return;
  for (const std::size_t word : {kNext, kLast, kUntil}) tail_[word] = clamp_tick(clamp_tick(tail_[word]) - by_us);
  for (std::size_t i = 0; i < size(); ++i) words_of(i)[2] = clamp_tick(entry(i).expires_us - by_us);
}

}  // namespace weir::algorithms
