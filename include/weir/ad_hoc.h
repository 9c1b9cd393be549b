// AdHocLimiter: buckets that no rule describes, and requests that belong to one call.
//
//   const weir::AdHocCharge charge{.space = "uploads", .subject = {&user, 1}, .allowance = &allowance, .cost = {1}};
//   if (!limiter.ad_hoc()->charge(charge).admitted) return too_many_requests();
//
// As thread-safe as the limiter that it comes from.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "weir/call.h"
#include "weir/store.h"

namespace weir {

// A bucket that no rule describes: the caller brings its name and its allowance, as CL.THROTTLE and Envoy's limit
// override do. Buckets of one `space` and `subject` are the same bucket whatever the allowance.
struct AdHocCharge {
  std::string_view space;                     // such as "cl.throttle"; must live until the answer
  std::span<const std::string_view> subject;  // at most kMaxAttributes
  const Allowance* allowance = nullptr;       // copied
  Cost cost;
  Action action = Action::take;
  bool count_denied = false;  // a denied take consumes what is left
  TimePoint ingress{};        // as in Request
};

// Requests and ad-hoc charges that came in one call.
class GroupCall : public CheckCall {
 public:
  std::span<const Action> actions;       // one for each request; empty: `action` for all of them
  std::span<const AdHocCharge> charges;  // alive until begin_group() returns
  std::span<ChargeOutcome> outcomes;     // one for each charge
  // Takes are decided as one: each is admitted or denied on its own, and if any is denied none is charged; denials that
  // count (count_denied) still do. Rules whose store does not answer decide each for itself. Others are not affected.
  bool all_or_none = false;
  // A request whose rule is replaced by the rule of another (Rule::replaces) is allowed and counts for nothing.
  bool replaces = false;

  GroupCall& defer() override = 0;

 protected:
  GroupCall() = default;
  GroupCall(const GroupCall&) = default;
  GroupCall& operator=(const GroupCall&) = default;
  ~GroupCall() = default;
};

class AdHocLimiter {
 public:
  virtual ~AdHocLimiter() = default;

  // Charges one bucket. A status that is not ok: the store did not answer, or the charge is out of bounds
  // (invalid_argument). With a store that answers later, waits for it.
  ChargeOutcome charge(const AdHocCharge& charge);
  // The same without waiting, as Limiter::check().
  void charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done);

  // What the calls above are made of. True: answered before it returns.
  [[nodiscard]] virtual bool begin_group(GroupCall& call) = 0;
  // As Limiter::may_wait().
  virtual bool may_wait() const { return true; }
};

}  // namespace weir
