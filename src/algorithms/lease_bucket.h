// LeaseBucket: the leases of one concurrency rule and subject, in the words of a bucket (bucket.h).
//
// Head: {units held, last fencing token, time of the first lease}. Tail: a header of four words, {no live lease lapses
// before, the last that was given would lapse at, nothing here matters from, number of entries × 2 + whether the first
// is exact}, then entries of six words, ordered by id: {id high, id low, expires, token, units, ttl}.
//
// An entry without units is an id that has ended and must not be taken again before `expires`. Only ids made by
// clients, and leases that were taken again after the store had lost them, have a ttl, and only they are kept after
// their end.
//
// All times are microseconds. Any words are safe to use: a damaged state gives a bounded answer.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "algorithms/arithmetic.h"
#include "algorithms/bucket.h"
#include "weir/bucket_key.h"
#include "weir/store.h"

namespace weir::algorithms {

struct LeaseEntry {
  BucketKey id;
  std::int64_t expires_us = 0;
  std::uint64_t token = 0;
  std::int64_t units = 0;   // 0: it has ended
  std::int64_t ttl_us = 0;  // 0: the id is forgotten with the lease

  bool ended() const { return units == 0; }
};

// A client may use its id again for another lease once the first is forgotten, which is not before the first would have
// lapsed. A handle of the first must not reach that one. A larger token from an earlier time is of the same lease,
// which was taken again after the store had lost it.
inline bool is_later_lease(const LeaseEntry& entry, std::uint64_t own_token, const HoldStep& handle) {
  const auto expires_us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, micros(handle.expires)));
  return handle.named && own_token != 0 && entry.token > own_token && entry.token >= expires_us;
}

class LeaseBucket {
 public:
  // The longest wait that a denial reports: a lease may be released at any time.
  static constexpr Duration kLongestHint = std::chrono::seconds(1);
  // Most entries of one bucket, including those that have ended. Beyond it, the entry that would expire first is
  // dropped.
  static constexpr std::size_t kMaxEntries = 2 * kMaxConcurrency;

  // The words are borrowed. A tail without room for the header is a bucket without leases.
  explicit LeaseBucket(const BucketWords& words) : head_(words.head), tail_(words.tail) {}

  // Forgets what has lapsed. To be called before anything else that takes a time.
  void advance(std::int64_t now_us);
  void clear();

  std::int64_t held() const;
  std::uint64_t last_token() const { return static_cast<std::uint64_t>(head_[kToken]); }
  // When the bucket got its first lease since it was last completely empty; leases older than this were lost.
  std::int64_t since_us() const { return head_[kSince]; }
  std::size_t size() const;
  LeaseEntry entry(std::size_t i) const;
  // Where the id is, or size().
  std::size_t find(const BucketKey& id) const;

  // As algorithms::evaluate(). `takes`: the cost would be taken, and so is not part of what remains.
  ChargeOutcome evaluate(std::int64_t limit, std::int64_t cost, bool takes, std::int64_t now_us,
                         std::int64_t ttl_us = 0);

  // Tail words for one entry more. Makes room where it can.
  std::size_t words_for_one_more(std::int64_t now_us);
  // Precondition: the id is not there as a live lease, and words_for_one_more() are there.
  void add(const LeaseEntry& entry, std::int64_t now_us);
  // Precondition: i < size() and the entry has not ended.
  // The token of the lease does not become smaller.
  void renew(std::size_t i, std::int64_t expires_us, std::int64_t ttl_us, std::uint64_t token);
  void end(std::size_t i, std::int64_t now_us);

  // From then on the bucket equals a fresh one.
  std::int64_t idle_from_us() const;
  // About when the last lease was given.
  TimePoint last_change() const;
  // As algorithms::move_back(). Fencing tokens stay.
  void move_back(std::int64_t by_us);

 private:
  static constexpr std::size_t kHeld = 0, kToken = 1, kSince = 2;
  static constexpr std::size_t kNext = 0, kLast = 1, kUntil = 2, kCount = 3;
  static constexpr std::size_t kHeaderWords = 4;
  static constexpr std::size_t kEntryWords = 6;
  static constexpr std::size_t kFirstRoom = 2;  // entries

  std::size_t room() const { return tail_.size() < kHeaderWords ? 0 : (tail_.size() - kHeaderWords) / kEntryWords; }
  bool has_room_for(std::size_t entries) const { return kHeaderWords + entries * kEntryWords <= tail_.size(); }
  std::span<std::int64_t> words_of(std::size_t i) const {
    return tail_.subspan(kHeaderWords + i * kEntryWords, kEntryWords);
  }
  void write(std::size_t i, const LeaseEntry& entry);
  void erase(std::size_t i);
  void set_size(std::size_t size, bool exact);
  std::int64_t next_us() const;
  bool exact() const { return (tail_[kCount] & 1) != 0; }
  void scan(std::int64_t now_us);
  void note(const LeaseEntry& entry);
  void doubt_next(std::int64_t expires_us);
  std::size_t lower_bound(const BucketKey& id) const;
  void forget_one();

