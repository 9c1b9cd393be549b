// NameTable: attribute names as small numbers. Filled while rules are compiled, then read by any number of threads.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "rules/compile/rule_set.h"
#include "rules/compile/text_words.h"

namespace weir::rules {

class NameTable {
 public:
  static constexpr std::size_t kMaxNames = 60'000;  // of the rules; the classes of shedding have room beyond

  NameTable();

  // The name's number, a new one if it has none. Precondition: size() < kUnknownName, or the name is known.
  NameId add(std::string_view name);

  // The name's number, or kUnknownName.
  NameId find(std::string_view name) const {
    const TextWords words(name);
    for (std::size_t at = words.hash(name) & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.id == kUnknownName) return kUnknownName;
      if (slot.first == words.first && slot.last == words.last && slot.length == name.size() &&
          (name.size() <= TextWords::kWhole || same(slot, name))) {
        return slot.id;
      }
    }
  }

  std::string_view name_of(NameId id) const { return names_[id]; }
  std::size_t size() const { return names_.size(); }

 private:
  struct Slot {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint32_t length = 0;
    NameId id = kUnknownName;
  };

  bool same(const Slot& slot, std::string_view name) const { return names_[slot.id] == name; }
  void put(NameId id);
  void grow();

  std::deque<std::string> names_;  // by number
  std::vector<Slot> slots_;        // open addressing, at most half full
  std::size_t mask_ = 0;
};

}  // namespace weir::rules
