// LeaseRun: one question about leases (weir/leases.h) on its way. Acquiring walks the stages of every check
// (engine.cc); the others go to the store alone, with the charges that a handle has or that a request leads to.
//
// Lives on the stack when the store answers at once, on the heap when it answers later.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/hold_handle.h"
#include "engine/run.h"
#include "weir/leases.h"

namespace weir::engine {

class Engine::LeaseRun final : public LastingRun {
 public:
  LeaseRun(Engine& engine, LeaseCall& call) : engine_(engine), call_(&call) {}

  // True: the answer is there.
  bool start();
  bool deferred() const { return deferred_; }
  LeaseCall& call() { return *call_; }

  void detach(bool keep) override;
  void complete() override;

 private:
  using Verb = LeaseQuestion::Verb;

  bool acquire();
  bool use_handle();
  bool list();
  bool ask();
  void finish();
  void finish_acquire();
  void finish_renew();
  void finish_list();
  bool refuse(HoldFault fault, std::string message);
  bool check_ttl(Duration ttl);
  Duration shortest_lease() const;
  void describe_outcomes();
  void tell_expiry();
  HeldCharge held(std::size_t charge) const;

  Engine& engine_;
  LeaseCall* call_;
  Verb verb_ = Verb::acquire;
  bool deferred_ = false;
  HoldStep step_;
  std::shared_ptr<const ActiveRules> rules_;  // which the check refers to
  Check check_;
  std::string handle_bytes_;
  HoldHandle handle_;
  InlineVector<Charge, 4> own_charges_;  // of a handle, or of a list
  InlineVector<ChargeOutcome, 4> own_outcomes_;
  std::vector<ListedHold> listed_;
};

}  // namespace weir::engine
