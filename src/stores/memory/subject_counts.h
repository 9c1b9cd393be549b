// SubjectCounts: how many buckets each rule has in a memory store, exactly, and what the rule is called.
//
// A rule is known by its number (Charge::number). Counting is one atomic addition, when a bucket is made or forgotten.
// Thread-safe. Takes 8 KiB, and 16 KiB for each 1,024 numbers in use; nothing is given back before the end.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weir/store.h"

namespace weir::memory {

class SubjectCounts {
 public:
  SubjectCounts() = default;
  ~SubjectCounts() {
    for (std::atomic<Chunk*>& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }
  SubjectCounts(const SubjectCounts&) = delete;
  SubjectCounts& operator=(const SubjectCounts&) = delete;

  // Precondition of all: 0 < number <= kMaxRuleNumber.
  void add(std::uint32_t number) { made(number).count.fetch_add(1, std::memory_order_relaxed); }
  void remove(std::uint32_t number) { made(number).count.fetch_sub(1, std::memory_order_relaxed); }
  std::int64_t of(std::uint32_t number) const {
    const Chunk* const chunk = chunks_[number / kPerChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? 0 : chunk->entries[number % kPerChunk].count.load(std::memory_order_relaxed);
  }

  // The first name that a number is given stays.
  void name(std::uint32_t number, std::string_view rule) {
    std::atomic<const std::string*>& place = made(number).name;
    if (place.load(std::memory_order_relaxed) != nullptr) return;
    auto fresh = std::make_unique<const std::string>(rule);
    const std::string* none = nullptr;
    if (place.compare_exchange_strong(none, fresh.get(), std::memory_order_release)) static_cast<void>(fresh.release());
  }
  // Empty: it was given none.
  std::string_view name_of(std::uint32_t number) const {
    const Chunk* const chunk = chunks_[number / kPerChunk].load(std::memory_order_acquire);
    if (chunk == nullptr) return {};
    const std::string* const name = chunk->entries[number % kPerChunk].name.load(std::memory_order_acquire);
    return name == nullptr ? std::string_view() : std::string_view(*name);
  }

  // Calls see(number, count) for each rule that has buckets.
  template <typename See>
  void for_each(See see) const {
    for (std::size_t c = 0; c < kChunks; ++c) {
      const Chunk* const chunk = chunks_[c].load(std::memory_order_acquire);
      for (std::size_t i = 0; chunk != nullptr && i < kPerChunk; ++i) {
        const std::int64_t count = chunk->entries[i].count.load(std::memory_order_relaxed);
        if (count > 0) see(static_cast<std::uint32_t>(c * kPerChunk + i), count);
      }
    }
  }

 private:
  static constexpr std::size_t kPerChunk = 1'024;
  static constexpr std::size_t kChunks = (std::size_t{kMaxRuleNumber} + 1) / kPerChunk;
  struct Entry {
    std::atomic<std::int64_t> count{0};
    std::atomic<const std::string*> name{nullptr};  // owned
    ~Entry() { delete name.load(std::memory_order_relaxed); }
  };
  struct Chunk {
    std::array<Entry, kPerChunk> entries;
  };

  Entry& made(std::uint32_t number) {
    std::atomic<Chunk*>& place = chunks_[number / kPerChunk];
    Chunk* chunk = place.load(std::memory_order_acquire);
    if (chunk == nullptr) {
      auto fresh = std::make_unique<Chunk>();
      if (place.compare_exchange_strong(chunk, fresh.get(), std::memory_order_acq_rel)) chunk = fresh.release();
    }
    return chunk->entries[number % kPerChunk];
  }

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};  // owned
};

}  // namespace weir::memory
