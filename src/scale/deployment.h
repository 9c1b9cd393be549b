// What a deployment of many nodes, and of several regions, needs for a load: store calls, Redis servers, memory, nodes,
// rows of the regions' coordinator, and what of it runs out first (docs/scaling.md).
//
// The busiest keys are simulated one by one with the real engine (key_traffic.h); of the others some are drawn at
// random, more of the busy ones, and stand for the rest. What a call costs is a measured constant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/result.h"
#include "weir/rule.h"

namespace weir::scale {

struct Deployment {
  double regions = 1;        // each with a Redis, nodes and the whole load below
  double rate = 1'000;       // decisions a second in each region, at peak
  double subjects = 10'000;  // of each rule, in each region
  double skew = 1;           // Zipf's exponent: the k-th busiest subject asks 1/k^skew as often as the first
  double nodes = 0;          // in each region; 0: as many as the load needs
  double loops = 4;          // event loops of a node, one for each core
  double node_micros = 10;   // CPU time of a node for one decision: HTTP 10, gRPC with many streams 2
  std::uint64_t seed = 1;
};

struct RulePlan {
  std::string rule;
  std::string summary;
  Consistency consistency = Consistency::exact;
  RegionSharing region = RegionSharing::none;
  double calls_per_decision = 0;
  double store_calls = 0;       // a second, in a region
  double hottest_rate = 0;      // decisions a second for the busiest key, in a region
  double hottest_calls = 0;     // store calls a second for it
  double allowed_share = 1;     // of the decisions
  double active_subjects = 0;   // with a bucket at a time, in a region
  double redis_bytes = 0;       // in a region
  double coordinator_rows = 0;  // written a second, by all regions
  std::string bound = {};       // how many more than the limit may be admitted, in words
};

// Something that cannot be had more of by adding servers.
struct Ceiling {
  std::string name;
  double used = 0;  // share of what one of it can do; above 1: it does not fit
  std::string advice;
};

struct Plan {
  Deployment deployment;  // with what was left open filled in
  std::vector<RulePlan> rules;
  double store_calls = 0;  // a second, in a region: one for each decision that some rule must ask for
  double redis_cores = 0;  // in a region
  double redis_servers = 0;
  double redis_bytes = 0;
  double node_cores = 0;  // in a region
  double coordinator_rows = 0;
  std::vector<Ceiling> ceilings;  // the one that runs out first is the first
};

// The failure says which number is impossible.
Result<Plan> plan_deployment(const Rules& rules, Deployment deployment);

}  // namespace weir::scale
