// What an engine does for requests whose trace is sampled: it notes when the store and the ledger were asked and when
// they answered. Others do not come here, but for what is refused before any rule.
#include "engine/engine.h"
#include "engine/stages/quota_gate.h"

namespace weir::engine {

// After a call that is answered later the run may be gone.
bool Engine::ask_store_traced(Run& run) {
  if (run.charges.empty()) return true;
  DecisionTimes& times = *run.times();
  if (times.store.from == TimePoint{}) times.store.from = clock_->wall();
  if (!store_->begin(run)) return false;
  times.store.to = clock_->wall();
  return true;
}

void Engine::note_answer(const Run& run) const {
  DecisionTimes* const times = run.times();
  if (times == nullptr) return;
  const bool of_ledger = run.quotas != nullptr && run.quotas->waiting != QuotaPart::Waiting::no;
  if (of_ledger) {
    times->ledger.to = clock_->wall();
  } else if (times->store.from != TimePoint{}) {
    times->store.to = clock_->wall();
  }
}

void Engine::show_refused(const Request& request, const Reading& at, const ActiveRules& rules, const Decision& decision,
                          std::string_view block) {
  if (!shows_requests_) return;
  RequestContext context;
  context.attributes = request.attributes;
  context.rules_version = rules.set->told_version();
  context.rules_hash = rules.set->told_hash();
  context.block = block;
  context.trace = request.trace;
  DecisionTimes times;
  if (is_sampled(request)) {
    times.began = at.wall();
    times.ended = clock_->wall();
    context.times = &times;
  }
  for (const auto& observer : request_observers_) {
    if (observer->wants(decision)) observer->on_decision(decision, context);
  }
}

// Also of a reset and of a report.
void Engine::show_refund(const Check& check, const Run& run, const Decision& decision, Action action) {
  const RequestContext context = check.context(decision);
  if (context.trace == nullptr) return;
  std::string_view name = "weir.report";
  if (action == Action::refund) name = "weir.refund";
  if (action == Action::reset) name = "weir.reset";
  show_change({.name = name,
               .source = decision.source,
               .failed = decision.degraded,
               .cost = decision.cost,
               .rules_version = context.rules_version,
               .rules_hash = context.rules_hash,
               .trace = *context.trace,
               .times = *run.times()},
              *run.times());
}

void Engine::show_change(TracedChange change, DecisionTimes& times) {
  times.ended = clock_->wall();
  for (const auto& observer : request_observers_) observer->on_change(change);
  times.store = times.ledger = {};
}

}  // namespace weir::engine
