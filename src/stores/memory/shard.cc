#include "stores/memory/shard.h"

#include <algorithm>
#include <cstdlib>

namespace weir::memory {
namespace {

// Up to 4/5 full a probe stays short. At the bound, where the array cannot grow, it may fill up to 9/10.
bool comfortable(std::size_t size, std::size_t capacity) { return size * 5 <= capacity * 4; }
bool possible(std::size_t size, std::size_t capacity) { return size * 10 <= capacity * 9; }

std::size_t heap_array_bytes(std::size_t capacity) { return heap_bytes(capacity * sizeof(Slot)); }

// Rounded up, but what grows by a little grows by one layer only: others may need no more than that.
std::size_t layers_for(std::size_t capacity, std::size_t now) {
  const std::size_t enough = (capacity + SlotLanes::kSlots - 1) / SlotLanes::kSlots;
  return now == 0 || enough <= now + 1 ? enough : std::max(capacity / SlotLanes::kSlots, now + 1);
}

constexpr std::size_t kSmallBlock = 64;  // words

std::size_t block_bytes(std::size_t tail_words) {
  return heap_bytes((algorithms::kHeadWords + tail_words) * sizeof(std::int64_t));
}

}  // namespace

Slot* Shard::insert(const BucketKey& key, SlotKind kind, std::int64_t now_us, MemoryBudget& budget,
                    std::uint32_t number) {
  // Each newcomer pays for looking at two others: a shard that gains buckets also finds those it can forget.
  sweep(now_us, kSweptPerInsert, budget);
  if (!room_for_one(now_us, budget)) return nullptr;
  const Array slots = array();
  std::size_t i = home(key, slots.capacity);
  while (!slots[i].empty()) i = slots.after(i);
  slots[i] = Slot{};
  slots[i].key_ = {key.high, (key.low & ~kNumberBits) | number};
  if (number != 0) budget.subjects().add(number);
  slots[i].state_ = Slot::tag(kind);
  pin(slots[i]);
  size_.fetch_add(1, std::memory_order_relaxed);
  return &slots[i];
}

bool Shard::room_for_one(std::int64_t now_us, MemoryBudget& budget) {
  const std::size_t wanted = size() + 1;
  const std::size_t capacity = this->capacity();
  if (comfortable(wanted, capacity)) return true;
  if (rehash(capacity + std::max(capacity / kGrowthShare, kFirstCapacity), MemoryBudget::Purpose::grow, budget))
    return true;
  if (possible(wanted, capacity)) return true;
  std::size_t forgotten = walk(now_us, capacity, 1, budget).forgotten;
  if (forgotten == 0) forgotten = walk(now_us, capacity, 1, budget).forgotten;  // what the cursor had passed
  evicted_.fetch_add(forgotten, std::memory_order_relaxed);
  return forgotten > 0;
}

void Shard::erase(Slot& slot, MemoryBudget& budget) {
  free_block(slot, budget);
  if (slot.number() != 0) budget.subjects().remove(slot.number());
  const Array slots = array();
  auto distance = [&slots](std::size_t from, std::size_t to) {
    return to >= from ? to - from : to + slots.capacity - from;
  };
  std::size_t hole = home(slot.key_, slots.capacity);
  while (&slots[hole] != &slot) hole = slots.after(hole);
  std::size_t i = hole;
  while (true) {
    i = slots.after(i);
    if (slots[i].empty()) break;
    // A slot may move back into the hole unless that would put it before its home.
    if (distance(home(slots[i].key_, slots.capacity), i) < distance(hole, i)) continue;
    slots[hole] = slots[i];
    // A move from the array's beginning to its end carries it past the cursor, where the current walk would miss it.
    walk_min_us_ = std::min(walk_min_us_, slots[hole].idle_from_us());
    hole = i;
  }
  slots[hole] = Slot{};
  size_.fetch_sub(1, std::memory_order_relaxed);
}

void Shard::renew(Slot& slot, SlotKind kind, MemoryBudget& budget) {
  free_block(slot, budget);
  std::fill(std::begin(slot.head_), std::end(slot.head_), 0);
  slot.state_ = (slot.state_ & ~Slot::kTagBits) | Slot::tag(kind);
}

bool Shard::grow_tail(Slot& slot, std::size_t words, MemoryBudget& budget) {
  if (slot.words().tail.size() >= words) return true;
  return resize_block(slot, slot.hold_words(), words, budget);
}

bool Shard::grow_holds(Slot& slot, std::size_t entries, MemoryBudget& budget) {
  if (slot.holds().room() >= entries) return true;
  return resize_block(slot, algorithms::BucketHolds::words_for(entries), slot.words().tail.size(), budget);
}

void Shard::drop_holds(Slot& slot, MemoryBudget& budget) {
  if (!slot.has_holds()) return;
  const algorithms::BucketWords words = slot.words();
  if (!words.tail.empty()) {
    // When memory is short it keeps the room.
    (void)resize_block(slot, 0, words.tail.size(), budget);
    return;
  }
  std::int64_t head[algorithms::kHeadWords];
  std::copy(words.head.begin(), words.head.end(), head);
  free_block(slot, budget);
  std::copy(std::begin(head), std::end(head), slot.head_);
}

// A block with room for so many words, and what was in the old one.
bool Shard::resize_block(Slot& slot, std::size_t hold_words, std::size_t tail_words, MemoryBudget& budget) {
  using algorithms::BucketHolds;
  const algorithms::BucketWords old = slot.words();
  const std::span<std::int64_t> old_holds = slot.whole_tail().first(slot.hold_words());
  const std::size_t words = hold_words + tail_words;
  if (!budget.reserve(block_bytes(words))) return false;
  const std::size_t all = algorithms::kHeadWords + words;
  // Of small blocks the heap has some at hand, but not for calloc.
  const bool small = all <= kSmallBlock;
  auto* const block = static_cast<std::int64_t*>(small ? std::malloc(all * sizeof(std::int64_t))
                                                       : std::calloc(all, sizeof(std::int64_t)));
  if (block == nullptr) {
    budget.release(block_bytes(words));
    return false;
  }
  if (small) std::fill_n(block, all, 0);
  const std::span<std::int64_t> holds(block + algorithms::kHeadWords, hold_words);
  std::copy(old.head.begin(), old.head.end(), block);
  std::copy_n(old.tail.begin(), std::min(old.tail.size(), tail_words), holds.data() + hold_words);
  if (hold_words > 0) {
    BucketHolds::begin(holds);
    if (!old_holds.empty()) BucketHolds(holds).copy_from(BucketHolds(old_holds));
  }
  free_block(slot, budget);
  slot.head_[0] = reinterpret_cast<std::int64_t>(block);
  slot.head_[1] = static_cast<std::int64_t>(words);
  slot.state_ |= Slot::kBlockBit | (hold_words > 0 ? Slot::kHoldsBit : 0);
  return true;
}

void Shard::free_block(Slot& slot, MemoryBudget& budget) {
  if (!slot.has_block()) return;
  const std::size_t bytes = block_bytes(slot.tail_words());
  std::free(slot.block());
  budget.release(bytes);
  slot.state_ &= ~(Slot::kBlockBit | Slot::kHoldsBit);
}

Shard::Sweep Shard::sweep(std::int64_t now_us, std::size_t slots, MemoryBudget& budget) {
  const Sweep result = walk(now_us, slots, slots, budget);
  if (result.forgotten > 0) swept_.fetch_add(result.forgotten, std::memory_order_relaxed);
  return result;
}

// Walks from the last slot to the first, so that a slot behind which nothing is left is erased without moving anything.
// Stops when the first slot is passed, also when it began in the middle: a sweep over many shards must move on.
Shard::Sweep Shard::walk(std::int64_t now_us, std::size_t slots, std::size_t enough, MemoryBudget& budget) {
  Sweep result;
  if (no_idle_before_us_ > now_us || capacity() == 0) {
    result.finished = true;
    return result;
  }
  if (cursor_ == 0) {
    cursor_ = capacity();
    walk_min_us_ = kNever;
  }
  const Array array = this->array();
  while (result.examined < slots && result.forgotten < enough && cursor_ > 0) {
    ++result.examined;
    Slot& slot = array[--cursor_];
    if (slot.empty()) continue;
    if (slot.idle(now_us)) {
      erase(slot, budget);
      if (!slot.empty()) ++cursor_;  // what has moved in may come from the array's beginning, and be idle
      floor_us_ = std::max(floor_us_, now_us);
      ++result.forgotten;
    } else {
      walk_min_us_ = std::min(walk_min_us_, slot.idle_from_us());
    }
  }
  if (cursor_ == 0) {
    no_idle_before_us_ = walk_min_us_;
    result.finished = true;
  }
  return result;
}

void Shard::shrink(MemoryBudget& budget) {
  const std::size_t size = this->size();
  const std::size_t capacity = this->capacity();
  if (capacity == 0 || size * 4 > capacity) return;
  if (size == 0) {
    const Array old = array();
    set_array({});
    free_array(old, budget);
  } else if (capacity > 2 * kFirstCapacity) {
    // When memory is short this fails and the shard stays as it is; a later sweep tries again.
    (void)rehash(size + size / 2 + kFirstCapacity / 2, MemoryBudget::Purpose::shrink, budget);
  }
}

void Shard::use_lane(SlotLanes& lanes, std::size_t index) {
  lanes_ = &lanes;
  lane_ = reinterpret_cast<std::uintptr_t>(lanes.lane(index));
}

// Buckets keep their order when they move to another array, so a walk goes on where it was. Some may pass the cursor;
// the bound that holds for all of them now sees to it that the walk's result holds for those.
void Shard::set_array(const Array& array) {
  cursor_ = capacity() == 0 ? 0 : cursor_ * array.capacity / capacity();
  walk_min_us_ = std::min(walk_min_us_, no_idle_before_us_);
  base_.store(array.base, std::memory_order_relaxed);
  step_.store(static_cast<std::uint32_t>(array.step), std::memory_order_relaxed);
  capacity_.store(static_cast<std::uint32_t>(array.capacity), std::memory_order_relaxed);
}

void Shard::Array::put(const Slot& slot) const {
  std::size_t i = home(slot.key_, capacity);
  while (!(*this)[i].empty()) i = after(i);
  (*this)[i] = slot;
}

void Shard::Array::zero() const {
  for (std::size_t i = 0; i < capacity; i += SlotLanes::kSlots) {
    std::fill_n(&(*this)[i], std::min(capacity - i, SlotLanes::kSlots), Slot{});
  }
}

// Moves the buckets to an array of about `capacity`. False: no memory for it, and nothing has changed.
bool Shard::rehash(std::size_t capacity, MemoryBudget::Purpose purpose, MemoryBudget& budget) {
  if (capacity > std::numeric_limits<std::uint32_t>::max() / 2) return false;
  const Array old = array();
  Array fresh;
  if (lanes_ != nullptr && capacity >= SlotLanes::kSlots) {
    const std::size_t layers = layers_for(capacity, old.layers());
    if (old.in_lane()) return resize_in_lane(layers, purpose, budget);
    if (lanes_->open(0, layers, purpose, budget)) {
      fresh = {lane_, SlotLanes::kLayerBytes, layers * SlotLanes::kSlots};
    }
  }
  // A shard whose lane cannot grow has the heap, as far as the budget goes.
  if (fresh.capacity == 0 && !make_heap_array(capacity, purpose, budget, fresh)) return false;
  for (std::size_t from = 0; from < old.capacity; ++from) {
    if (!old[from].empty()) fresh.put(old[from]);
  }
  set_array(fresh);
  free_array(old, budget);
  return true;
}

bool Shard::make_heap_array(std::size_t capacity, MemoryBudget::Purpose purpose, MemoryBudget& budget, Array& fresh) {
  if (!budget.reserve(heap_array_bytes(capacity), purpose)) return false;
  void* const slots = std::calloc(capacity, sizeof(Slot));
  if (slots == nullptr) {
    budget.release(heap_array_bytes(capacity));
    return false;
  }
  fresh = {reinterpret_cast<std::uintptr_t>(slots), SlotLanes::kPieceBytes, capacity};
  return true;
}

// The array stays where it is and every bucket finds a new place in it, by way of a copy.
bool Shard::resize_in_lane(std::size_t layers, MemoryBudget::Purpose purpose, MemoryBudget& budget) {
  const Array old = array();
  Array copy;
  if (!make_heap_array(std::max(size(), kFirstCapacity), purpose, budget, copy)) return false;
  if (layers > old.layers() && !lanes_->open(old.layers(), layers, purpose, budget)) {
    free_array(copy, budget);
    return false;
  }
  std::size_t copied = 0;
  for (std::size_t i = 0; i < old.capacity; ++i) {
    if (!old[i].empty()) copy[copied++] = old[i];
  }
  old.zero();
  const Array fresh{lane_, SlotLanes::kLayerBytes, layers * SlotLanes::kSlots};
  for (std::size_t i = 0; i < copied; ++i) fresh.put(copy[i]);
  set_array(fresh);
  if (layers < old.layers()) lanes_->close(layers, old.layers());
  free_array(copy, budget);
  return true;
}

void Shard::free_array(const Array& array, MemoryBudget& budget) {
  if (array.capacity == 0) return;
  if (array.in_lane()) {
    array.zero();
    lanes_->close(0, array.layers());
  } else {
    std::free(&array[0]);
    budget.release(heap_array_bytes(array.capacity));
  }
}

bool Shard::restore(const BucketImage& image, std::int64_t now_us, MemoryBudget& budget) {
  Slot* slot = find(image.key);
  if (slot == nullptr) slot = insert(image.key, image.kind, now_us, budget, image.number);
  if (slot == nullptr) return false;
  renew(*slot, image.kind, budget);
  if (!grow_tail(*slot, image.tail.size(), budget)) {
    erase(*slot, budget);
    return false;
  }
  const algorithms::BucketWords words = slot->words();
  std::copy(std::begin(image.head), std::end(image.head), words.head.begin());
  std::copy(image.tail.begin(), image.tail.end(), words.tail.begin());
  if (image.has_holds) slot->state_ |= Slot::kHoldsBit;
  set_idle_from(*slot, image.idle_from_us);
  return true;
}

void Shard::copy_to(ShardCopy& copy) {
  const Array array = this->array();
  for (std::size_t i = 0; i < array.capacity; ++i) {
    if (array[i].empty()) continue;
    const algorithms::BucketWords words = array[i].words();
    const std::span<const std::int64_t> tail = array[i].whole_tail();
    ShardCopy::Bucket bucket{array[i].key_,        array[i].number(),       array[i].kind(),
                             array[i].has_holds(), array[i].idle_from_us(), {},
                             tail.size()};
    std::copy(words.head.begin(), words.head.end(), bucket.head);
    copy.buckets.push_back(bucket);
    copy.tails.insert(copy.tails.end(), tail.begin(), tail.end());
  }
}

void Shard::close(MemoryBudget& budget) {
  const Array array = this->array();
  for (std::size_t i = 0; i < array.capacity; ++i) {
    if (array[i].empty()) continue;
    free_block(array[i], budget);
    if (array[i].number() != 0) budget.subjects().remove(array[i].number());
  }
  set_array({});
  free_array(array, budget);
  size_.store(0, std::memory_order_relaxed);
  no_idle_before_us_ = kNever;
}

ShardCounters Shard::counters() const {
  return {swept_.load(std::memory_order_relaxed), evicted_.load(std::memory_order_relaxed),
          refused_.load(std::memory_order_relaxed), coarse_.load(std::memory_order_relaxed)};
}

}  // namespace weir::memory
