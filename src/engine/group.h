// What the parts of a call ask for (weir/call.h, weir/ad_hoc.h).
#pragma once

#include <cstddef>
#include <span>

#include "weir/ad_hoc.h"
#include "weir/call.h"

namespace weir::engine {

inline Action effective_action(Action action, const Request& request) {
  return action == Action::take && request.peek ? Action::peek : action;
}

inline Action action_of(const GroupCall& call, std::size_t request) {
  return effective_action(call.actions.empty() ? call.action : call.actions[request], call.requests[request]);
}

// Requests that are replaced take nothing.
inline bool takes(const GroupCall& call, std::size_t request, std::span<const bool> replaced) {
  return !replaced[request] && action_of(call, request) == Action::take;
}

inline std::size_t count_takes(const GroupCall& call, std::span<const bool> replaced) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < call.requests.size(); ++i) count += takes(call, i, replaced) ? 1 : 0;
  for (const AdHocCharge& charge : call.charges) count += charge.action == Action::take ? 1 : 0;
  return count;
}

}  // namespace weir::engine
