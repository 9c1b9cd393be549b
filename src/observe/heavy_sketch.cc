#include "observe/heavy_sketch.h"

#include <algorithm>

namespace weir::observe {
namespace {

// A count is lost with probability 1.08^-count, as a share of 2^32.
constexpr double kDecay = 1.08;
constexpr std::size_t kDecaySteps = 256;  // beyond this many counts none is lost

constexpr std::array<std::uint32_t, kDecaySteps> make_decay() {
  std::array<std::uint32_t, kDecaySteps> table{};
  double share = 4294967295.0;
  for (std::uint32_t& each : table) {
    each = static_cast<std::uint32_t>(share);
    share /= kDecay;
  }
  return table;
}
constexpr std::array<std::uint32_t, kDecaySteps> kDecayTable = make_decay();

}  // namespace

void HeavySketch::add(const SubjectKey& key, bool shared, std::uint64_t random) {
  Set& set = sets_[(key.subject.low ^ key.ordinal) % kSets];
  Place* least = set.data();
  for (Place& place : set) {
    if (place.count > 0 && place.key == key) {
      ++place.count;
      return;
    }
    if (place.count < least->count) least = &place;
  }
  if (least->count > 0) {
    const bool loses = least->count < kDecaySteps && static_cast<std::uint32_t>(random) < kDecayTable[least->count];
    if (!loses || --least->count > 0) return;
  }
  *least = {key, 1, shared};
}

}  // namespace weir::observe
