// How much memory, how many store operations and how hot a key a rule set will need for a load that is described.
//
// Memory of the memory store is measured: buckets of the rule are made in a real store, in this process, and counted.
// Memory in Redis is computed from sizes that were measured with MEMORY USAGE (docs/redis.md). Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/result.h"
#include "weir/rule.h"

namespace weir::advise {

// Of Redis's CPU time, measured by the bench suite `redis`.
inline constexpr double kRedisMicrosPerDecision = 12;
inline constexpr double kRedisMicrosPerFurtherRule = 4;

inline constexpr double kSecondsPerDay = 86'400;
// A second, if nothing is known but the day's requests: three times the average.
constexpr double usual_peak(double requests_per_day) { return 3 * requests_per_day / kSecondsPerDay; }

struct CostShare {
  std::int64_t cost = 1;
  double share = 1;  // of the requests
};

struct Load {
  double requests_per_day = 1'000'000;
  double peak_per_second = 0;  // 0: three times the average
  double subjects = 10'000;    // active ones, for each rule
  std::vector<CostShare> costs = {{}};
  double hottest_share = 0;  // of the requests; 0: by Zipf's law over the subjects
};

struct RuleEstimate {
  std::string rule;
  std::string summary;
  double subjects = 0;             // with a bucket at a time
  std::uint64_t memory_bytes = 0;  // in the memory store
  std::uint64_t redis_bytes = 0;
  double operations = 0;          // of the store, a second at peak
  double hottest_operations = 0;  // of these, against the bucket that is asked most
  bool exceeds_limit = false;     // the hottest subject asks for more than the rule allows
};

struct Estimate {
  Load load;  // with what was left open filled in
  std::vector<RuleEstimate> rules;
  std::uint64_t memory_bytes = 0;
  std::uint64_t redis_bytes = 0;
  double store_calls = 0;  // a second at peak: one for each request that a rule applies to
  double redis_cores = 0;  // for these
  double average_cost = 1;
};

// The failure says which number of the load is impossible.
Result<Estimate> estimate_size(const Rules& rules, Load load);

}  // namespace weir::advise
