// Verdict: what the rules' outcomes amount to. A pure function, and the only place that decides which rule is the
// most restrictive, what the reason is and how long to wait.
#pragma once

#include "engine/check.h"
#include "weir/decision.h"

namespace weir::engine {

// Reads check.outcomes(), as the store or the failure policies left them. `store_failed[i]` (may be empty: none) marks
// outcomes that a failure policy gave in the store's place. Fills `decision`, which must be new.
void make_verdict(const Check& check, std::span<const bool> store_failed, Decision& decision);

// Takes from the answer whatever tells one rule from another, if a hidden rule applies: what is left is the same
// whichever of them denied, except for how long to wait (R25).
void hide_rules(const Check& check, std::string_view source, Decision& decision);

// The answer when one charge is known to be denied and nothing else was asked.
Decision refuse_exhausted(const Check& check, std::size_t charge, const ChargeOutcome& outcome);

// The answer when more rules apply than one store call can charge: no rule may be left out, so the request is denied as
// if the store had been asked and had failed.
Decision refuse_too_many_rules(const Check& check);

// The answer to a request outside the bounds of request.h: denied, and no wait can help.
Decision refuse_out_of_bounds(const Request& request);

}  // namespace weir::engine
