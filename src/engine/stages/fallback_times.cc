#include "engine/stages/fallback_times.h"

#include <algorithm>
#include <cassert>
#include <memory>

namespace weir::engine {

FallbackTimes::~FallbackTimes() {
  for (const auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

FallbackTimes::Slot& FallbackTimes::slot(std::uint32_t ordinal) {
  assert(ordinal / kSlots < kChunks);
  std::atomic<Chunk*>& place = chunks_[ordinal / kSlots];
  Chunk* chunk = place.load(std::memory_order_acquire);
  if (chunk == nullptr) {
    auto made = std::make_unique<Chunk>();
    if (place.compare_exchange_strong(chunk, made.get(), std::memory_order_acq_rel)) chunk = made.release();
  }
  return (*chunk)[ordinal % kSlots];
}

FallbackTimes::Slot* FallbackTimes::slot_if_used(std::uint32_t ordinal) const {
  if (ordinal / kSlots >= kChunks) return nullptr;
  Chunk* const chunk = chunks_[ordinal / kSlots].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &(*chunk)[ordinal % kSlots];
}

Duration FallbackTimes::failed(std::uint32_t ordinal, TimePoint now, Duration quiet) {
  Slot& at = slot(ordinal);
  const std::int64_t last_us = at.last_failure_us.exchange(micros(now), std::memory_order_relaxed);
  std::int64_t since_us = at.since_us.load(std::memory_order_relaxed);
  if (since_us != kNone && last_us != kNone && micros(now) - last_us > quiet.count()) {
    // Another spell. Of several threads one moves the beginning; the others see it moved.
    if (at.since_us.compare_exchange_strong(since_us, micros(now), std::memory_order_relaxed)) {
      at.failures.store(1, std::memory_order_relaxed);
      return Duration::zero();
    }
  }
  if (since_us == kNone && at.since_us.compare_exchange_strong(since_us, micros(now), std::memory_order_relaxed)) {
    spells_.fetch_add(1, std::memory_order_relaxed);
    at.failures.store(1, std::memory_order_relaxed);
    return Duration::zero();
  }
  at.failures.fetch_add(1, std::memory_order_relaxed);
  return Duration(std::max<std::int64_t>(0, micros(now) - since_us));
}

std::uint64_t FallbackTimes::failures(std::uint32_t ordinal) const {
  const Slot* const at = slot_if_used(ordinal);
  return at == nullptr ? 0 : at->failures.load(std::memory_order_relaxed);
}

void FallbackTimes::answered(std::uint32_t ordinal, TimePoint now) {
  Slot* const at = slot_if_used(ordinal);
  if (at == nullptr) return;
  const std::int64_t since_us = at->since_us.load(std::memory_order_relaxed);
  if (since_us == kNone) return;
  if (micros(now) - at->last_failure_us.load(std::memory_order_relaxed) >= kSettled.count()) end(*at, since_us);
}

void FallbackTimes::forget(std::uint32_t ordinal) {
  Slot* const at = slot_if_used(ordinal);
  if (at == nullptr) return;
  const std::int64_t since_us = at->since_us.load(std::memory_order_relaxed);
  if (since_us != kNone) end(*at, since_us);
}

// Once for each spell, whichever thread is first.
void FallbackTimes::end(Slot& slot, std::int64_t since_us) {
  if (slot.since_us.compare_exchange_strong(since_us, kNone, std::memory_order_relaxed)) {
    spells_.fetch_sub(1, std::memory_order_relaxed);
  }
}

std::vector<FallbackTimes::Spell> FallbackTimes::spells() const {
  std::vector<Spell> found;
  if (!any()) return found;
  for (std::uint32_t i = 0; i < kChunks; ++i) {
    const Chunk* const chunk = chunks_[i].load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    for (std::uint32_t k = 0; k < kSlots; ++k) {
      const Slot& at = (*chunk)[k];
      const std::int64_t since_us = at.since_us.load(std::memory_order_relaxed);
      if (since_us == kNone) continue;
      found.push_back(
          {i * kSlots + k, from_micros(since_us), from_micros(at.last_failure_us.load(std::memory_order_relaxed))});
    }
  }
  return found;
}

}  // namespace weir::engine
