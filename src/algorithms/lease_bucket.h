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
#include <cstddef>
#include <cstdint>

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

  Head head_;
  std::span<std::int64_t> tail_;
};

}  // namespace weir::algorithms
