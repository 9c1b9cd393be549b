#include "identity/sent_names.h"

#include <algorithm>

#include "base/ascii.h"

namespace weir::identity {
namespace {

char folded(char c) { return c == '-' ? '_' : base::lower(c); }

bool fits(std::string_view folded_name, std::string_view name) {
  return folded_name.size() == name.size() && std::equal(name.begin(), name.end(), folded_name.begin(),
                                                         [](char c, char known) { return folded(c) == known; });
}

}  // namespace

bool SentNames::add(std::string_view name, SentRole role) {
  if (search(name) != SentRole::none) return false;
  std::string kept(name);
  if (role != SentRole::made) std::transform(kept.begin(), kept.end(), kept.begin(), folded);
  sizes_.set(kept.size());
  entries_.push_back({std::move(kept), role});
  return true;
}

SentRole SentNames::search(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.role == SentRole::made ? entry.name == name : fits(entry.name, name)) return entry.role;
  }
  return SentRole::none;
}

}  // namespace weir::identity
