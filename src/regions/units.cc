#include "regions/units.h"

#include <algorithm>

#include "regions/shares.h"

namespace weir::regions {

std::int64_t floor_units(std::int64_t limit, std::size_t regions) {
  const Ppm share = floor_share(regions);
  return limit / kWhole * share + limit % kWhole * share / kWhole;
}

bool units_lost(const std::vector<UnitRow>& rows, const UnitRequest& request) {
  std::int64_t given = 0;
  for (const UnitRow& row : rows) given = row.region == request.region ? row.given : given;
  return request.known > given;
}

std::int64_t decide_units(std::vector<UnitRow>& rows, const UnitRequest& request, std::size_t regions, bool learning) {
  auto own = std::find_if(rows.begin(), rows.end(), [&](const UnitRow& row) { return row.region == request.region; });
  if (own == rows.end()) own = rows.insert(rows.end(), UnitRow{request.region, 0});
  own->given = std::max(own->given, request.known);
  if (learning || !request.wants) return own->given;
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(regions, 1));
  std::int64_t left = request.limit - count * floor_units(request.limit, regions);
  for (const UnitRow& row : rows) left -= row.given;
  if (left > 0) own->given += std::max<std::int64_t>(left / (2 * count), 1);
  return own->given;
}

}  // namespace weir::regions
