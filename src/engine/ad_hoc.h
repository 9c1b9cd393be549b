// An ad-hoc charge (weir/ad_hoc.h) as a charge of a store: a bucket of its own, named by space and subject.
#pragma once

#include "keys/key_encoder.h"
#include "weir/ad_hoc.h"
#include "weir/store.h"

namespace weir::engine {

// `allowance` is what the charge then refers to: from.allowance, or a copy that lives until the call completes.
// Precondition: is_within_bounds(from).
Charge make_ad_hoc_charge(const AdHocCharge& from, const Allowance& allowance, const keys::KeyEncoder& encoder);

bool is_within_bounds(const AdHocCharge& charge);

// The answer to a charge out of bounds.
ChargeOutcome refused_charge();

}  // namespace weir::engine
