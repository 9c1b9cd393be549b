// Selectivity: of several conditions that could file a rule (or an override), which one is shared with the fewest
// others. Refers to the texts of the conditions counted; used while compiling.
#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weir/rule.h"

namespace weir::rules {

class Selectivity {
 public:
  void count(const std::vector<Condition>& conditions);

  // The equality whose most common value is the rarest, or null when there is no equality.
  const Condition* best(const std::vector<Condition>& conditions) const;

 private:
  using Pair = std::pair<std::string_view, std::string_view>;
  struct PairHash {
    std::size_t operator()(const Pair& pair) const {
      const std::hash<std::string_view> hash;
      return hash(pair.first) * 31 + hash(pair.second);
    }
  };
  std::unordered_map<Pair, std::size_t, PairHash> uses_;
};

}  // namespace weir::rules
