// RlsDecider: what Envoy asks, decided by a Limiter. The descriptors of one call are one group (weir/ad_hoc.h); each is
// a request of its own: its entries and the domain are the attributes. One that is over its limit holds none of the
// others back, unless `all_or_none` is set: then none of a call's descriptors is charged when one is over its limit.
// Peeks and refunds charge nothing, so they are always decided on their own.
//
//  - hits: the descriptor's own if present, else the request's, at least 1. The descriptor's 0 only looks: it answers
//    OVER_LIMIT when one more hit would not pass, and what is left.
//  - is_negative_hits gives hits back.
//  - a `limit` in the descriptor bypasses the rules: a fixed window of its own, kept by unit, domain and entries.
//    Denied hits count, because what Envoy sends when a request is done has happened, whatever the answer.
//  - a descriptor whose rule another descriptor's rule replaces is OK and counts for nothing.
//  - a rule whose store failed answers by its failure policy; an override has none, so a store that does not answer
//    is a failure (unavailable), and the gateway's own policy decides.
//
// One for each loop: its buffers are reused. The limiter outlives it and must take ad-hoc charges.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "frontends/envoy/rls.h"
#include "frontends/render/decision_headers.h"
#include "weir/ad_hoc.h"
#include "weir/ask.h"
#include "weir/decision.h"
#include "weir/inline_vector.h"
#include "weir/limiter.h"
#include "weir/result.h"

namespace weir::envoy {

struct RlsOptions {
  bool headers = true;  // false: none at all
  render::HeaderOptions fields{};
  std::shared_ptr<Clock> clock{};  // for resets of overrides as Unix time
  bool all_or_none = false;        // false: each descriptor is decided and charged on its own
};

// A limit that came with the descriptor: its bucket and its answer.
class Override {
 public:
  // Refers to the request's strings.
  Override(const RlsRequest& request, const RlsDescriptor& descriptor);

  // A limit of nothing has no bucket.
  bool has_bucket() const { return limit_ > 0; }
  // Without a bucket: a charge that never fits and stores nothing.
  AdHocCharge charge(Action action, Cost cost) const;
  Decision decision(const ChargeOutcome& outcome, TimePoint at) const;
  // Of a limit without a bucket.
  Decision denial(TimePoint at) const;

 private:
  std::int64_t limit_;
  TimePoint ingress_;
  Duration window_;
  InlineVector<std::string_view, kMaxAttributes> subject_;
  Allowance allowance_;
};

class RlsDecider {
 public:
  // The limiter outlives the decider.
  RlsDecider(Limiter& limiter, const RlsOptions& options) : limiter_(*limiter.ad_hoc()), options_(options) {}

  // `now(Status, const RlsAnswer&)` runs if the answer is there when this returns. Else `make_then()` is called before
  // it returns, and what that makes, `then(const Result<RlsAnswer>&)`, runs on the limiter's thread. The request may go
  // away afterwards; the decider must still be there.
  template <typename Now, typename MakeThen>
  void decide(const RlsRequest& request, Now&& now, MakeThen&& make_then);

 private:
  // What one call asks, and which descriptor each part belongs to.
  struct Plan {
    std::vector<Request> requests;
    std::vector<Action> actions;
    std::vector<std::size_t> request_index;
    std::vector<Override> overrides;
    std::vector<std::size_t> override_index;
    std::vector<AdHocCharge> charges;
    std::vector<std::size_t> charge_override;  // place in `overrides`; those without a bucket may not be charged
    std::size_t descriptors = 0;

    void clear();
  };

  void plan(const RlsRequest& request);
  void fill(GroupCall& call);
  Status answer(const Plan& plan, std::span<const Decision> decisions, std::span<const ChargeOutcome> outcomes,
                std::vector<Decision>& ordered, RlsAnswer& answer) const;
  void write(std::span<const Decision> decisions, RlsAnswer& answer) const;

  AdHocLimiter& limiter_;
  const RlsOptions options_;
  Plan plan_;
  std::vector<Decision> decisions_;
  std::vector<ChargeOutcome> outcomes_;
  std::vector<Decision> ordered_;
  RlsAnswer answer_;
};

template <typename Now, typename MakeThen>
void RlsDecider::decide(const RlsRequest& request, Now&& now, MakeThen&& make_then) {
  plan(request);
  // Moving the plan moves none of its elements, to which the call refers.
  const auto make_kept = [&] {
    return [this, then = make_then(), plan = std::make_shared<const Plan>(std::move(plan_))](
               std::span<const Decision> decisions, std::span<const ChargeOutcome> outcomes) {
      std::vector<Decision> ordered;
      RlsAnswer made;
      const Status status = answer(*plan, decisions, outcomes, ordered, made);
      then(status.ok() ? Result<RlsAnswer>(std::move(made)) : Result<RlsAnswer>(status.failure()));
    };
  };
  AskedCall<GroupCall, decltype(make_kept)> call(make_kept);
  fill(call);
  if (!limiter_.begin_group(call)) return;
  const Status status = answer(plan_, decisions_, outcomes_, ordered_, answer_);
  now(status, std::as_const(answer_));
}

}  // namespace weir::envoy
