// One run of several nodes that share a store, from a seed: the real engine and the real decorators over a simulated
// network, with clocks that drift and are set, nodes that are stopped, crash and join, and rules that change. The
// oracles say whether more was admitted than the rules allow.
#pragma once

#include <cstdint>
#include <string>

#include "weir/rule.h"

namespace weir::sim {

// What is broken on purpose, to see that the oracle notices.
enum class Mutation : std::uint8_t {
  none,
  no_floor,              // draws do not pay for what the bucket refills meanwhile
  slices_returned,       // what is left of a slice at its end goes back to the bucket
  joins_with_credit,     // a node that joins has its part of the tolerance at once
  reports_without_debt,  // reports are charged only as far as they fit
};

struct Setting {
  std::uint64_t seed = 0;
  Consistency consistency = Consistency::leased;
  Mutation mutation = Mutation::none;
};

struct Result {
  std::int64_t over = 0;      // units beyond what the rules allow, with the tolerance of synced ones
  std::int64_t admitted = 0;  // units
  std::int64_t asked = 0;     // requests
  std::uint64_t store_calls = 0;
  std::uint64_t from_slices = 0;  // decisions without the store
  std::string story;              // what kind of run it was
};

Result simulate(const Setting& setting);

}  // namespace weir::sim
