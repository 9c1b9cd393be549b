// Shard: one of the memory store's tables, and the lock that guards it.
//
// Open addressing with linear probing over 48-byte slots; deletion shifts back, so there are no tombstones. Keys are
// keyed hashes already (no client can choose them to collide), so a key's home is simply `low` scaled to the
// capacity, which may be any number: arrays grow by an eighth and stay well filled.
//
// A small array is on the heap; one of SlotLanes::kSlots or more in the shard's lane (slot_lanes.h), in pieces of
// the same size whose addresses are a fixed step apart.
//
// A bucket with a tail keeps head and tail together in one heap block that the slot points to. So does a bucket with
// reservations: they (algorithms/bucket_holds.h) are the first part of its tail.
//
// What a shard knows about idleness: `no_idle_before_` is a lower bound on every slot's idle moment, so that a full
// shard without anything to forget says so in O(1). `cursor_` walks the slots; a complete walk renews the bound.
//
// Forgetting a bucket must not be noticeable: a call whose clock was read before the bucket became idle, but which
// arrives after it was forgotten, must not find a fresh bucket in a window that it has used up. Hence `floor_us_`:
// time in a shard never runs before the moment at which it last forgot an idle bucket.
//
// Thread-safety: hold lock() for everything except the functions that say otherwise. Slot pointers are good until the
// next insert(), erase() or sweep(), or until the lock is released. Memory belongs to the shard; close() gives it back.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "algorithms/bucket.h"
#include "algorithms/bucket_holds.h"
#include "base/paged_id.h"
#include "stores/memory/memory_budget.h"
#include "stores/memory/slot_lanes.h"
#include "stores/memory/spin_lock.h"
#include "weir/store.h"

namespace weir::memory {

// What a slot's words mean: those of an algorithm, leases (algorithms/lease_bucket.h), one reservation
// (algorithms/reservation_record.h), a page of them (record_page.h), a penalty (algorithms/penalty.h), or different
// values (algorithms/distinct_values.h). The numbers are also those of snapshots.
class SlotKind {
 public:
  static constexpr std::uint8_t kCount = kAlgorithmCount + 5;

  constexpr SlotKind(Algorithm algorithm) : number_(static_cast<std::uint8_t>(algorithm)) {}  // NOLINT: is one
  static constexpr SlotKind leases() { return SlotKind(std::uint8_t{kAlgorithmCount}); }
  // Precondition: number < kCount.
  static constexpr SlotKind of_number(std::uint8_t number) { return SlotKind(number); }
  static constexpr SlotKind record() { return SlotKind(std::uint8_t{kAlgorithmCount + 1}); }
  static constexpr SlotKind penalty() { return SlotKind(std::uint8_t{kAlgorithmCount + 2}); }
  static constexpr SlotKind distinct() { return SlotKind(std::uint8_t{kAlgorithmCount + 3}); }
  static constexpr SlotKind page() { return SlotKind(std::uint8_t{kAlgorithmCount + 4}); }
  static SlotKind of(const Charge& charge) {
    if (charge.value != 0) return distinct();
    if (charge.kind == ChargeKind::bucket) return charge.allowance->algorithm;
    if (charge.kind == ChargeKind::penalty) return penalty();
    if (charge.kind == ChargeKind::lease) return leases();
    return base::is_paged(charge.key) ? page() : record();
  }

  constexpr std::uint8_t number() const { return number_; }
  constexpr bool is_leases() const { return number_ == kAlgorithmCount; }
  constexpr bool is_record() const { return number_ == kAlgorithmCount + 1; }
  constexpr bool is_penalty() const { return number_ == kAlgorithmCount + 2; }
  constexpr bool is_distinct() const { return number_ == kAlgorithmCount + 3; }
  constexpr bool is_page() const { return number_ == kAlgorithmCount + 4; }
  constexpr bool is_bucket() const { return number_ < kAlgorithmCount; }
  // Precondition: is_bucket().
  constexpr Algorithm algorithm() const { return static_cast<Algorithm>(number_); }
  constexpr bool keeps_tail() const {
    return is_leases() || is_distinct() || is_page() || (is_bucket() && algorithms::keeps_tail(algorithm()));
  }
  friend constexpr bool operator==(SlotKind, SlotKind) = default;

