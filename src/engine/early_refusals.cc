// What the engine refuses before it asks the store: too many rules, buckets that are known to be exhausted, and what is
// above a node's own limits.
#include "engine/engine.h"
#include "engine/group.h"
#include "engine/stages/candidates.h"
#include "engine/stages/verdict.h"

namespace weir::engine {

void Engine::refuse_too_many(Run& run) {
  for (std::size_t i = 0; i < run.decisions.size(); ++i) {
    if (!run.checks[i].planned()) continue;
    refuse_too_many_rules(run.checks[i], run.decisions[i]);
    publish(run.checks[i], run, run.decisions[i], source_, run.action, run.reading().wall());
  }
  for (ChargeOutcome& outcome : run.ad_hoc) outcome.admitted = false;
}

// Ad-hoc charges go past the prefilter. Groups are stamped but not looked up: what one bucket is known to answer says
// nothing about the others.
bool Engine::refuse_by_prefilter(Run& run) {
  if (run.action != Action::take || run.decisions.empty()) return false;
  if (run.combined == nullptr && !run.past_prefilter) {
    if (run.quotas == nullptr ? repeat_denial(run) : refuse_before_quotas(run)) return true;
  }
  run.asked = prefilter_->stamp(run.charges, run.now, run.skew());
  return false;
}

// The store's answer, all rules of it.
[[gnu::noinline]] bool Engine::repeat_denial(Run& run) {
  if (!prefilter_->repeat(run.charges, run.outcomes, run.now, run.skew())) return false;
  Check& check = run.checks.front();
  Decision& decision = run.decisions.front();
  if (check.has_bounds()) check.apply_bounds(run.reading().wall());
  describe_rules(check, decision);
  make_verdict(check, {}, decision);
  if (check.may_have_protection()) judge_candidates(check, true, run.reading().wall(), decision);
  publish(check, run, decision, "prefilter", Action::take, run.reading().wall());
  return true;
}

// A quota costs more to ask than a bucket that is known to be exhausted: the answer has only that rule.
[[gnu::noinline]] bool Engine::refuse_before_quotas(Run& run) {
  const std::optional<Prefilter::Hit> hit = prefilter_->find_one(run.charges, run.now, run.skew());
  const Check& check = run.checks.front();
  const std::size_t place = hit ? run.quotas->store->place_of(hit->charge) : 0;
  if (!hit || place >= check.deciding()) return false;
  refuse_exhausted(check, place, hit->outcome, run.decisions.front());
  publish(check, run, run.decisions.front(), "prefilter", Action::take, run.reading().wall());
  return true;
}

bool Engine::refuse_by_local_limits(Run& run) {
  if ((run.combined != nullptr && run.action != Action::take) || is_report(run.action)) return false;
  for (std::size_t i = 0; i < run.checks.size(); ++i) {
    if (!run.checks[i].may_have_local_limits()) continue;
    const LocalLimits::Answer local = local_limits_.ask(run.checks[i], run.action, run.reading());
    if (local.denied) {
      for (Check& earlier : run.checks.first(run.local_takes)) local_limits_.give_back(earlier, run.reading());
      refuse_exhausted(run.checks[i], *local.denied, local.outcome, run.decisions[i]);
      run.decisions[i].message = {};  // its numbers are not those of the cap
      publish(run.checks[i], run, run.decisions[i], "local", run.action, run.reading().wall());
      return true;
    }
    if (local.taken) run.local_takes = i + 1;
  }
  return false;
}

}  // namespace weir::engine
