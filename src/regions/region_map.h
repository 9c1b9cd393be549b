// RegionMap: the regions that share limits. The same list in each, so that all divide by the same number.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weir::regions {

inline constexpr std::size_t kMaxRegions = 64;

struct RegionMap {
  std::vector<std::string> names;
  std::size_t own = 0;  // its place among the names

  std::size_t size() const { return names.size(); }
  // names.size(): not one of them.
  std::size_t index_of(const std::string& name) const {
    std::size_t i = 0;
    while (i < names.size() && names[i] != name) ++i;
    return i;
  }
};

}  // namespace weir::regions
