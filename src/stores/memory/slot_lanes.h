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
// all zeros. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "stores/memory/memory_budget.h"

namespace weir::stores {

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

  // The piece of layer 0; the piece of the next layer is kLayerBytes further.
  std::byte* lane(std::size_t index) const { return base_ + index * kPieceBytes; }

  // One more user for the layers from `first` up to, not including, `end`. False, and nothing changed: the budget, the
  // addresses or the system have no room for them.
  [[nodiscard]] bool open(std::size_t first, std::size_t end, MemoryBudget::Purpose purpose, MemoryBudget& budget);
  // One user less. A layer that nobody uses goes back to the system. Precondition: the user's pieces are all zeros.
  void close(std::size_t first, std::size_t end, MemoryBudget& budget);

 private:
  bool open_one(std::size_t layer, MemoryBudget::Purpose purpose, MemoryBudget& budget);
  void close_one(std::size_t layer, MemoryBudget& budget);

  std::size_t reserved_bytes_ = 0;
  void* reserved_ = nullptr;
  std::byte* base_ = nullptr;  // aligned to a huge page

  std::mutex mutex_;
  std::vector<std::uint32_t> users_;  // of each layer; guarded by mutex_
};

}  // namespace weir::stores
