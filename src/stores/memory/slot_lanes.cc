#include "stores/memory/slot_lanes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>

namespace weir::stores {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
static_assert(SlotLanes::kLayerBytes % kHugePage == 0);

// 96 GiB of slots: more than a billion buckets.
constexpr std::size_t kMaxLayers = std::size_t{16} << 10;

}  // namespace

SlotLanes::SlotLanes(std::size_t max_bytes) {
  const std::size_t layers = std::min(max_bytes / kLayerBytes, kMaxLayers);
  if (layers == 0) return;
  const std::size_t bytes = layers * kLayerBytes + kHugePage;
  void* const reserved = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return;  // without addresses no layer opens, and shards keep to the heap
  reserved_ = reserved;
  reserved_bytes_ = bytes;
  const auto address = reinterpret_cast<std::uintptr_t>(reserved);
  base_ = static_cast<std::byte*>(reserved) + (kHugePage - address % kHugePage) % kHugePage;
  ::madvise(base_, layers * kLayerBytes, MADV_HUGEPAGE);  // where the system has none, small pages do
  users_.resize(layers);
}

SlotLanes::~SlotLanes() {
  if (reserved_ != nullptr) ::munmap(reserved_, reserved_bytes_);
}

bool SlotLanes::open(std::size_t first, std::size_t end, MemoryBudget::Purpose purpose, MemoryBudget& budget) {
  const std::lock_guard hold(mutex_);
  if (end > users_.size()) return false;
  for (std::size_t layer = first; layer < end; ++layer) {
    if (open_one(layer, purpose, budget)) continue;
    while (layer > first) close_one(--layer, budget);
    return false;
  }
  return true;
}

void SlotLanes::close(std::size_t first, std::size_t end, MemoryBudget& budget) {
  const std::lock_guard hold(mutex_);
  for (std::size_t layer = first; layer < end; ++layer) close_one(layer, budget);
}

bool SlotLanes::open_one(std::size_t layer, MemoryBudget::Purpose purpose, MemoryBudget& budget) {
  if (users_[layer] == 0) {
    if (!budget.reserve(kLayerBytes, purpose)) return false;
    if (::mprotect(base_ + layer * kLayerBytes, kLayerBytes, PROT_READ | PROT_WRITE) != 0) {
      budget.release(kLayerBytes);
      return false;
    }
  }
  ++users_[layer];
  return true;
}

void SlotLanes::close_one(std::size_t layer, MemoryBudget& budget) {
  assert(users_[layer] > 0);
  if (--users_[layer] > 0) return;
  // The pages go, the addresses stay readable: somebody may be about to look at a lane that has just become shorter.
  ::madvise(base_ + layer * kLayerBytes, kLayerBytes, MADV_DONTNEED);
  budget.release(kLayerBytes);
}

}  // namespace weir::stores
