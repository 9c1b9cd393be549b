// One run of regions that share limits, from a seed: the real engine, RegionalStore and RegionBook on simulated stores,
// one for each region, and a coordinator, with networks and clocks as in simulation.h. Ways to the coordinator are cut,
// nodes crash and are stopped, stores and the coordinator lose their data, rules change. An oracle for all regions
// together judges what was admitted.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/region_coordinator.h"
#include "tests/sim/simulation.h"
#include "weir/rule.h"

namespace weir::sim {

struct RegionSetting {
  std::uint64_t seed = 0;
  RegionSharing sharing = RegionSharing::slices;
  bool window = false;  // slices of a fixed window; reconcile always is one
  OnPartition on_partition = OnPartition::hold;
  RegionMutation mutation = RegionMutation::none;
};

// `from_slices` counts what was admitted beyond the floors, or beyond the parts of the tolerance: what regions could
// only admit because they heard of each other.
Result simulate_regions(const RegionSetting& setting);

}  // namespace weir::sim
