// HeldSlice: what this node may spend of one account without asking, and who waits for more of it. SliceTable: all of
// them, in shards with a lock each.
//
// Units move like this; the ledger has all of them as held by the node:
//
//   left ── take ──► pending ── confirm ──► spent ── log ──► in the usage log, and then used
//     ◄── put back ──┘
//
// A slice belongs to one period and one epoch of the node. When either ends it is retired: no one takes from it any
// more, and it stays until nothing of it is pending.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ledger/account.h"
#include "weir/bucket_key.h"
#include "weir/quotas.h"

namespace weir::ledger {

class LeasedCall;

struct HeldSlice {
  BucketKey key;
  std::size_t shard = 0;
  std::int64_t epoch = 0;
  Quota quota;
  Terms terms;
  // What the terms were made for: the charge's limit and rules, and the directory (LedgerGate::tenants_changed()).
  std::int64_t asked_limit = 0;
  TimePoint asked_since{};
  std::uint64_t tenants_seen = 0;

  // Guarded by the shard's mutex, as are all below.
  std::int64_t left = 0;
  std::int64_t pending = 0;
  std::int64_t spent = 0;    // not in the log yet
  std::int64_t without = 0;  // likewise: admitted while the ledger was unavailable
  TimePoint valid_until{};   // by the node's clock; the ledger lets it expire later

  std::int64_t available = 0;   // in the ledger, when it was last heard of
  std::int64_t takeable = 0;    // with grace
  bool known = false;           // these two are
  TimePoint exhausted_until{};  // until then more than left + takeable is denied without asking

  std::int64_t want = 0;  // how much was asked for last
  std::int64_t used_since_refill = 0;
  TimePoint refilled_at{};
  TimePoint last_used{};
  TimePoint changed_at{};  // its limit
  bool asking = false;     // the ledger is being asked for more
  bool returning = false;
  bool dirty = false;  // in the shard's list
  bool retired = false;
  std::deque<LeasedCall*> waiters;

  bool in_use() const {
    return pending > 0 || spent > 0 || without > 0 || asking || returning || dirty || !waiters.empty();
  }
};

class SliceTable {
 public:
  static constexpr std::size_t kShards = 64;
  struct Hash {
    std::size_t operator()(const BucketKey& key) const { return static_cast<std::size_t>(key.low ^ key.high >> 7U); }
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_map<BucketKey, std::unique_ptr<HeldSlice>, Hash> current;
    std::vector<std::unique_ptr<HeldSlice>> retired;
    std::vector<HeldSlice*> dirty;  // spent something that is not in the log
  };

  std::size_t shard_of(const BucketKey& key) const { return key.high % kShards; }
  Shard& shard(std::size_t index) { return shards_[index]; }
  std::array<Shard, kShards>& all() { return shards_; }

  // With the shard's mutex held.
  static void mark_dirty(Shard& shard, HeldSlice& slice) {
    if (slice.dirty) return;
    slice.dirty = true;
    shard.dirty.push_back(&slice);
  }
  // It takes no part in decisions any more. Returns what is left of it.
  static std::int64_t retire(Shard& shard, const BucketKey& key) {
    const auto found = shard.current.find(key);
    if (found == shard.current.end()) return 0;
    HeldSlice& slice = *found->second;
    slice.retired = true;
    const std::int64_t left = slice.left;
    slice.left = 0;
    shard.retired.push_back(std::move(found->second));
    shard.current.erase(found);
    return left;
  }

 private:
  std::array<Shard, kShards> shards_;
};

}  // namespace weir::ledger
