// Rules whose limit the regions share: what the engine needs to know of them (weir/region_terms.h). Pure.
#pragma once

#include <optional>

#include "weir/region_terms.h"

namespace weir::rules {

// None: each region has the whole limit.
std::optional<RegionTerms> region_terms(const Rule& rule);

}  // namespace weir::rules
