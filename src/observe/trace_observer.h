// TraceObserver: makes spans of the decisions and changes whose trace is sampled: one of the decision, and below it one
// of the store's call and one of the ledger's, if they were asked.
//
// One for each event loop: not thread-safe. Shares the ring with the sender of its spans.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "observe/span.h"
#include "observe/traceparent.h"
#include "weir/options.h"

namespace weir::observe {

class TraceObserver final : public RequestObserver {
 public:
  // `store` and `database` say who is asked: "redis", "postgresql". They live forever.
  TraceObserver(std::shared_ptr<SpanRing> ring, std::string_view store, std::string_view database, std::uint64_t seed)
      : ring_(std::move(ring)), store_(store), database_(database), random_(seed) {}

  Scope scope() const override { return Scope::every_decision; }
  void on_decision(const Decision& decision, const RequestContext& context) override {
    if (context.times != nullptr && context.trace != nullptr) [[unlikely]]
      record(decision, context);
  }
  void on_change(const TracedChange& change) override;

 private:
  void record(const Decision& decision, const RequestContext& context);
  void record_wait(const Span& of, Span::Step step, const DecisionTimes::Wait& wait, std::string_view whom,
                   bool failed);

  const std::shared_ptr<SpanRing> ring_;
  const std::string_view store_;
  const std::string_view database_;
  TraceRandom random_;
};

}  // namespace weir::observe
