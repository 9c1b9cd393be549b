// The entries of a rule's `per` (weir/rule.h): the name of an attribute, or several names separated by `|`, of which
// the first that a request carries is counted. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::rules {

inline constexpr std::size_t kMaxAlternatives = 8;  // per entry

// The names, in the order written; spaces around a `|` do not belong to them, and `\|` is a `|` inside a name. A name
// is empty where the entry has none: "a||b".
std::vector<std::string> alternatives_of(std::string_view entry);

// Calls `take` with each of them, as a std::string_view that lives only during the call. Does not allocate for the
// usual entry, which is one name.
template <typename Take>
void for_each_name(std::string_view entry, Take take) {
  if (entry.find('|') == std::string_view::npos) return take(entry);
  for (const std::string& name : alternatives_of(entry)) take(std::string_view(name));
}

// The entry that is this one name, whatever it contains.
std::string entry_for(std::string_view name);

// True when the entry is this one name.
bool is_only(std::string_view entry, std::string_view name);

}  // namespace weir::rules
