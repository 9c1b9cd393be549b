// InputBuffer: received bytes in one contiguous piece, so that protocols parse without copying.
//
// Not thread-safe. consume() and commit() move no bytes; only prepare(), append() and drop() do, which must not be
// called while a receive into prepare()'s span is under way.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "frontends/transport/limits.h"

namespace weir::transport {

class InputBuffer {
 public:
  static constexpr std::size_t kFirstBytes = 4096;

  std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

  std::size_t capacity() const { return capacity_; }

  // The bytes will grow to about this many before any is consumed: room for them is made at once instead of step by
  // step, which would take up to twice as much. 0: unknown.
  void expect(std::size_t total) { expected_ = total; }
  // The capacity that prepare(least) would leave behind.
  std::size_t capacity_for(std::size_t least) const {
    const std::size_t kept = empty() && capacity_ > kKeptBufferBytes ? 0 : capacity_;
    return kept - std::min(kept, size()) < least ? grown(kept, least) : kept;
  }

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
  // Forgets the bytes and gives the memory back.
  void drop() {
    data_.reset();
    capacity_ = begin_ = end_ = 0;
  }

 private:
  std::size_t grown(std::size_t from, std::size_t least) const {
    return std::max({kFirstBytes, size() + least, expected_ > from ? expected_ : from * 2});
  }
  void make_room(std::size_t least) {
    const std::size_t held = size();
    if (capacity_ - held < least) {
      const std::size_t capacity = grown(capacity_, least);
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

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t expected_ = 0;
};

}  // namespace weir::transport
