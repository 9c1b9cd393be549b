// The settings region.*: checked, and which rules a server with them can keep. Pure functions.
#pragma once

#include "regions/region_map.h"
#include "server/config.h"
#include "weir/rule.h"

namespace weir::server {

// A failure begins with the setting that is wrong.
Status check_region_settings(const Config& config);

// This node's region among all. Precondition: check_region_settings().
regions::RegionMap region_map(const Config& config);

// Failure: a rule shares its limit with other regions, and this server is not set up for that.
Status accept_region_rules(const Config& config, const Rules& rules);

}  // namespace weir::server
