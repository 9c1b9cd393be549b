// BucketHolds: the open reservations of one bucket, kept beside the words of its algorithm (bucket.h).
//
// What was reserved is charged like any other cost. An entry remembers how much, when, until when, and the least that
// the bucket has counted since. To return x units of it later is to make the bucket as if x less had been charged then:
// a level (a debt, the count of a fixed window) falls by min(x, the lowest level since), because at its lowest it would
// have been empty already, and what is repaid after that is repaid for others. Where an algorithm keeps no level, the
// units go back to the window, sub-bucket or entry that they were counted in, or nowhere.
//
// Words: {room in entries << 32 | entries, no entry lapses before, the last lapses at}, then entries of six, in the
// order in which they were reserved: {id high, id low, units, lowest, reserved, expires}. Units are negative in an
// entry that has cost them when it lapses. The lowest level since a moment cannot fall with later moments, so a charge,
// which first notes the level before it, lowers only the entries at the end: cheap on average.
//
// All times are microseconds. Any words are safe to use: a damaged state gives a bounded answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "algorithms/arithmetic.h"
#include "algorithms/bucket.h"
#include "weir/bucket_key.h"
#include "weir/hold.h"

namespace weir::algorithms {

struct HoldEntry {
  BucketKey id;
  std::int64_t units = 0;
  std::int64_t lowest = 0;
  std::int64_t reserved_us = 0;
  std::int64_t expires_us = 0;
  bool charges_lapsed = false;
};

class BucketHolds {
 public:
  static constexpr std::size_t kHeaderWords = 3;
  static constexpr std::size_t kEntryWords = 6;
  static constexpr std::size_t words_for(std::size_t entries) { return kHeaderWords + entries * kEntryWords; }
  // The length of the part that begins with this header word, if it is within `most` words.
  static std::size_t length_of(std::int64_t header, std::size_t most) {
    const std::size_t length = words_for(static_cast<std::size_t>(static_cast<std::uint64_t>(header) >> 32));
    return length <= most ? length : most;
  }

  // The words are borrowed. Empty, or at least kHeaderWords.
  explicit BucketHolds(std::span<std::int64_t> words) : words_(words) {}
  // Makes new words a part without entries.
  static void begin(std::span<std::int64_t> words);

  std::size_t room() const { return words_.size() < kHeaderWords ? 0 : (words_.size() - kHeaderWords) / kEntryWords; }
  std::size_t size() const {
    if (words_.empty()) return 0;
    // Without a division, unless the words are damaged.
    const std::size_t count = static_cast<std::uint64_t>(words_[kCount]) & 0xffff'ffffU;
    return words_for(count) <= words_.size() ? count : room();
  }
  bool has_room() const { return words_for(size() + 1) <= words_.size(); }
  HoldEntry entry(std::size_t i) const;
  bool has(const BucketKey& id) const;
  // Something lapses then, or has.
  bool lapses_by(std::int64_t now_us) const { return size() > 0 && words_[kNext] <= now_us; }
  std::int64_t last_us() const { return words_.empty() ? 0 : clamp_tick(words_[kLast]); }
  void clear();
  // Precondition: room for all of them.
  void copy_from(const BucketHolds& other);

  // Returns what has lapsed to the bucket. To be called before anything else is done to it. True: something lapsed.
  bool lapse(const Allowance& allowance, const BucketWords& bucket, std::int64_t now_us);
  // Before anything is charged to the bucket, and after anything else was given back: notes what it counts.
  void note(const Allowance& allowance, const BucketWords& bucket, std::int64_t now_us);
  // Of what was charged just now; of 0 units, which no one has charged, after note(). Precondition: size() < room().
  void add(const BucketKey& id, std::int64_t units, std::int64_t now_us, std::int64_t expires_us,
           const Allowance& allowance, const BucketWords& bucket);
  // All entries of the id live until then.
  void extend(const BucketKey& id, std::int64_t expires_us);

  struct Settled {
    bool found = false;
    std::int64_t held = 0;
    std::int64_t returned = 0;
  };
  // Ends the entries of the id, of whose units `kept` stay charged: the first that were reserved.
  Settled settle(const BucketKey& id, std::int64_t kept, const Allowance& allowance, const BucketWords& bucket,
                 std::int64_t now_us);

  // As algorithms::move_back().
  void move_back(std::int64_t by_us);

 private:
  static constexpr std::size_t kCount = 0, kNext = 1, kLast = 2;
  static constexpr std::size_t kUnits = 2, kLowest = 3, kReserved = 4, kExpires = 5;

  std::span<std::int64_t> words_of(std::size_t i) const { return words_.subspan(words_for(i), kEntryWords); }
  void set_size(std::size_t size);
  void note_level(std::int64_t level);
  // Ends the entries for which `returns(entry)` is a number, and returns as much of each to the bucket if it can.
  Settled settle_only(std::int64_t kept, const Allowance& allowance, const BucketWords& bucket, std::int64_t now_us);
  template <typename Returns>
  std::int64_t end_some(const Allowance& allowance, const BucketWords& bucket, std::int64_t now_us, Returns returns);

  std::span<std::int64_t> words_;
};

}  // namespace weir::algorithms
