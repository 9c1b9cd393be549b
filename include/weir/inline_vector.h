// InlineVector<T, N>: a vector of plain values whose first N elements need no heap.
//
// A decision rarely touches more than a few rules; this keeps the common check free of allocation without putting a
// cap on the rare one. Elements must be trivially copyable.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace weir {

template <typename T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InlineVector() = default;
  InlineVector(const InlineVector& other) { assign(other.data(), other.size()); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) assign(other.data(), other.size());
    return *this;
  }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~InlineVector() = default;

  void push_back(const T& value) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = value;
  }
  // A new element at the end, as its default constructor leaves it, to be filled in place.
  T& append() {
    if (size_ == capacity_) grow(size_ + 1);
    return *new (data() + size_++) T;
  }
  // New elements are value-initialised.
  void resize(std::size_t size) {
    if (size > capacity_) grow(size);
    for (std::size_t i = size_; i < size; ++i) data()[i] = T{};
    size_ = size;
  }
  void clear() { size_ = 0; }

  T* data() { return heap_ ? heap_.get() : reinterpret_cast<T*>(inline_); }
  const T* data() const { return heap_ ? heap_.get() : reinterpret_cast<const T*>(inline_); }
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
  void grow(std::size_t wanted) {
    const std::size_t capacity = std::max(wanted, capacity_ * 2);
    std::unique_ptr<T[]> bigger(new T[capacity]);
    std::copy_n(data(), size_, bigger.get());
    heap_ = std::move(bigger);
    capacity_ = capacity;
  }
  void assign(const T* from, std::size_t count) {
    size_ = 0;
    if (count > capacity_) grow(count);
    std::copy_n(from, count, data());
    size_ = count;
  }
  void take(InlineVector& other) {
    if (other.heap_) {
      heap_ = std::move(other.heap_);
      capacity_ = other.capacity_;
      size_ = other.size_;
      other.capacity_ = N;
    } else {
      assign(other.data(), other.size_);
    }
    other.size_ = 0;
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  std::unique_ptr<T[]> heap_;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace weir
