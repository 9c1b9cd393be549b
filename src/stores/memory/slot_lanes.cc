#include "stores/memory/slot_lanes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cerrno>

namespace weir::memory {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
static_assert(SlotLanes::kLayerBytes % kHugePage == 0);

// 96 GiB of slots: more than a billion buckets.
constexpr std::size_t kMaxLayers = std::size_t{16} << 10;

// From so many users on a layer is worth turning: what the others have not touched yet becomes resident, too.
constexpr std::uint32_t kMostLanes = SlotLanes::kLanes * 3 / 4;

// Linux 6.1. Where it is not known, the small pages stay.
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

// A refusal leaves the small pages as they were. The system refuses for the moment when it finds a page in use, about
// one time in four.
void turn(std::byte* page) {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    if (::madvise(page, kHugePage, MADV_COLLAPSE) == 0 || errno != EAGAIN) return;
  }
}

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
  layers_.resize(layers);
}

SlotLanes::~SlotLanes() {
  stopping_.store(true, std::memory_order_relaxed);
  if (turner_.joinable()) turner_.join();
  if (reserved_ != nullptr) ::munmap(reserved_, reserved_bytes_);
}

bool SlotLanes::open(std::size_t first, std::size_t end, MemoryBudget::Purpose purpose, MemoryBudget& budget) {
  const std::lock_guard hold(mutex_);
  if (end > layers_.size()) return false;
  for (std::size_t i = first; i < end; ++i) {
    if (open_one(layers_[i], purpose, budget)) continue;
    while (i > first) --layers_[--i].users;
    return false;
  }
  return true;
}

bool SlotLanes::open_one(Layer& layer, MemoryBudget::Purpose purpose, MemoryBudget& budget) {
  if (!layer.resident) {
    if (!budget.reserve(kLayerBytes, purpose)) return false;
    if (::mprotect(address_of(layer), kLayerBytes, PROT_READ | PROT_WRITE) != 0) {
      budget.release(kLayerBytes);
      return false;
    }
    layer.resident = true;
  }
  ++layer.users;
  if (layer.users >= kMostLanes && !layer.turned) turn_wanted_.store(true, std::memory_order_relaxed);
  return true;
}

void SlotLanes::close(std::size_t first, std::size_t end) {
  const std::lock_guard hold(mutex_);
  for (std::size_t i = first; i < end; ++i) {
    assert(layers_[i].users > 0);
    --layers_[i].users;
  }
}

void SlotLanes::trim(std::size_t most, MemoryBudget& budget) {
  const std::lock_guard hold(mutex_);
  for (std::size_t i = layers_.size(); i > 0 && most > 0; --i) {
    Layer& layer = layers_[i - 1];
    if (!layer.resident || layer.users > 0) continue;
    // The pages go, the addresses stay readable: another thread may be about to look at a lane that has just become
    // shorter.
    ::madvise(address_of(layer), kLayerBytes, MADV_DONTNEED);
    budget.release(kLayerBytes);
    layer = {};
    --most;
  }
}

std::byte* SlotLanes::address_of(const Layer& layer) const {
  return base_ + static_cast<std::size_t>(&layer - layers_.data()) * kLayerBytes;
}

void SlotLanes::start_turning() {
  const std::lock_guard hold(mutex_);
  turn_wanted_.store(false, std::memory_order_relaxed);
  if (turning_ || next_to_turn() == nullptr) return;
  if (turner_.joinable()) turner_.join();  // it has nothing left to do
  turning_ = true;
  turner_ = std::thread([this] { turn_all(); });
}

SlotLanes::Layer* SlotLanes::next_to_turn() {
  const auto found = std::find_if(layers_.begin(), layers_.end(),
                                  [](const Layer& layer) { return layer.users >= kMostLanes && !layer.turned; });
  return found == layers_.end() ? nullptr : &*found;
}

void SlotLanes::turn_all() {
  while (true) {
    std::byte* layer = nullptr;
    {
      const std::lock_guard hold(mutex_);
      Layer* const next = stopping_.load(std::memory_order_relaxed) ? nullptr : next_to_turn();
      turning_ = next != nullptr;
      if (next == nullptr) return;
      next->turned = true;
      layer = address_of(*next);
    }
    for (std::size_t at = 0; at < kLayerBytes; at += kHugePage) turn(layer + at);
  }
}

void SlotLanes::wait_until_turned() {
  start_turning();
  if (turner_.joinable()) turner_.join();
}

}  // namespace weir::memory
