// InputBuffer: received bytes in one contiguous piece, so that protocols parse without copying.
//
// Not thread-safe. consume() and commit() move no bytes; only prepare() and append() do, which must not be called
// while a receive into prepare()'s span is under way.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "frontends/transport/limits.h"

namespace weir::frontends {

class InputBuffer {
 public:
  static constexpr std::size_t kFirstBytes = 4096;

  std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

  // Room behind the bytes, at least `least`; more if that costs nothing.
  std::span<char> prepare(std::size_t least) {
    if (empty()) {
      begin_ = end_ = 0;
      if (capacity_ > kKeptBufferBytes) drop();
    }
    if (capacity_ - end_ < least) make_room(least);
    return {data_.get() + end_, capacity_ - end_};
  }
  void commit(std::size_t count) {
    assert(count <= capacity_ - end_);
    end_ += count;
  }
  void consume(std::size_t count) {
    assert(count <= size());
    begin_ += count;
  }
  void append(std::string_view bytes) {
    std::span<char> room = prepare(bytes.size());
    if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
    commit(bytes.size());
  }

 private:
  void make_room(std::size_t least) {
    const std::size_t held = size();
    if (capacity_ - held < least) {
      const std::size_t capacity = std::max({kFirstBytes, capacity_ * 2, held + least});
      auto bigger = std::make_unique_for_overwrite<char[]>(capacity);
      if (held > 0) std::memcpy(bigger.get(), data_.get() + begin_, held);
      data_ = std::move(bigger);
      capacity_ = capacity;
    } else {
      std::memmove(data_.get(), data_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
  }
  void drop() {
    data_.reset();
    capacity_ = 0;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace weir::frontends
