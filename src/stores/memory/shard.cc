#include "stores/memory/shard.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace weir::stores {
namespace {

// Up to 4/5 full a probe stays short. At the bound, where the array cannot grow, it may fill up to 9/10.
bool comfortable(std::size_t size, std::size_t capacity) { return size * 5 <= capacity * 4; }
bool possible(std::size_t size, std::size_t capacity) { return size * 10 <= capacity * 9; }

// Large arrays get pages of their own: these come zeroed, go back to the system at once, and leave no holes in the
// heap for every capacity that a shard has grown through. (A heap that trims itself stops everyone for milliseconds.)
constexpr std::size_t kMappedBytes = std::size_t{48} << 10;
constexpr std::size_t kPage = 4096;

std::size_t array_bytes(std::size_t capacity) {
  const std::size_t bytes = capacity * sizeof(Slot);
  return bytes < kMappedBytes ? heap_bytes(bytes) : (bytes + kPage - 1) / kPage * kPage;
}

Slot* allocate_array(std::size_t capacity) {
  const std::size_t bytes = capacity * sizeof(Slot);
  if (bytes < kMappedBytes) return static_cast<Slot*>(std::calloc(capacity, sizeof(Slot)));
  void* const pages =
      ::mmap(nullptr, array_bytes(capacity), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<Slot*>(pages);
}

void release_array(Slot* array, std::size_t capacity) {
  if (capacity * sizeof(Slot) < kMappedBytes) {
    std::free(array);
  } else {
    ::munmap(array, array_bytes(capacity));
  }
}

std::size_t block_bytes(std::size_t tail_words) {
  return heap_bytes((algorithms::kHeadWords + tail_words) * sizeof(std::int64_t));
}

}  // namespace

void Slot::set_idle_from(std::int64_t us) {
  const std::int64_t kept = std::clamp(us, kEarliestIdle, kLatestIdle);
  state_ = kept * 16 + (state_ & 15);
}

Slot* Shard::find(const BucketKey& key) {
  const std::size_t capacity = this->capacity();
  if (capacity == 0) return nullptr;
  Slot* const slots = this->slots();
  // Ends: an array is never full.
  for (std::size_t i = home(key, capacity); !slots[i].empty(); i = i + 1 == capacity ? 0 : i + 1) {
    if (slots[i].key_ == key) return &slots[i];
  }
  return nullptr;
}

Slot* Shard::insert(const BucketKey& key, Algorithm algorithm, std::int64_t now_us, MemoryBudget& budget) {
  // Each newcomer pays for looking at two others: a shard that gains buckets also finds those it can forget.
  sweep(now_us, kSweptPerInsert, budget);
  if (!room_for_one(now_us, budget)) return nullptr;
  const std::size_t capacity = this->capacity();
  Slot* const slots = this->slots();
  std::size_t i = home(key, capacity);
  while (!slots[i].empty()) i = i + 1 == capacity ? 0 : i + 1;
  slots[i] = Slot{};
  slots[i].key_ = key;
  slots[i].state_ = Slot::tag(algorithm);
  pin(slots[i]);
  size_.fetch_add(1, std::memory_order_relaxed);
  return &slots[i];
}

bool Shard::room_for_one(std::int64_t now_us, MemoryBudget& budget) {
  const std::size_t wanted = size() + 1;
  const std::size_t capacity = this->capacity();
  if (comfortable(wanted, capacity)) return true;
  const std::size_t larger = capacity + std::max(capacity / 4, kFirstCapacity);
  if (rehash(larger, MemoryBudget::Purpose::grow, budget)) return true;
  if (possible(wanted, capacity)) return true;
  std::size_t forgotten = walk(now_us, capacity, 1, budget).forgotten;
  if (forgotten == 0) forgotten = walk(now_us, capacity, 1, budget).forgotten;  // what the cursor had passed
  evicted_.fetch_add(forgotten, std::memory_order_relaxed);
  return forgotten > 0;
}

void Shard::erase(Slot& slot, MemoryBudget& budget) {
  free_block(slot, budget);
  Slot* const slots = this->slots();
  const std::size_t capacity = this->capacity();
  auto distance = [capacity](std::size_t from, std::size_t to) {
    return to >= from ? to - from : to + capacity - from;
  };
  std::size_t hole = static_cast<std::size_t>(&slot - slots);
  std::size_t i = hole;
  while (true) {
    i = i + 1 == capacity ? 0 : i + 1;
    if (slots[i].empty()) break;
    // A slot may move back into the hole unless that would put it before its home.
    if (distance(home(slots[i].key_, capacity), i) < distance(hole, i)) continue;
    slots[hole] = slots[i];
    // A move from the array's beginning to its end carries it past the cursor, where the current walk would miss it.
    walk_min_us_ = std::min(walk_min_us_, slots[hole].idle_from_us());
    hole = i;
  }
  slots[hole].state_ = 0;
  size_.fetch_sub(1, std::memory_order_relaxed);
}

void Shard::renew(Slot& slot, Algorithm algorithm, MemoryBudget& budget) {
  free_block(slot, budget);
  std::fill(std::begin(slot.head_), std::end(slot.head_), 0);
  slot.state_ = (slot.state_ & ~std::int64_t{7}) | Slot::tag(algorithm);
}

bool Shard::grow_tail(Slot& slot, std::size_t words, MemoryBudget& budget) {
  const algorithms::BucketWords old = slot.words();
  if (old.tail.size() >= words) return true;
  if (!budget.reserve(block_bytes(words))) return false;
  auto* const block = static_cast<std::int64_t*>(std::calloc(algorithms::kHeadWords + words, sizeof(std::int64_t)));
  if (block == nullptr) {
    budget.release(block_bytes(words));
    return false;
  }
  std::copy(old.head.begin(), old.head.end(), block);
  std::copy(old.tail.begin(), old.tail.end(), block + algorithms::kHeadWords);
  free_block(slot, budget);
  slot.head_[0] = reinterpret_cast<std::int64_t>(block);
  slot.head_[1] = static_cast<std::int64_t>(words);
  slot.state_ |= 8;
  return true;
}

void Shard::free_block(Slot& slot, MemoryBudget& budget) {
  if (!slot.has_block()) return;
  const std::size_t bytes = block_bytes(slot.tail_words());
  std::free(slot.block());
  budget.release(bytes);
  slot.state_ &= ~std::int64_t{8};
}

void Shard::note_idle_from(std::int64_t us) {
  no_idle_before_us_ = std::min(no_idle_before_us_, us);
  walk_min_us_ = std::min(walk_min_us_, us);
}

void Shard::set_idle_from(Slot& slot, std::int64_t us) {
  slot.set_idle_from(us);
  note_idle_from(slot.idle_from_us());
}

Shard::Sweep Shard::sweep(std::int64_t now_us, std::size_t slots, MemoryBudget& budget) {
  const Sweep result = walk(now_us, slots, slots, budget);
  if (result.forgotten > 0) swept_.fetch_add(result.forgotten, std::memory_order_relaxed);
  return result;
}

// Walks from the last slot to the first, so that a slot behind which nothing is left is erased without moving anything.
// Stops when the first slot is passed, also when it began in the middle: whoever sweeps many shards must get on.
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
  Slot* const array = this->slots();
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
    free_array(budget);
  } else if (capacity > 2 * kFirstCapacity) {
    // When memory is short this fails and the shard stays as it is; a later sweep tries again.
    (void)rehash(size + size / 2 + kFirstCapacity / 2, MemoryBudget::Purpose::shrink, budget);
  }
}

