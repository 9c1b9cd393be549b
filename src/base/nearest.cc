#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace weir::base {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);  // the row before the last one, for swaps
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kMaxDistance = 2;
  std::string_view found;
  std::size_t least = kMaxDistance + 1;
  for (const std::string_view candidate : known) {
    const std::size_t longer = std::max(candidate.size(), name.size());
    if (longer - std::min(candidate.size(), name.size()) > kMaxDistance) continue;
    const std::size_t distance = edit_distance(name, candidate);
    // Half a short name replaced is another word, not a slip.
    if (distance < least && 2 * distance < longer) {
      least = distance;
      found = candidate;
    }
  }
  return found;
}

}  // namespace weir::base
