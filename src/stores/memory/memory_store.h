// MemoryStore: buckets in this process. The default store; needs nothing else.
//
// Every call is answered before begin() returns. Thread-safe: any method from any thread. A call locks the shards of
// its buckets in ascending order, so that a call over several buckets is atomic against all others and no two calls
// can wait for each other.
//
// Memory never exceeds MemoryOptions::max_bytes. At that bound a newcomer takes the place of a bucket of its shard that
// is idle (equal to a fresh one), or memory that idle buckets of other shards leave; else it is refused with
// Code::resource_exhausted and nothing of its call is charged. A refused charge that is not binding is left out and
// holds back no other. A bucket that still restricts is never given up, and its subject is no newcomer: if its tail
// should grow and cannot, it is charged in the room that it has and counts more coarsely (algorithms/bucket.h).
//
// A rule with Charge::max_subjects has no more buckets than that, except one that newcomers share, and those that it
// had before it had the bound.
//
//   weir::memory::MemoryStore store({.max_bytes = 64 << 20});
//   ... every 10 ms or so: store.sweep(clock.now(), 8'192);  // about 0.1 ms
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/sliding_log.h"
#include "stores/memory/memory_budget.h"
#include "stores/memory/shard.h"
#include "weir/options.h"
#include "weir/store.h"

namespace weir::memory {

struct MemoryStats {
  std::size_t keys = 0;
  std::size_t bytes = 0;
  std::size_t max_bytes = 0;
  std::uint64_t swept = 0;              // idle buckets forgotten in passing
  std::uint64_t evicted_idle = 0;       // idle buckets forgotten to make room for a newcomer
  std::uint64_t refused_newcomers = 0;  // charges for which there was no room
  std::uint64_t coarse_charges = 0;     // charges of buckets that could not grow, see Transaction::grow_tail
};

class MemoryStore final : public Store {
 public:
  static constexpr std::size_t kShards = SlotLanes::kLanes;

  // max_bytes includes the shards' own 128 KiB.
  explicit MemoryStore(const MemoryOptions& options = {});
  ~MemoryStore() override;
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  bool begin(StoreCall& call) override;
  void prefetch(std::span<const Charge> charges) override;
  bool holds_reservations() const override { return true; }
  bool immediate() const override { return true; }
  std::string_view name() const override { return "memory"; }

  // Forgets idle buckets. Looks at no more than `slots` slots, from where the last sweep stopped, and holds one shard's
  // lock for a short stretch at a time. Returns how many buckets it has forgotten.
  std::size_t sweep(TimePoint now, std::size_t slots);
  // Forgets every bucket.
  void clear();

  // Cheap enough for every scrape; not one moment's picture while calls are running.
  MemoryStats stats() const;

  // What a charge's bucket holds, for people who look into the store; none: there is no bucket, or it is idle. `now` as
  // in StoreCall. Not for leases, which Action::list lists.
  struct BucketView {
    ChargeOutcome standing;  // as for a cost of 0
    TimePoint last_change;
    TimePoint idle_from;
    std::vector<algorithms::LogEntry> entries;  // of a sliding log: those that count
  };
  std::optional<BucketView> look(const Charge& charge, TimePoint now);

  // How many buckets each rule has, by Charge::number. Thread-safe.
  const SubjectCounts& subjects() const { return budget_.subjects(); }
  // What a rule is called that has buckets in a snapshot.
  void name_rule(std::uint32_t number, std::string_view rule) { budget_.subjects().name(number, rule); }

  // For snapshots. Precondition: shard < kShards. copy_shard() appends.
  void copy_shard(std::size_t shard, ShardCopy& copy);
  [[nodiscard]] bool restore(const BucketImage& image, TimePoint now);

 private:
  Shard& shard_of(const BucketKey& key) { return shards_[shard_index(key)]; }
  static std::size_t shard_index(const BucketKey& key) { return static_cast<std::size_t>(key.high >> kShardShift); }
  static_assert(kShards == std::size_t{1} << (64 - kShardShift));

  bool begin_ahead(const StoreCall& call);
  bool begin_transaction(StoreCall& call);
  bool take_at_home(StoreCall& call);
  bool take_one(StoreCall& call);
  bool take_accompanied(StoreCall& call);
  bool take_together(StoreCall& call);
  bool use_hold(StoreCall& call) { return call.hold->reservation ? use_one_reservation(call) : use_one_lease(call); }
  // Leases (memory_store_leases.cc).
  bool use_one_lease(StoreCall& call);
  // Reservations (memory_store_reservations.cc).
  bool use_one_reservation(StoreCall& call);
  bool restore_record(Shard& shard, const BucketImage& image, TimePoint now);
  static Slot* find_at_home(Shard& shard, const Charge& charge, TimePoint now);
  static void take_from(Shard& shard, Slot& slot, const Charge& charge, TimePoint now, ChargeOutcome& outcome);
  static void take_from_idle(Shard& shard, Slot& slot, const Charge& charge, TimePoint now, ChargeOutcome& outcome);
  bool attempt(StoreCall& call);
  bool relieve(TimePoint now);
  void count_refused(const StoreCall& call);

  // The distinct shards of a call, ascending; locked while it lives.
  class LockedShards;

  MemoryBudget budget_;
  SlotLanes lanes_;
  const std::unique_ptr<Shard[]> shards_;
  std::atomic<std::size_t> sweeping_{0};  // the shard at which the next sweep goes on
  std::atomic<std::int64_t> relieved_us_{std::numeric_limits<std::int64_t>::min() / 2};
};

}  // namespace weir::memory