 private:
  explicit constexpr SlotKind(std::uint8_t number) : number_(number) {}
  std::uint8_t number_;
};

// A slot keeps the number of its bucket's rule instead of the last bits of the key, so that a bucket that is
// forgotten tells whose it was. The 108 bits of the hash that are left are enough to tell subjects apart.
inline constexpr std::uint64_t kNumberBits = kMaxRuleNumber;
// The bits of BucketKey::high that say which shard it is in.
inline constexpr unsigned kShardShift = 54;
inline constexpr std::uint64_t kShardBits = ~std::uint64_t{0} << kShardShift;
inline bool is_same_bucket(const BucketKey& a, const BucketKey& b) {
  return ((a.high ^ b.high) | ((a.low ^ b.low) & ~kNumberBits)) == 0;
}

// `state_` packs four things: bits 0–3 the kind plus one (0: the slot is empty, as in zeroed memory), bit 4 whether
// the words live in a block, bit 5 whether that has reservations in it, bits 6–63 the moment from which the bucket is
// idle, in microseconds, saturated.
class Slot {
 public:
  static constexpr std::int64_t kLatestIdle = std::numeric_limits<std::int64_t>::max() >> 6;
  static constexpr std::int64_t kEarliestIdle = -kLatestIdle;

  const BucketKey& key() const { return key_; }
  bool empty() const { return state_ == 0; }
  bool holds(SlotKind kind) const { return (state_ & kTagBits) == tag(kind); }
  // The same, with all its words in the slot.
  bool holds_at_home(Algorithm algorithm) const { return (state_ & (kTagBits | kBlockBit)) == tag(algorithm); }
  SlotKind kind() const { return SlotKind::of_number(static_cast<std::uint8_t>((state_ & kTagBits) - 1)); }
  std::int64_t idle_from_us() const { return state_ >> 6; }
  // The rule's; 0: none.
  std::uint32_t number() const { return static_cast<std::uint32_t>(key_.low & kNumberBits); }
  bool idle(std::int64_t now_us) const { return idle_from_us() <= now_us; }

  // Precondition: the algorithm keeps no tail.
  algorithms::Head head() { return algorithms::Head(head_); }
  algorithms::BucketWords words() {
    if (!has_block()) return {head(), {}};
    std::int64_t* const block = this->block();
    return {std::span<std::int64_t, algorithms::kHeadWords>(block, algorithms::kHeadWords),
            whole_tail().subspan(hold_words())};
  }
  bool has_holds() const { return (state_ & kHoldsBit) != 0; }
  // Empty without reservations.
  algorithms::BucketHolds holds() const { return algorithms::BucketHolds(whole_tail().first(hold_words())); }

 private:
  friend class Shard;

  static constexpr std::int64_t kTagBits = 15;
  static constexpr std::int64_t kBlockBit = 16;
  static constexpr std::int64_t kHoldsBit = 32;
  static constexpr std::int64_t kFlags = 63;
  static_assert(SlotKind::kCount < kTagBits, "one more would be read as has_block()");
  static std::int64_t tag(SlotKind kind) { return std::int64_t{kind.number()} + 1; }
  bool has_block() const { return (state_ & kBlockBit) != 0; }
  std::int64_t* block() const { return reinterpret_cast<std::int64_t*>(head_[0]); }
  std::size_t tail_words() const { return static_cast<std::size_t>(head_[1]); }
  // Reservations and the algorithm's own.
  std::span<std::int64_t> whole_tail() const {
    return has_block() ? std::span<std::int64_t>(block() + algorithms::kHeadWords, tail_words())
                       : std::span<std::int64_t>();
  }
  std::size_t hold_words() const {
    return has_holds() ? algorithms::BucketHolds::length_of(whole_tail()[0], tail_words()) : 0;
  }
  void set_idle_from(std::int64_t us) {
    const std::int64_t kept = std::clamp(us, kEarliestIdle, kLatestIdle);
    state_ = kept * (kFlags + 1) + (state_ & kFlags);
  }

