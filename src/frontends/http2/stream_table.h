// StreamTable: the open streams of a connection by their id.
//
// Open addressing. Ids of a peer's streams go up by two, so neighbours in time are neighbours in the table and a search
// nearly always ends where it begins. At most half full; grows, never shrinks: a connection that once had many streams
// open is likely to do so again.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "frontends/http2/session.h"

namespace weir::http2 {

class StreamTable {
 public:
  StreamTable() : slots_(kFirstSlots) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  Stream* find(std::int32_t id) const {
    for (std::size_t i = home(id);; i = next(i)) {
      if (slots_[i] == nullptr || slots_[i]->id == id) return slots_[i];
    }
  }
  // No stream of this id may be there.
  void insert(Stream& stream) {
    if (++size_ * 2 > slots_.size()) grow();
    put(stream);
  }
  // The stream must be there.
  void erase(const Stream& stream) {
    std::size_t hole = home(stream.id);
    while (slots_[hole] != &stream) {
      assert(slots_[hole] != nullptr);
      hole = next(hole);
    }
    --size_;
    // Moves back entries after the hole that are there only because their own slot was taken.
    for (std::size_t i = next(hole); slots_[i] != nullptr; i = next(i)) {
      const std::size_t wanted = home(slots_[i]->id);
      if (distance(wanted, i) < distance(hole, i)) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = nullptr;
  }
  // `visit` must not change the table.
  template <typename Visit>
  void each(Visit visit) const {
    for (Stream* const stream : slots_) {
      if (stream != nullptr) visit(*stream);
    }
  }

 private:
  static constexpr std::size_t kFirstSlots = 8;  // a power of two, as all sizes

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t home(std::int32_t id) const { return static_cast<std::size_t>(id >> 1) & mask(); }
  std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
  std::size_t distance(std::size_t from, std::size_t to) const { return (to - from) & mask(); }
  void put(Stream& stream) {
    std::size_t i = home(stream.id);
    while (slots_[i] != nullptr) i = next(i);
    slots_[i] = &stream;
  }
  void grow() {
    std::vector<Stream*> old(slots_.size() * 2);
    old.swap(slots_);
    for (Stream* const stream : old) {
      if (stream != nullptr) put(*stream);
    }
  }

  std::vector<Stream*> slots_;
  std::size_t size_ = 0;
};

}  // namespace weir::http2
