// Prefilter: remembers buckets that a slow store has just called exhausted, and refuses for them until they can admit
// again (R45), so that a flood on an exhausted key costs the store nothing.
//
// It never refuses what the store would have admitted: a denial with retry_after r, to a call that was sent at t, means
// that this cost does not fit before t + r, whatever else happens, except for a refund, a reset or a larger
// allowance. Refunds and resets through this engine are forgotten at once; an allowance that changed is not the same
// entry; and because another node may refund, an entry holds for kMaxHold at the most.
//
// A fixed number of entries, the newer overwriting the older. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/check.h"
#include "weir/store.h"

namespace weir::engine {

class Prefilter {
 public:
  static constexpr std::size_t kEntries = 16'384;  // a power of two; about 1.5 MB
  static constexpr Duration kMaxHold = std::chrono::seconds(1);

  Prefilter();

  // The charge that is known to be denied at `now`, and its outcome; none: ask the store.
  struct Hit {
    std::size_t charge = 0;
    ChargeOutcome outcome;
  };
  std::optional<Hit> find(std::span<const Charge> charges, TimePoint now);

  // To be told of every answer to a take that was sent at `sent`.
  void remember(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes, TimePoint sent);
  // To be told of every refund and reset.
  void forget(std::span<const Charge> charges);

  std::uint64_t hits() const;

 private:
  struct Entry {
    BucketKey key;
    std::int64_t cost = 0;
    TimePoint until;    // a take of `cost` is denied before this …
    TimePoint trusted;  // … but the entry itself is not believed after this
    TimePoint reset_at;
    std::int64_t remaining = 0;
    std::int64_t limit = 0;
    std::int64_t burst = 0;
    std::int64_t queue = 0;
    Duration window{0};
  };
  Entry& entry_of(const BucketKey& key) { return entries_[key.low & (kEntries - 1)]; }

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // guarded by mutex_
  std::uint64_t hits_ = 0;      // guarded by mutex_
};

}  // namespace weir::engine
