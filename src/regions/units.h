// Units of a window that regions divide (region: slices on a fixed-window).
//
// Each region may admit its floor in a window without asking, and what the coordinator has given it of the rest, which
// is a number that only grows until the window ends. A region never gives anything back, so that what all have been
// given and all floors are never more than the limit. No more is given at once than a part of what is left: the last
// units go to the region that asks for them, in small steps.
//
// If rows are lost, what was given of the windows that have begun is not known, and nothing more of them is given.
//
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::regions {

// What every region may admit in a window without asking.
std::int64_t floor_units(std::int64_t limit, std::size_t regions);

// What the coordinator keeps of one region, key and window.
struct UnitRow {
  std::size_t region = 0;
  std::int64_t given = 0;
};

struct UnitRequest {
  std::size_t region = 0;
  std::int64_t limit = 0;
  std::int64_t known = 0;  // what it has been given, as far as it knows
  bool wants = false;      // more
};

// The region knows of more than its row says.
bool units_lost(const std::vector<UnitRow>& rows, const UnitRequest& request);

// Answers what the region has been given in all, and writes that into its row, which is added if there is none. While
// `learning`, nothing is given.
std::int64_t decide_units(std::vector<UnitRow>& rows, const UnitRequest& request, std::size_t regions, bool learning);

}  // namespace weir::regions