  static bool comes_before(const BucketKey& a, const BucketKey& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }

  Head head_;
  std::span<std::int64_t> tail_;
};

// Here, so that the memory store can compile the most common calls as one.

inline std::int64_t LeaseBucket::held() const { return size() == 0 ? 0 : bounded(head_[kHeld], kMaxUnits); }

inline std::size_t LeaseBucket::size() const {
  if (tail_.size() < kHeaderWords) return 0;
  // Without a division, unless the words are damaged.
  const std::uint64_t count = static_cast<std::uint64_t>(tail_[kCount]) >> 1U;
  if (count <= tail_.size() && has_room_for(count)) [[likely]]
    return count;
  return tail_[kCount] < 0 ? 0 : room();
}

inline LeaseEntry LeaseBucket::entry(std::size_t i) const {
  const std::span<const std::int64_t> words = words_of(i);
  return {{static_cast<std::uint64_t>(words[0]), static_cast<std::uint64_t>(words[1])},
          clamp_tick(words[2]),
          static_cast<std::uint64_t>(words[3]),
          bounded(words[4], kMaxUnits),
          bounded(words[5], kMaxWindow.count())};
}

inline void LeaseBucket::write(std::size_t i, const LeaseEntry& entry) {
  const std::span<std::int64_t> words = words_of(i);
  words[0] = static_cast<std::int64_t>(entry.id.high);
  words[1] = static_cast<std::int64_t>(entry.id.low);
  words[2] = entry.expires_us;
  words[3] = static_cast<std::int64_t>(entry.token);
  words[4] = entry.units;
  words[5] = entry.ttl_us;
}

inline std::int64_t LeaseBucket::next_us() const { return clamp_tick(tail_[kNext]); }

inline void LeaseBucket::set_size(std::size_t size, bool exact) {
  tail_[kCount] = static_cast<std::int64_t>(size) * 2 + (exact ? 1 : 0);
}

inline void LeaseBucket::erase(std::size_t i) {
  const std::size_t count = size();
  std::copy(words_of(i).end(), tail_.begin() + static_cast<std::ptrdiff_t>(kHeaderWords + count * kEntryWords),
            words_of(i).begin());
  set_size(count - 1, exact());
}

inline std::size_t LeaseBucket::lower_bound(const BucketKey& id) const {
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

inline std::size_t LeaseBucket::find(const BucketKey& id) const {
  const std::size_t at = lower_bound(id);
  return at < size() && entry(at).id == id ? at : size();
}

inline void LeaseBucket::advance(std::int64_t now_us) {
  if (size() == 0 || held() == 0 || now_us < next_us()) return;
  scan(now_us);
}

inline ChargeOutcome LeaseBucket::evaluate(std::int64_t limit, std::int64_t cost, bool takes, std::int64_t now_us,
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

inline std::size_t LeaseBucket::words_for_one_more(std::int64_t now_us) {
  if (size() > 0 && !has_room_for(size() + 1)) scan(now_us);
  const std::size_t count = size();
  if (tail_.size() >= kHeaderWords) set_size(count, exact());  // more room must not bring more entries
  if (has_room_for(count + 1) || count >= kMaxEntries) return tail_.size();
  return kHeaderWords + std::min(std::max(kFirstRoom, 2 * room()), kMaxEntries) * kEntryWords;
}

// What the header must know of a live lease.
inline void LeaseBucket::note(const LeaseEntry& entry) {
  if (entry.expires_us < next_us()) {
    tail_[kNext] = entry.expires_us;
    set_size(size(), true);
  }
  tail_[kLast] = std::max(clamp_tick(tail_[kLast]), entry.expires_us);
  tail_[kUntil] = std::max({clamp_tick(tail_[kUntil]), entry.expires_us + entry.ttl_us, clamp_tick(head_[kToken])});
}

// The lease that would have lapsed next is gone, and which one is next now is not known.
inline void LeaseBucket::doubt_next(std::int64_t expires_us) {
  if (expires_us == tail_[kNext]) set_size(size(), false);
}

inline void LeaseBucket::add(const LeaseEntry& added, std::int64_t now_us) {
  if (size() == kMaxEntries) forget_one();
  const std::size_t at = lower_bound(added.id);
  const std::size_t count = size();
  const bool again = at < count && entry(at).id == added.id;
  assert(again || has_room_for(count + 1));
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

inline void LeaseBucket::end(std::size_t i, std::int64_t now_us) {
  LeaseEntry ended = entry(i);
  head_[kHeld] = bounded(held() - ended.units, kMaxUnits);
  doubt_next(ended.expires_us);
  if (ended.ttl_us == 0) return erase(i);
  ended.units = 0;
  ended.expires_us = now_us + ended.ttl_us;
  write(i, ended);
  tail_[kUntil] = std::max(clamp_tick(tail_[kUntil]), ended.expires_us);
}

inline std::int64_t LeaseBucket::idle_from_us() const {
  return tail_.size() < kHeaderWords ? 0 : clamp_tick(tail_[kUntil]);
}

}  // namespace weir::algorithms
