#include "observe/trace_observer.h"

#include <algorithm>

namespace weir::observe {

void TraceObserver::record(const Decision& decision, const RequestContext& context) {
  const DecisionTimes& times = *context.times;
  Span span;
  span.trace = context.trace->trace;
  span.id = random_.span();
  span.parent = context.trace->parent;
  span.from = times.began;
  span.to = std::max(times.began, times.ended);
  span.source = decision.source;
  span.allowed = decision.allowed;
  span.degraded = decision.degraded;
  span.reason = decision.reason;
  if (const RuleOutcome* const rule = decision.decisive()) span.rule = rule->rule;
  span.cost = decision.cost;
  span.rules_version = context.rules_version;
  span.rules_hash = context.rules_hash;
  record_wait(span, Span::Step::store, times.store, store_, decision.degraded && decision.source == "fallback");
  record_wait(span, Span::Step::ledger, times.ledger, database_, false);
  ring_->push(span);
}

void TraceObserver::on_change(const TracedChange& change) {
  Span span;
  span.step = Span::Step::change;
  span.name = change.name;
  span.trace = change.trace.trace;
  span.id = random_.span();
  span.parent = change.trace.parent;
  span.from = change.times.began;
  span.to = std::max(change.times.began, change.times.ended);
  span.source = change.source;
  span.failed = change.failed;
  span.cost = change.cost;
  span.rules_version = change.rules_version;
  span.rules_hash = change.rules_hash;
  record_wait(span, Span::Step::store, change.times.store, store_, change.failed);
  record_wait(span, Span::Step::ledger, change.times.ledger, database_, false);
  ring_->push(span);
}

void TraceObserver::record_wait(const Span& of, Span::Step step, const DecisionTimes::Wait& wait, std::string_view whom,
                                bool failed) {
  if (wait.from == TimePoint{}) return;
  Span span;
  span.step = step;
  span.trace = of.trace;
  span.id = random_.span();
  span.parent = of.id;
  span.from = wait.from;
  span.to = std::max(wait.from, wait.to);
  span.source = whom;
  span.failed = failed;
  ring_->push(span);
}

}  // namespace weir::observe
