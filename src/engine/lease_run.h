// LeaseRun: one question about leases (weir/leases.h) on its way.
#pragma once

#include "engine/hold_run.h"
#include "weir/leases.h"

namespace weir::engine {

class Engine::LeaseRun final : public HoldRun<LeaseCall> {
 public:
  LeaseRun(Engine& engine, LeaseCall& call, const ActiveRules& rules)
      : HoldRun(engine, call, rules), verb_(call.question.verb) {}

  // True: the answer is there.
  bool start();

 private:
  using Verb = LeaseQuestion::Verb;

  bool decides() const override { return verb_ == Verb::acquire; }
  void finish() override;
  std::string_view change_name() const override;
  std::optional<HoldCounts::Call> counted_as() const override;

  bool acquire();
  bool use_handle();
  bool list();
  void finish_acquire();
  void finish_renew();
  void finish_list();
  Duration shortest_lease() const;
  void describe_outcomes();
  void tell_expiry();

  const Verb verb_;
};

}  // namespace weir::engine
