// The rules that the Redis benches decide by.
#pragma once

#include <chrono>
#include <string_view>

#include "weir/rule.h"

namespace weir::bench {

inline constexpr std::string_view kGenerousRule = "search-per-key";

// Admits whatever a bench sends.
inline AllowanceSpec generous_spec() {
  return {.algorithm = Algorithm::token_bucket, .limit = 1'000, .window = std::chrono::seconds(60), .burst = 1'000'000};
}

// `search` is admitted; `flood` once, and then not for the rest of the day.
inline Rules redis_rules(Consistency consistency = Consistency::exact) {
  Rule search;
  search.id = kGenerousRule;
  search.match = {{"action", {"search"}}};
  search.per = {"api_key"};
  search.allowance = generous_spec();
  Rule flood = search;
  flood.id = "flood-per-key";
  flood.match = {{"action", {"flood"}}};
  flood.allowance = {.algorithm = Algorithm::token_bucket, .limit = 1, .window = std::chrono::hours(24)};
  search.consistency = consistency;
  // What one hot key needs, so that nothing is denied.
  if (consistency != Consistency::exact) search.allowance.limit = 60'000'000;
  return {.rules = {search, flood}};
}

}  // namespace weir::bench
