// check_together(): requests and ad-hoc charges that are charged all or none, as one call.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "weir/ad_hoc.h"
#include "weir/ask.h"

namespace weir {

using Together = std::function<void(std::span<const Decision>, std::span<const ChargeOutcome>)>;

inline void check_together(AdHocLimiter& limiter, std::span<const Request> requests,
                           std::span<const AdHocCharge> charges, const Together& done) {
  std::vector<Decision> decisions(requests.size());
  std::vector<ChargeOutcome> outcomes(charges.size());
  const auto make_then = [&] { return done; };
  AskedCall<GroupCall, decltype(make_then)> call(make_then);
  call.requests = requests;
  call.charges = charges;
  call.decisions = decisions;
  call.outcomes = outcomes;
  call.all_or_none = true;
  if (limiter.begin_group(call)) done(decisions, outcomes);
}

}  // namespace weir