bool Shard::rehash(std::size_t capacity, MemoryBudget::Purpose purpose, MemoryBudget& budget) {
  if (capacity > std::numeric_limits<std::uint32_t>::max()) return false;
  if (!budget.reserve(array_bytes(capacity), purpose)) return false;
  Slot* const fresh = allocate_array(capacity);
  if (fresh == nullptr) {
    budget.release(array_bytes(capacity));
    return false;
  }
  Slot* const old = slots();
  const std::size_t old_capacity = this->capacity();
  for (std::size_t from = 0; from < old_capacity; ++from) {
    if (old[from].empty()) continue;
    std::size_t i = home(old[from].key_, capacity);
    while (!fresh[i].empty()) i = i + 1 == capacity ? 0 : i + 1;
    fresh[i] = old[from];
  }
  free_array(budget);
  slots_.store(fresh, std::memory_order_relaxed);
  capacity_.store(static_cast<std::uint32_t>(capacity), std::memory_order_relaxed);
  return true;
}

void Shard::free_array(MemoryBudget& budget) {
  if (capacity() > 0) {
    release_array(slots(), capacity());
    budget.release(array_bytes(capacity()));
  }
  slots_.store(nullptr, std::memory_order_relaxed);
  capacity_.store(0, std::memory_order_relaxed);
  cursor_ = 0;
}

bool Shard::restore(const BucketImage& image, std::int64_t now_us, MemoryBudget& budget) {
  Slot* slot = find(image.key);
  if (slot == nullptr) slot = insert(image.key, image.algorithm, now_us, budget);
  if (slot == nullptr) return false;
  renew(*slot, image.algorithm, budget);
  if (!grow_tail(*slot, image.tail.size(), budget)) {
    erase(*slot, budget);
    return false;
  }
  const algorithms::BucketWords words = slot->words();
  std::copy(std::begin(image.head), std::end(image.head), words.head.begin());
  std::copy(image.tail.begin(), image.tail.end(), words.tail.begin());
  set_idle_from(*slot, image.idle_from_us);
  return true;
}

void Shard::copy_to(ShardCopy& copy) {
  Slot* const array = slots();
  for (std::size_t i = 0; i < capacity(); ++i) {
    if (array[i].empty()) continue;
    const algorithms::BucketWords words = array[i].words();
    ShardCopy::Bucket bucket{array[i].key_, array[i].algorithm(), array[i].idle_from_us(), {}, words.tail.size()};
    std::copy(words.head.begin(), words.head.end(), bucket.head);
    copy.buckets.push_back(bucket);
    copy.tails.insert(copy.tails.end(), words.tail.begin(), words.tail.end());
  }
}

void Shard::close(MemoryBudget& budget) {
  Slot* const array = slots();
  for (std::size_t i = 0; i < capacity(); ++i) {
    if (!array[i].empty()) free_block(array[i], budget);
  }
  free_array(budget);
  size_.store(0, std::memory_order_relaxed);
  no_idle_before_us_ = kNever;
}

ShardCounters Shard::counters() const {
  return {swept_.load(std::memory_order_relaxed), evicted_.load(std::memory_order_relaxed),
          refused_.load(std::memory_order_relaxed)};
}

void Shard::prefetch(const BucketKey& key) const {
  // Another thread may be replacing the array. A capacity that does not fit the pointer makes a useless address,
  // and prefetching a useless address does nothing; it is never dereferenced.
  const std::size_t capacity = this->capacity();
  const auto base = reinterpret_cast<std::uintptr_t>(slots());
  const std::uintptr_t address = base + home(key, capacity) * sizeof(Slot);
  __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
  __builtin_prefetch(reinterpret_cast<const void*>(address + sizeof(Slot)), 1);
}

}  // namespace weir::stores
