// RegionTerms: how the regions share the limit of one rule (docs/regions.md). Constant after compilation.
#pragma once

#include <string>

#include "weir/rule.h"

namespace weir {

struct RegionTerms {
  RegionSharing sharing = RegionSharing::none;
  OnPartition on_partition = OnPartition::hold;
  std::string home = {};        // RegionSharing::central
  Share tolerance = {5, true};  // RegionSharing::reconcile: of the limit, for all regions together
};

}  // namespace weir
