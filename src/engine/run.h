// Run: one pass through the stages (engine.cc), and the call to the store that is part of it. Its checks are one
// request, one ad-hoc charge, or several of either that are charged together.
#pragma once

#include <cassert>
#include <cstddef>
#include <forward_list>
#include <memory>
#include <span>
#include <vector>

#include "engine/check.h"
#include "engine/stages/prefilter.h"
#include "weir/decision.h"
#include "weir/options.h"
#include "weir/store.h"

namespace weir::engine {

class QuotaPart;

// Where a check's charge is among those that the store sees.
std::size_t place_without_quotas(std::span<const Charge> charges, std::size_t charge);

// The charges of several checks as one store call, which may name no bucket twice: a bucket that several of them charge
// is charged once, with the sum of the costs.
class CombinedCharges {
 public:
  void add(const Check& check);
  // Begins again, with what the checks charge now.
  void combine(std::span<const Check> checks);
  std::span<const Charge> charges() const { return charges_; }
  std::span<ChargeOutcome> outcomes();
  // Copies each outcome to the checks that asked for it.
  void hand_out(std::span<Check> checks) const;
  // Charges of quotas are not among these and have no place.
  std::span<const std::size_t> places() const { return places_; }

 private:
  std::vector<Charge> charges_;
  std::vector<ChargeOutcome> outcomes_;
  std::vector<std::size_t> places_;  // for each charge of the checks, in their order: its place in charges_
};

// Its spans are recorded.
inline bool is_sampled(const Request& request) { return request.trace != nullptr && request.trace->sampled; }

inline bool is_report(Action action) { return action == Action::report_failure || action == Action::report_success; }

struct Run : StoreCall {
  std::span<Check> checks;              // those of requests first, then those of ad-hoc charges
  std::span<Decision> decisions;        // of the requests
  std::span<ChargeOutcome> ad_hoc;      // of the ad-hoc charges
  CombinedCharges* combined = nullptr;  // null: one check, and its charges are the call's
  Prefilter::Stamp asked;
  std::size_t local_takes = 0;  // the first so many checks have taken from their local limits
  bool past_prefilter = false;  // an exhausted bucket need not mean a denial: the hold may be known, or take what fits
  QuotaPart* quotas = nullptr;  // null: no check has a quota
  bool detached = false;

  // Called before a store or a ledger is asked that may answer later: `decisions` and `ad_hoc` are to outlive the
  // caller's stack. `keep`: observers will want to see a part of the requests.
  virtual void detach(bool keep) = 0;
  // Null: the run is not part of a trace that is sampled. Else noted as the run goes on.
  virtual DecisionTimes* times() const { return nullptr; }
  void detach_once(bool keep) {
    if (detached) return;
    detached = true;
    detach(keep);
  }

  // The charges are those of the only check.
  void carry(Check& check, Action asked_action, const Reading& at) {
    checks = {&check, 1};
    action = asked_action;
    set_reading(at);
    charges = check.charges();
    outcomes = check.outcomes();
    // Last: a call in between would keep the compiler from dropping the stores that these replace.
    if (asked_action == Action::refund) [[unlikely]]
      check.drop_bad_costs();
    if (is_report(asked_action)) [[unlikely]]
      check.prepare_report(asked_action == Action::report_success);
  }

 protected:
  ~Run() = default;
};

// A run that is over before its caller returns.
class InlineRun final : public Run {
 public:
  // Not "= default": GCC would clear the whole object first, which costs as much as a stage.
  InlineRun() {}  // NOLINT(modernize-use-equals-default)
  void detach(bool) override { assert(false && "only for stores that answer at once"); }
  void complete() override { assert(false && "only for stores that answer at once"); }
};

// A run that may be over only after its caller has returned.
struct LastingRun : Run {
  DecisionTimes* times() const final { return traced_ == nullptr ? nullptr : &traced_->times; }

 protected:
  LastingRun();
  ~LastingRun();
  // After carry() or the plan of a group: what the checks have of quotas is kept here.
  void adopt_quotas();
  // Before the run walks through the stages: notes its times if the request's trace is sampled.
  void note_trace(const Request& request) {
    if (!is_sampled(request)) return;
    traced_ = std::make_unique<Traced>();
    traced_->trace = *request.trace;
    traced_->times.began = reading().wall();
  }
  // Precondition: times() are noted.
  const TraceContext& trace() const { return traced_->trace; }
  void outlive_requests(bool keep) {
    for (Check& check : checks) {
      const Request* const request = check.request();
      const bool kept = request != nullptr && (keep || request->trace != nullptr);
      check.outlive_request(kept ? &kept_.emplace_front(*request, check.matches()) : nullptr);
    }
  }

 private:
  struct Traced {
    DecisionTimes times;
    TraceContext trace;
  };

  std::forward_list<KeptRequest> kept_;
  std::unique_ptr<QuotaPart> own_quotas_;
  std::unique_ptr<Traced> traced_;  // null: not part of a trace that is sampled
};

}  // namespace weir::engine
