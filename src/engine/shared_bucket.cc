// Newcomers of a rule that has `max_subjects`: they are counted in a bucket that they share.
#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace weir::engine {
namespace {

bool has_newcomers(const Run& run) {
  return run.status == Code::ok && std::any_of(run.outcomes.begin(), run.outcomes.end(), [](const ChargeOutcome& each) {
           return each.status == Code::out_of_range;
         });
}

}  // namespace

// While the store calls charges a newcomer's, they move to their rules' shared buckets and it is asked again. A shared
// bucket is usually exhausted, and the prefilter knows. Ends: a charge that has moved is no newcomer's.
[[gnu::noinline]] Engine::Shared Engine::share_buckets(Run& run) {
  while (has_newcomers(run)) {
    // The shared bucket bounds them together; a cap for each of them would bound nothing.
    for (Check& check : run.checks.first(run.local_takes)) local_limits_.give_back(check, run.reading());
    run.local_takes = 0;
    if (run.combined != nullptr) {
      run.combined->hand_out(run.checks);
      for (Check& check : run.checks) {
        if (check.may_have_newcomers()) check.share_buckets();
      }
      run.combined->combine(run.checks);
      run.charges = run.combined->charges();
      run.outcomes = run.combined->outcomes();
    } else {
      if (run.quotas != nullptr) run.quotas->store->hand_out();
      run.checks.front().share_buckets();
      if (run.quotas != nullptr) {
        run.quotas->store->copy();
        run.charges = run.quotas->store->charges();
        run.outcomes = run.quotas->store->outcomes();
      }
    }
    if (prefilter_ != nullptr && refuse_shared(run)) return Shared::refused;
    if (!store_->begin(run)) return Shared::later;
  }
  return Shared::answered;
}

bool Engine::refuse_shared(Run& run) {
  if (run.action != Action::take || run.decisions.empty()) return false;
  if (run.combined != nullptr) return refuse_by_prefilter(run);
  if (run.past_prefilter) return false;
  auto described = std::move(run.decisions.front().rules);
  run.decisions.front().rules.clear();
  if (refuse_by_prefilter(run)) return true;
  run.decisions.front().rules = std::move(described);
  return false;
}

// What was reported afterwards, and is more than a rule lets be charged.
void Engine::note_uncharged(const Check& check, Decision& decision) {
  for (std::size_t i = 0; i < check.deciding(); ++i) {
    if (check.charges()[i].binding) decision.uncharged = std::max(decision.uncharged, check.outcomes()[i].uncharged);
  }
  if (decision.replayed) return;  // counted then
  uncharged_units_.fetch_add(static_cast<std::uint64_t>(decision.uncharged), std::memory_order_relaxed);
}

}  // namespace weir::engine
