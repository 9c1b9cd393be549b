#include "rules/compile/prefix_index.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace weir::rules {

PrefixIndex::Words::Words(const base::IpAddress& address) {
  for (std::size_t i = 0; i < 8; ++i) high = high << 8U | address.bytes[i];
  for (std::size_t i = 8; i < 16; ++i) low = low << 8U | address.bytes[i];
}

PrefixIndex::Words PrefixIndex::Words::first(int bits) const {
  const auto mask = [](int kept) { return kept <= 0 ? 0 : ~std::uint64_t{0} << (64 - std::min(kept, 64)); };
  Words words;
  words.high = high & mask(bits);
  words.low = low & mask(bits - 64);
  return words;
}

PrefixIndex::PrefixIndex(const std::vector<Filing>& filings) {
  struct Entry {
    Length length;
    Words network;
    std::uint32_t item;
  };
  std::vector<Entry> entries;
  entries.reserve(filings.size());
  for (const Filing& filing : filings) {
    const Length length{filing.prefix.bits(), filing.prefix.is_v4()};
    entries.push_back({length, Words(filing.prefix.network()), filing.item});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(-a.length.bits, a.length.v4, a.network.high, a.network.low, a.item) <
           std::tuple(-b.length.bits, b.length.v4, b.network.high, b.network.low, b.item);
  });
  if (entries.empty()) return;
  slots_.resize(std::bit_ceil(entries.size() * 2));
  mask_ = slots_.size() - 1;
  items_.reserve(entries.size());
  for (std::size_t begin = 0; begin < entries.size();) {
    const Entry& first = entries[begin];
    std::size_t end = begin;
    Slot slot;
    slot.begin = static_cast<std::uint32_t>(items_.size());
    for (; end < entries.size() && entries[end].length == first.length && entries[end].network == first.network;
         ++end) {
      items_.push_back(entries[end].item);
    }
    slot.network = first.network;
    slot.length = first.length;
    slot.count = static_cast<std::uint32_t>(end - begin);
    if (lengths_.empty() || lengths_.back() != first.length) lengths_.push_back(first.length);
    std::size_t at = hash(first.network, first.length) & mask_;
    while (slots_[at].count != 0) at = (at + 1) & mask_;
    slots_[at] = slot;
    begin = end;
  }
}

// Filled by operators only, so that no caller can make its chains longer.
std::size_t PrefixIndex::hash(const Words& network, const Length& length) {
  std::uint64_t value = network.high ^ std::rotl(network.low, 23) ^ static_cast<std::uint64_t>(length.bits);
  value = (value ^ (value >> 33U)) * 0xff51afd7ed558ccdU;
  value = (value ^ (value >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return static_cast<std::size_t>(value ^ (value >> 33U));
}

std::span<const std::uint32_t> PrefixIndex::find(const Words& network, const Length& length) const {
  for (std::size_t at = hash(network, length) & mask_;; at = (at + 1) & mask_) {
    const Slot& slot = slots_[at];
    if (slot.count == 0) return {};
    if (slot.network == network && slot.length == length) return {&items_[slot.begin], slot.count};
  }
}

}  // namespace weir::rules
