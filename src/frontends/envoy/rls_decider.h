// RlsDecider: what Envoy asks, decided by a Limiter. Each descriptor is a request of its own: its entries and the
// domain are the attributes. One that is over its limit holds none of the others back, unless `check_together` is set:
// then none of a call's descriptors is charged when one is over its limit. Looks and refunds charge nothing, so they
// are always decided on their own.
//
//  - hits: the descriptor's own if present, else the request's, at least 1. The descriptor's 0 only looks: it answers
//    OVER_LIMIT when one more hit would not pass, and what is left.
//  - is_negative_hits gives hits back.
//  - a `limit` in the descriptor bypasses the rules: a fixed window of its own, kept by unit, domain and entries.
//  Denied
//    hits count, because what Envoy sends when a request is done has happened, whatever the answer.
//  - a descriptor whose rule another descriptor's rule replaces is OK and counts for nothing.
//  - a rule whose store failed answers by its failure policy; an override has none, so a store that does not answer
//    is a failure (unavailable), and the gateway's own policy decides.
//
// One for each loop: its buffers are reused. The limiter outlives it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "frontends/envoy/rls.h"
#include "weir/decision.h"
#include "weir/limiter.h"
#include "weir/result.h"

namespace weir::envoy {

// Marks the requests of one call whose rule is replaced by that of another. As many marks as requests, all false.
using FindReplaced = std::function<void(std::span<const Request> requests, std::span<bool> replaced)>;

// Decides requests and ad-hoc charges as one: all of them are charged, or none that is within its limit. The completion
// runs once, and before the call returns if the limiter is immediate.
using CheckTogether = std::function<void(
    std::span<const Request> requests, std::span<const AdHocCharge> charges,
    std::function<void(std::span<const Decision> decisions, std::span<const ChargeOutcome> outcomes)> done)>;

struct RlsOptions {
  bool headers = true;             // fill in RateLimit, RateLimit-Policy and Retry-After
  bool legacy_headers = false;     // X-RateLimit-Limit, -Remaining and -Reset too
  FindReplaced find_replaced{};    // none: no rule replaces another
  CheckTogether check_together{};  // none: each descriptor is decided and charged on its own
};

class RlsDecider {
 public:
  using Completion = std::function<void(const Result<RlsAnswer>&)>;

  RlsDecider(Limiter& limiter, RlsOptions options) : limiter_(limiter), options_(std::move(options)) {}

  // True when decide() with an answer may be called: it never waits.
  bool immediate() const { return limiter_.immediate(); }
  // Precondition: immediate(). Marks what is replaced in the request.
  Status decide(RlsRequest& request, RlsAnswer& answer);
  // For any limiter. `done` runs once, now or later, on whatever thread the limiter completes on.
  void decide(RlsRequest& request, Completion done);

 private:
  struct Pending;

  void mark_replaced(RlsRequest& request);
  bool charges_together(const RlsRequest& request) const;
  void begin_all(const RlsRequest& request, Completion done) const;
  void begin_together(const RlsRequest& request, const std::shared_ptr<Pending>& pending) const;
  bool decide_one(const RlsRequest& request, const RlsDescriptor& descriptor, Decision& decision);
  void begin(const RlsRequest& request, std::size_t index, const std::shared_ptr<Pending>& pending) const;
  void write(std::span<const Decision> decisions, RlsAnswer& answer) const;

  Limiter& limiter_;
  const RlsOptions options_;
  std::vector<Request> requests_;
  std::vector<Decision> decisions_;
};

}  // namespace weir::envoy
