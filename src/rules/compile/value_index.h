// ValueIndex: which items are filed under an attribute having a value. Used for rules, for the overrides and plans of
// one rule, and for cost tables. Built once, then read by any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/compile/rule_set.h"
#include "rules/compile/text_words.h"

namespace weir::rules {

class ValueIndex {
 public:
  struct Filing {
    NameId name = kUnknownName;
    std::string_view value;  // needed only while the index is built
    std::uint32_t item = 0;
  };

  ValueIndex() = default;
  explicit ValueIndex(std::vector<Filing> filings);

  // False when nothing is filed under the name; true may be wrong.
  bool may_mention(NameId name) const { return name != kUnknownName && (names_ >> (name & 63) & 1) != 0; }

  // The items filed under this name and value, ascending. Precondition: may_mention(name).
  std::span<const std::uint32_t> find(NameId name, std::string_view value) const {
    const TextWords words(value);
    const std::uint64_t hash = words.hash(value, name);
    const std::uint8_t tag = tag_of(hash);
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      if (tags_[at] == 0) return {};
      if (tags_[at] != tag) continue;
      const Slot& slot = slots_[at];
      if (slot.first == words.first && slot.last == words.last && slot.length == value.size() && slot.name == name &&
          (value.size() <= TextWords::kWhole || same(slot, value))) {
        return {&items_[slot.begin], slot.count};
      }
    }
  }

 private:
  struct Slot {
    std::uint64_t first = 0;  // TextWords of the value
    std::uint64_t last = 0;
    std::uint32_t begin = 0;  // in items_
    std::uint32_t count = 0;
    std::uint32_t text = 0;  // in texts_
    std::uint16_t length = 0;
    NameId name = kUnknownName;
  };

  // Never 0, which is a free slot's.
  static std::uint8_t tag_of(std::uint64_t hash) { return static_cast<std::uint8_t>(hash >> 56 | 1); }

  bool same(const Slot& slot, std::string_view value) const {
    return std::string_view(texts_).substr(slot.text, slot.length) == value;
  }

  std::uint64_t names_ = 0;  // bit (id mod 64) is set for each name
  std::size_t mask_ = 0;
  std::vector<std::uint8_t>
      tags_;  // by slot: what is not there is known without the slots, which take 40 times as much
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> items_;
  std::string texts_;
};

}  // namespace weir::rules
