#include "rules/compile/value_index.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace weir::rules {

ValueIndex::ValueIndex(std::vector<Filing> filings) {
  const auto order = [](const Filing& filing) { return std::tie(filing.name, filing.value, filing.item); };
  std::sort(filings.begin(), filings.end(), [order](const Filing& a, const Filing& b) { return order(a) < order(b); });
  filings.erase(std::unique(filings.begin(), filings.end(),
                            [order](const Filing& a, const Filing& b) { return order(a) == order(b); }),
                filings.end());
  if (filings.empty()) return;

  slots_.resize(std::bit_ceil(filings.size() * 2));
  tags_.resize(slots_.size());
  mask_ = slots_.size() - 1;
  items_.reserve(filings.size());
  for (std::size_t begin = 0; begin < filings.size();) {
    const Filing& first = filings[begin];
    std::size_t end = begin;
    while (end < filings.size() && filings[end].name == first.name && filings[end].value == first.value) ++end;

    Slot slot;
    const TextWords words(first.value);
    slot.first = words.first;
    slot.last = words.last;
    slot.begin = static_cast<std::uint32_t>(items_.size());
    slot.count = static_cast<std::uint32_t>(end - begin);
    slot.text = static_cast<std::uint32_t>(texts_.size());
    slot.length = static_cast<std::uint16_t>(first.value.size());
    slot.name = first.name;
    texts_ += first.value;
    for (std::size_t i = begin; i < end; ++i) items_.push_back(filings[i].item);
    names_ |= std::uint64_t{1} << (first.name & 63);

    const std::uint64_t hash = words.hash(first.value, first.name);
    std::size_t at = hash & mask_;
    while (tags_[at] != 0) at = (at + 1) & mask_;
    tags_[at] = tag_of(hash);
    slots_[at] = slot;
    begin = end;
  }
}

}  // namespace weir::rules
