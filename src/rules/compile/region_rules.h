// Rules whose limit the regions share: what the engine needs to know of them (weir/region_terms.h). Pure.
#pragma once

#include <optional>
#include <string_view>

#include "weir/region_terms.h"
#include "weir/rule.h"

namespace weir::rules {

// The name used in rules files.
std::string_view region_sharing_name(RegionSharing sharing);
// None: each region has the whole limit.
std::optional<RegionTerms> region_terms(const Rule& rule);

}  // namespace weir::rules
