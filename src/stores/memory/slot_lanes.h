// SlotLanes: the memory of all shards' larger tables, side by side, so that it can be had in huge pages.
//
// A million buckets in pages of 4 KiB cost a walk through the page tables at nearly every check. A table of one shard
// is far smaller than a huge page, so the tables of all shards share them: the memory is a stack of layers, each layer
// has a piece of kSlots slots for each shard, and a shard's lane is its piece of every layer. Shards are filled evenly
// (keys are hashes), so they need about the same number of layers. A layer is the least that is taken from the budget
// and given back: 6 MiB.
//
//   layer 1 | shard 0, slots 128–255 | shard 1, slots 128–255 | …
//   layer 0 | shard 0, slots   0–127 | shard 1, slots   0–127 | …
//
// Addresses are reserved once and never given back, so a lane's address may be prefetched at any time. A fresh layer is
// all zeros.
//
// Asked for a huge page at once, the system may first move other pages out of the way, which has been seen to take
// 30 ms. So a layer begins with small pages, and when most shards use it a thread has it turned into huge ones. The
// thread ends when there is nothing more to turn; a store that stays small never has one.
//
// Thread-safe, except for the destructor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "stores/memory/memory_budget.h"

namespace weir::memory {

class SlotLanes {
 public:
  static constexpr std::size_t kLanes = 1024;
  static constexpr std::size_t kSlots = 128;  // of one lane in one layer
  static constexpr std::size_t kSlotBytes = 48;
  static constexpr std::size_t kPieceBytes = kSlots * kSlotBytes;
  static constexpr std::size_t kLayerBytes = kLanes * kPieceBytes;

  // Reserves addresses for as many layers as fit in max_bytes, and no memory.
  explicit SlotLanes(std::size_t max_bytes);
  ~SlotLanes();
  SlotLanes(const SlotLanes&) = delete;
  SlotLanes& operator=(const SlotLanes&) = delete;

  // The piece of layer 0; the piece of the next layer is kLayerBytes further. Null when there is no room for a layer.
  std::byte* lane(std::size_t index) const { return base_ == nullptr ? nullptr : base_ + index * kPieceBytes; }

  // One more user for the layers from `first` up to, not including, `end`. False, and nothing changed: the budget, the
  // addresses or the system have no room for them.
  [[nodiscard]] bool open(std::size_t first, std::size_t end, MemoryBudget::Purpose purpose, MemoryBudget& budget);
  // One user less. The memory of an unused layer is kept until trim(). Precondition: the user's pieces are all
  // zeros.
  void close(std::size_t first, std::size_t end);
  // Gives at most `most` unused layers back to the system and the budget: about 0.1 ms each.
  void trim(std::size_t most, MemoryBudget& budget);

  // To be called now and then, without any lock: begins to turn layers into huge pages if there are any to turn.
  void turn_into_huge_pages() {
    if (turn_wanted_.load(std::memory_order_relaxed)) [[unlikely]]
      start_turning();
  }
  // For tests: waits until there is nothing to turn.
  void wait_until_turned();

 private:
  struct Layer {
    std::uint32_t users = 0;
    bool resident = false;  // paid for
    bool turned = false;    // into huge pages, or that was tried
  };

  bool open_one(Layer& layer, MemoryBudget::Purpose purpose, MemoryBudget& budget);
  std::byte* address_of(const Layer& layer) const;
  void start_turning();
  void turn_all();
  Layer* next_to_turn();

  std::size_t reserved_bytes_ = 0;
  void* reserved_ = nullptr;
  std::byte* base_ = nullptr;  // aligned to a huge page

  std::atomic<bool> turn_wanted_{false};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::vector<Layer> layers_;  // guarded by mutex_
  bool turning_ = false;       // guarded by mutex_
  std::thread turner_;         // guarded by mutex_
};

}  // namespace weir::memory
