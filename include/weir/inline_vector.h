// InlineVector<T, N>: a vector of plain values whose first N elements need no heap.
//
// A decision rarely touches more than a few rules; this keeps the common check free of allocation without putting a
// cap on the rare one. Elements must be trivially copyable.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

namespace weir {

template <typename T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

 public:
  InlineVector() : data_(inline_elements()) {}
  InlineVector(const InlineVector& other) : InlineVector() { assign(other.data(), other.size()); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) assign(other.data(), other.size());
    return *this;
  }
  InlineVector(InlineVector&& other) noexcept : InlineVector() { take(other); }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~InlineVector() { release(); }

  void push_back(const T& value) {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + std::size_t{1});
    data()[size_++] = value;
  }
  // A new element at the end, as its default constructor leaves it, to be filled in place.
  T& append() {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + std::size_t{1});
    return *new (data() + size_++) T;
  }
  // The same, made from its members. Cheaper than push_back(T{…}): a copy of what was just written waits for it.
  template <typename... Members>
  T& append(const Members&... members) {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + std::size_t{1});
    return *new (data() + size_++) T{members...};
  }
  // New elements are value-initialised.
  void resize(std::size_t size) {
    if (size > capacity_) grow(size);
    for (std::size_t i = size_; i < size; ++i) data()[i] = T{};
    size_ = static_cast<std::uint32_t>(size);
  }
  void clear() { size_ = 0; }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) {
    assert(i < size_);
    return data()[i];
  }
  const T& operator[](std::size_t i) const {
    assert(i < size_);
    return data()[i];
  }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  T* inline_elements() { return reinterpret_cast<T*>(inline_); }
  bool on_heap() const { return capacity_ != N; }
  void release() {
    if (on_heap()) [[unlikely]]
      ::operator delete(data_);
  }
  void grow(std::size_t wanted) {
    const std::size_t capacity = std::max<std::size_t>(wanted, capacity_ * std::size_t{2});
    assert(capacity <= std::numeric_limits<std::uint32_t>::max());
    // Memory only: elements are made when they are added.
    T* const bigger = static_cast<T*>(::operator new(capacity * sizeof(T)));
    std::copy_n(data_, size_, bigger);
    release();
    data_ = bigger;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void assign(const T* from, std::size_t count) {
    size_ = 0;
    if (count > capacity_) grow(count);
    std::copy_n(from, count, data_);
    size_ = static_cast<std::uint32_t>(count);
  }
  void take(InlineVector& other) {
    if (other.on_heap()) {
      release();
      data_ = other.data_;
      capacity_ = other.capacity_;
      size_ = other.size_;
      other.data_ = other.inline_elements();
      other.capacity_ = N;
    } else {
      assign(other.data_, other.size_);
    }
    other.size_ = 0;
  }

  T* data_;  // inline_, or an array of its own
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace weir
