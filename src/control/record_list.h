// RecordList: records of one kind, by key, ascending. Lists that differ in a few records share all others, so that a
// change beside 100,000 records copies pointers and no records.
//
// Immutable once made; any number of threads may read one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::control {

template <typename Record>
class RecordList {
 public:
  using Pointer = std::shared_ptr<const Record>;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Record;
    using difference_type = std::ptrdiff_t;
    using pointer = const Record*;
    using reference = const Record&;

    Iterator() = default;
    explicit Iterator(typename std::vector<Pointer>::const_iterator at) : at_(at) {}
    const Record& operator*() const { return **at_; }
    const Record* operator->() const { return at_->get(); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    typename std::vector<Pointer>::const_iterator at_;
  };

  RecordList() = default;
  // Precondition: by key, ascending, each key once.
  explicit RecordList(std::vector<Pointer> sorted) : records_(std::move(sorted)) {}

  Iterator begin() const { return Iterator(records_.begin()); }
  Iterator end() const { return Iterator(records_.end()); }
  std::size_t size() const { return records_.size(); }
  bool empty() const { return records_.empty(); }
  const Record& operator[](std::size_t place) const { return *records_[place]; }
  const std::vector<Pointer>& pointers() const { return records_; }

  // Null: there is none.
  const Record* find(std::string_view key) const {
    const auto found = std::lower_bound(records_.begin(), records_.end(), key,
                                        [](const Pointer& a, std::string_view wanted) { return a->key() < wanted; });
    return found == records_.end() || (*found)->key() != key ? nullptr : found->get();
  }

 private:
  std::vector<Pointer> records_;
};

}  // namespace weir::control
