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
  context.rules_version = rules.set->version();
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

}  // namespace weir::engine