  BucketKey key_;
  std::int64_t head_[algorithms::kHeadWords];  // or, with a block: its address and the length of its tail
  std::int64_t state_;
};
static_assert(sizeof(Slot) == SlotLanes::kSlotBytes);

// For an outcome that changed nothing: no wait is longer than until the bucket is idle, because it is fresh from then
// on for every allowance. It matters only where another one charged it.
inline void bound_waits(std::int64_t idle_from_us, std::int64_t now_us, ChargeOutcome& outcome) {
  const Duration idle_in{std::max<std::int64_t>(0, idle_from_us - now_us)};
  outcome.retry_after = std::min(outcome.retry_after, idle_in);
  outcome.reset_after = std::min(outcome.reset_after, idle_in);
}

// One bucket outside of a shard. `tail` refers to words that another object owns, those of reservations first.
struct BucketImage {
  BucketKey key;
  std::uint32_t number = 0;  // of the rule
  SlotKind kind = Algorithm::token_bucket;
  bool has_holds = false;
  std::int64_t idle_from_us = 0;
  std::int64_t head[algorithms::kHeadWords] = {};
  std::span<const std::int64_t> tail;
};

// Buckets copied out of a shard. The tails are in `tails`, one after the other, in the order of the buckets.
struct ShardCopy {
  struct Bucket {
    BucketKey key;
    std::uint32_t number;
    SlotKind kind;
    bool has_holds;
    std::int64_t idle_from_us;
    std::int64_t head[algorithms::kHeadWords];
    std::size_t tail_words;
  };
  std::vector<Bucket> buckets;
  std::vector<std::int64_t> tails;
};

// What has happened in a shard so far.
struct ShardCounters {
  std::uint64_t swept = 0;    // idle buckets forgotten in passing
  std::uint64_t evicted = 0;  // idle buckets forgotten to make room for a newcomer
  std::uint64_t refused = 0;  // charges for which there was no room
  std::uint64_t coarse = 0;   // charges of buckets whose tail could not grow
};

class alignas(64) Shard {
 public:
  SpinLock& lock() { return lock_; }

  // Lets the shard have the lane `index` for its larger arrays. To be called before anything else.
  void use_lane(SlotLanes& lanes, std::size_t index);

  Slot* find(const BucketKey& key) {
    const Array slots = array();
    if (slots.capacity == 0) return nullptr;
    // Ends: an array is never full.
    for (std::size_t i = home(key, slots.capacity); !slots[i].empty(); i = slots.after(i)) {
      if (is_same_bucket(slots[i].key_, key)) return &slots[i];
    }
    return nullptr;
  }

  // Keys that differ only in bits that say nothing of their place: in one shard, from the same home on.
  static bool are_beside(const BucketKey& a, const BucketKey& b) {
    return (((a.high ^ b.high) & kShardBits) | ((a.low ^ b.low) & ~kNumberBits)) == 0;
  }
  // find() for each of these charges, all of which are beside the first: one walk finds them. What is not there stays
  // null.
  void find_beside(std::span<const Charge> charges, Slot** found) {
    const Array slots = array();
    if (slots.capacity == 0) return;
    const std::uint64_t low = charges.front().key.low & ~kNumberBits;
    for (std::size_t i = home(charges.front().key, slots.capacity); !slots[i].empty(); i = slots.after(i)) {
      if ((slots[i].key_.low & ~kNumberBits) != low) continue;
      for (std::size_t k = 0; k < charges.size(); ++k) {
        if (slots[i].key_.high == charges[k].key.high) found[k] = &slots[i];
      }
    }
  }

  // A fresh bucket of the rule with this number. The key must not be there. Makes room by growing, at the bound by
  // forgetting an idle bucket; null when neither is possible. The new slot is pinned.
  Slot* insert(const BucketKey& key, SlotKind kind, std::int64_t now_us, MemoryBudget& budget,
               std::uint32_t number = 0);
  void erase(Slot& slot, MemoryBudget& budget);

  // Makes the bucket fresh, and one of `kind`.
  void renew(Slot& slot, SlotKind kind, MemoryBudget& budget);

  // Appends zeros until the tail has at least `words`; false, and nothing changed, when the bound does not allow it.
  [[nodiscard]] bool grow_tail(Slot& slot, std::size_t words, MemoryBudget& budget);

  // The same for `entries` reservations. Precondition: an algorithm's bucket.
  [[nodiscard]] bool grow_holds(Slot& slot, std::size_t entries, MemoryBudget& budget);
  // Gives back the room for reservations.
  void drop_holds(Slot& slot, MemoryBudget& budget);

  // To be called after each change of a bucket's words.
  void set_idle_from(Slot& slot, std::int64_t us) {
    slot.set_idle_from(us);
    no_idle_before_us_ = std::min(no_idle_before_us_, slot.idle_from_us());
    walk_min_us_ = std::min(walk_min_us_, slot.idle_from_us());
  }
  // A pinned slot is never idle, until set_idle_from() says when it is.
  void pin(Slot& slot) { slot.set_idle_from(Slot::kLatestIdle); }

  // Looks at no more than `slots` slots from where it stopped last, and forgets the idle ones.
  struct Sweep {
    std::size_t examined = 0;
    std::size_t forgotten = 0;
    bool finished = false;  // came to the end, or nothing can be idle: time for another shard
  };
  Sweep sweep(std::int64_t now_us, std::size_t slots, MemoryBudget& budget);
  // Gives memory back when most slots are empty.
  void shrink(MemoryBudget& budget);

