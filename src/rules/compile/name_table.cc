#include "rules/compile/name_table.h"

#include <cassert>

namespace weir::rules {

NameTable::NameTable() : slots_(16), mask_(slots_.size() - 1) {}

NameId NameTable::add(std::string_view name) {
  if (const NameId known = find(name); known != kUnknownName) return known;
  assert(names_.size() < kUnknownName);
  const auto id = static_cast<NameId>(names_.size());
  names_.emplace_back(name);
  if (2 * names_.size() > slots_.size()) {
    grow();
  } else {
    put(id);
  }
  return id;
}

void NameTable::put(NameId id) {
  const std::string& name = names_[id];
  const TextWords words(name);
  std::size_t at = words.hash(name) & mask_;
  while (slots_[at].id != kUnknownName) at = (at + 1) & mask_;
  slots_[at] = {words.first, words.last, static_cast<std::uint32_t>(name.size()), id};
}

void NameTable::grow() {
  slots_.assign(slots_.size() * 2, Slot{});
  mask_ = slots_.size() - 1;
  for (std::size_t id = 0; id < names_.size(); ++id) put(static_cast<NameId>(id));
}

}  // namespace weir::rules
