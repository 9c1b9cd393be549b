// has_part(): which cases of a benchmark to measure, by parts of their names.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::bench {

// Whether one of the comma-separated parts is in the name.
inline bool has_part(std::string_view name, std::string_view parts) {
  while (true) {
    const std::size_t end = parts.find(',');
    if (name.find(parts.substr(0, end)) != name.npos) return true;
    if (end == parts.npos) return false;
    parts.remove_prefix(end + 1);
  }
}

}  // namespace weir::bench