  // Puts a bucket from a snapshot in its place. False: no room.
  [[nodiscard]] bool restore(const BucketImage& image, std::int64_t now_us, MemoryBudget& budget);
  void copy_to(ShardCopy& copy);
  void close(MemoryBudget& budget);

  std::int64_t floor_us() const { return floor_us_; }

  // The following need no lock.
  void count_refused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  void count_coarse() { coarse_.fetch_add(1, std::memory_order_relaxed); }
  void prefetch(const BucketKey& key) const {
    // Another thread may be replacing the array. A capacity that does not fit the pointer makes a useless address,
    // and prefetching a useless address does nothing; it is never dereferenced.
    const Array slots = array();
    const std::uintptr_t address = slots.address(home(key, slots.capacity));
    // A shard that is as full as it may be looks at three slots on average.
    constexpr std::size_t kLine = 64;
    __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
    __builtin_prefetch(reinterpret_cast<const void*>(address + kLine), 1);
    __builtin_prefetch(reinterpret_cast<const void*>(address + 2 * kLine), 1);
  }
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  ShardCounters counters() const;

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::size_t kFirstCapacity = 8;
  static constexpr std::size_t kSweptPerInsert = 2;
  static constexpr std::size_t kGrowthShare = 8;  // an array grows by an eighth

  static std::size_t home(const BucketKey& key, std::size_t capacity) {
    return static_cast<std::size_t>(((key.low >> 32) * capacity) >> 32);  // capacity fits in 32 bits
  }

  // Where the slots are. Good for as long as the shard's array is.
  struct Array {
    std::uintptr_t base = 0;
    std::size_t step = SlotLanes::kPieceBytes;  // from one piece to the next
    std::size_t capacity = 0;

    std::uintptr_t address(std::size_t i) const {
      return base + i / SlotLanes::kSlots * step + i % SlotLanes::kSlots * sizeof(Slot);
    }
    Slot& operator[](std::size_t i) const { return *reinterpret_cast<Slot*>(address(i)); }
    std::size_t after(std::size_t i) const { return i + 1 == capacity ? 0 : i + 1; }
    bool in_lane() const { return step != SlotLanes::kPieceBytes; }
    std::size_t layers() const { return in_lane() ? capacity / SlotLanes::kSlots : 0; }
    void put(const Slot& slot) const;
    void zero() const;
  };
  Array array() const {
    return {base_.load(std::memory_order_relaxed), step_.load(std::memory_order_relaxed), capacity()};
  }
  void set_array(const Array& array);
  std::size_t capacity() const { return capacity_.load(std::memory_order_relaxed); }

  Sweep walk(std::int64_t now_us, std::size_t slots, std::size_t enough, MemoryBudget& budget);
  bool room_for_one(std::int64_t now_us, MemoryBudget& budget);
  bool rehash(std::size_t capacity, MemoryBudget::Purpose purpose, MemoryBudget& budget);
  bool resize_in_lane(std::size_t layers, MemoryBudget::Purpose purpose, MemoryBudget& budget);
  bool move_to(const Array& fresh, MemoryBudget& budget);
  bool make_heap_array(std::size_t capacity, MemoryBudget::Purpose purpose, MemoryBudget& budget, Array& fresh);
  void free_array(const Array& array, MemoryBudget& budget);
  void free_block(Slot& slot, MemoryBudget& budget);
  bool resize_block(Slot& slot, std::size_t hold_words, std::size_t tail_words, MemoryBudget& budget);

  SpinLock lock_;
  // Atomic only so that prefetch() and size() may read them without the lock; written under it.
  std::atomic<std::uint32_t> size_{0};
  std::atomic<std::uint32_t> capacity_{0};
  std::atomic<std::uint32_t> step_{SlotLanes::kPieceBytes};
  std::atomic<std::uintptr_t> base_{0};

  // Guarded by lock_.
  std::int64_t floor_us_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t no_idle_before_us_ = kNever;
  std::size_t cursor_ = 0;             // the current walk has yet to look at the slots before it
  std::int64_t walk_min_us_ = kNever;  // earliest idle moment among what the current walk has passed or missed

  // Constant after use_lane().
  SlotLanes* lanes_ = nullptr;  // null: everything on the heap
  std::uintptr_t lane_ = 0;

  std::atomic<std::uint64_t> swept_{0};
  std::atomic<std::uint64_t> evicted_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> coarse_{0};
};
static_assert(sizeof(Shard) == 128);

}  // namespace weir::memory
