#include "rules/compile/per_entry.h"

namespace weir::rules {
namespace {

void trim_end(std::string& name) { name.erase(name.find_last_not_of(' ') + 1); }

}  // namespace

std::vector<std::string> alternatives_of(std::string_view entry) {
  std::vector<std::string> names(1);
  for (std::size_t i = 0; i < entry.size(); ++i) {
    if (entry[i] == '\\' && i + 1 < entry.size() && entry[i + 1] == '|') {
      names.back() += entry[++i];
    } else if (entry[i] == '|') {
      trim_end(names.back());
      names.emplace_back();
      while (i + 1 < entry.size() && entry[i + 1] == ' ') ++i;
    } else {
      names.back() += entry[i];
    }
  }
  return names;
}

std::string entry_for(std::string_view name) {
  std::string entry;
  entry.reserve(name.size());
  for (const char c : name) {
    if (c == '|') entry += '\\';
    entry += c;
  }
  return entry;
}

bool is_only(std::string_view entry, std::string_view name) {
  if (entry.find('|') == std::string_view::npos) return entry == name;
  const std::vector<std::string> names = alternatives_of(entry);
  return names.size() == 1 && names.front() == name;
}

}  // namespace weir::rules
