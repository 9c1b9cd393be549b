// Prefilter: remembers buckets that a slow store has just called exhausted, and refuses for them until they can admit
// again, so that a flood on an exhausted key costs the store nothing.
//
// It never refuses what the store would have admitted: a denial with retry_after r, to a call that was sent at t, means
// that this cost does not fit before t + r under this allowance, unless one of these happens:
//   a refund or a reset        forget(): every loop of the node ignores what it remembers of the bucket
//   another allowance applies  is another entry, because an entry holds for one allowance only
//   another allowance charges  the bucket may be repaid at another rate: forget(), too (engine.cc)
//   another node refunds, or   an entry is used for at most kMaxHold
//   a reservation ends there
//   or lapses
//
// What one bucket answers is the answer only where no other decides. For requests that several buckets decide about,
// the whole answer is remembered, and repeated when the same is asked (repeated_denials.h).
//
// Requests that bring their time along (Request::ingress) are compared by that, as the store compares them; how long an
// entry is used depends on our own clock.
//
// A fixed number of entries, the newer overwriting the older. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/bucket_generations.h"
#include "engine/check.h"
#include "engine/stages/repeated_denials.h"
#include "weir/store.h"

namespace weir::engine {

class Prefilter {
 public:
  static constexpr std::size_t kEntries = BucketGenerations::kStripes;  // one for each stripe; about 2 MB
  static constexpr Duration kMaxHold = std::chrono::seconds(1);

  // `generations` is shared by the prefilters of all loops that use the same store.
  explicit Prefilter(std::shared_ptr<BucketGenerations> generations);

  // True: the store would deny this at `now`, and `outcomes` are its answer. False: ask it. `skew` is how far the time
  // that it would be told is from the node's own.
  bool repeat(std::span<const Charge> charges, std::span<ChargeOutcome> outcomes, TimePoint now,
              Duration skew = Duration{0});

  // For requests that others than the store decide about as well (quotas): one charge that is known to be denied, and
  // its outcome; none: ask the store.
  struct Hit {
    std::size_t charge = 0;
    ChargeOutcome outcome;
  };
  std::optional<Hit> find_one(std::span<const Charge> charges, TimePoint now, Duration skew = Duration{0});

  // What remember() wants to know of the moment before the store was asked.
  struct Stamp {
    TimePoint sent;
    Duration skew{0};
    std::uint64_t generations = 0;
  };
  Stamp stamp(std::span<const Charge> charges, TimePoint now, Duration skew = Duration{0}) const {
    return {now, skew, generations_->sum_of(charges)};
  }

  // To be called for every answer to a take.
  void remember(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes, const Stamp& asked);
  // To be called, before it is answered, of all that may make a bucket admit earlier: refunds, resets and more.
  void forget(std::span<const Charge> charges);

  std::uint64_t hits() const;

 private:
  struct Entry {
    BucketKey key;
    std::int64_t cost = 0;
    TimePoint until;               // a take of `cost` under `allowance` is denied before this …
    TimePoint trusted;             // … but the entry itself is not trusted after this …
    std::uint32_t generation = 0;  // … or in another generation of the bucket
    TimePoint reset_at;
    std::int64_t remaining = 0;
    bool penalized = false;  // denied whatever the cost
    bool challenge = false;
    Allowance allowance;
  };
  Entry& entry_of(const BucketKey& key) { return entries_[key.low & (kEntries - 1)]; }
  std::optional<Hit> find(std::span<const Charge> charges, TimePoint now, Duration skew);
  bool is_believed(const Entry& entry, const Charge& charge, TimePoint now, Duration skew) const;
  void forget_here(const Charge& charge);

  const std::shared_ptr<BucketGenerations> generations_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // guarded by mutex_
  RepeatedDenials repeated_;    // guarded by mutex_
  std::uint64_t hits_ = 0;      // guarded by mutex_
};

}  // namespace weir::engine
