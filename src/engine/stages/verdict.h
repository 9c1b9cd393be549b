// Verdict: what the rules' outcomes amount to. A pure function, and the only place that decides which rule is the
// most restrictive, what the reason is and how long to wait.
#pragma once

#include "engine/check.h"
#include "weir/decision.h"

namespace weir::engine {

// All of these fill a new decision in place.

// Makes a decision new again, but for its rules, which make_verdict() fills as it does those of a new one.
inline void renew_verdict(Decision& decision) {
  decision.allowed = true;
  decision.degraded = false;
  decision.atomic = true;
  decision.reason = Reason::no_rule;
  decision.deciding = -1;
  decision.retry_after = Duration::zero();
  decision.delay = Duration::zero();
  decision.message = {};
}

// What is known of each rule before the store has answered.
void describe_rules(const Check& check, Decision& decision);

// The rest, from check.outcomes() as the store or the failure policies left them. `store_failed[i]` (may be empty:
// none) marks outcomes that a failure policy gave in the store's place. Precondition: describe_rules().
void make_verdict(const Check& check, std::span<const bool> store_failed, Decision& decision);

// If a rule with Hidden::answer applies, takes from the answer whatever tells one rule from another: what is left is
// the same whichever of them denied, except for how long to wait. Else leaves out the rules with Hidden::rule.
void hide_rules(const Check& check, std::string_view source, Decision& decision);

// The answer when one charge is known to be denied and nothing else was asked.
void refuse_exhausted(const Check& check, std::size_t charge, const ChargeOutcome& outcome, Decision& decision);

// The same where a ledger did not answer, and the rule denies then.
void refuse_unanswered(const Check& check, std::size_t charge, Decision& decision);

// The answer when more rules apply than one store call can charge: no rule may be left out, so the request is denied as
// if the store had been asked and had failed.
void refuse_too_many_rules(const Check& check, Decision& decision);

// The answer to a request that this node has no time for.
void refuse_shed(const Request& request, Duration wait, Decision& decision);

// The answer to a request outside the bounds of request.h: denied, and no wait can help.
void refuse_out_of_bounds(const Request& request, Decision& decision);

}  // namespace weir::engine
