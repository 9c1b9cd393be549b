#include "simulate/subject_table.h"

#include <algorithm>
#include <tuple>

namespace weir::simulate {
namespace {

std::uint64_t asked(const SubjectCounts& counts) { return std::max(counts.requests[0], counts.requests[1]); }

}  // namespace

SubjectTable::SubjectTable() : slots_(kSlots, kEmpty) {}

std::size_t SubjectTable::slot_of(const BucketKey& key) const {
  // The keys are hashes already.
  std::size_t slot = key.high & (kSlots - 1);
  while (slots_[slot] != kEmpty && entries_[slots_[slot]].key != key) slot = (slot + 1) & (kSlots - 1);
  return slot;
}

SubjectCounts& SubjectTable::of(const BucketKey& key, bool& made) {
  std::size_t slot = slot_of(key);
  made = slots_[slot] == kEmpty;
  if (!made) return entries_[slots_[slot]];
  if (entries_.size() == kMaxSubjects) {
    give_up_half();
    slot = slot_of(key);
  }
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  entries_.emplace_back().key = key;
  return entries_.back();
}

void SubjectTable::give_up_half() {
  const auto middle = entries_.begin() + static_cast<std::ptrdiff_t>(entries_.size() / 2);
  std::nth_element(entries_.begin(), middle, entries_.end(),
                   [](const SubjectCounts& one, const SubjectCounts& other) { return asked(one) > asked(other); });
  given_up_ += static_cast<std::uint64_t>(entries_.end() - middle);
  floor_ += asked(*middle);
  entries_.erase(middle, entries_.end());
  std::fill(slots_.begin(), slots_.end(), kEmpty);
  for (std::size_t i = 0; i < entries_.size(); ++i) slots_[slot_of(entries_[i].key)] = static_cast<std::uint32_t>(i);
}

std::vector<SubjectCounts> SubjectTable::top(std::size_t count,
                                             const std::function<std::uint64_t(const SubjectCounts&)>& weight) const {
  std::vector<std::pair<std::uint64_t, const SubjectCounts*>> found;
  for (const SubjectCounts& each : entries_) {
    if (const std::uint64_t heavy = weight(each); heavy > 0) found.emplace_back(heavy, &each);
  }
  // Equal ones by their names, so that a report is always the same.
  std::sort(found.begin(), found.end(), [](const auto& one, const auto& other) {
    if (one.first != other.first) return one.first > other.first;
    return std::tie(one.second->rule, one.second->text) < std::tie(other.second->rule, other.second->text);
  });
  std::vector<SubjectCounts> top;
  for (std::size_t i = 0; i < found.size() && i < count; ++i) top.push_back(*found[i].second);
  return top;
}

}  // namespace weir::simulate
