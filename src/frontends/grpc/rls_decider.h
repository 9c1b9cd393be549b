// RlsDecider: what Envoy asks, decided by a Limiter. Each descriptor is a request of its own: its entries and the
// domain are the attributes, and one that is over its limit holds none of the others back.
//
//  - hits: the descriptor's own if present, else the request's, at least 1. The descriptor's 0 only looks: it answers
//    OVER_LIMIT when one more hit would not pass, and what is left.
//  - is_negative_hits gives hits back.
//  - a `limit` in the descriptor bypasses the rules: a fixed window of its own, kept by domain and entries.
//  - a rule whose store failed answers by its failure policy; an override has none, so a store that does not answer
//    is a failure (unavailable), and the gateway's own policy decides.
//
// One for each loop: its buffers are reused. The limiter outlives it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "frontends/grpc/rls.h"
#include "weir/decision.h"
#include "weir/limiter.h"
#include "weir/result.h"

namespace weir::grpc {

class RlsDecider {
 public:
  using Completion = std::function<void(const Result<RlsAnswer>&)>;

  // `headers`: fill in RateLimit, RateLimit-Policy and Retry-After.
  RlsDecider(Limiter& limiter, bool headers) : limiter_(limiter), headers_(headers) {}

  // True when decide() with an answer may be called: it never waits.
  bool immediate() const { return limiter_.immediate(); }
  // Precondition: immediate().
  Status decide(const RlsRequest& request, RlsAnswer& answer);
  // For any limiter. `done` runs once, now or later, on whatever thread the limiter completes on.
  void decide(const RlsRequest& request, Completion done) const;

 private:
  struct Pending;

  bool decide_one(const RlsRequest& request, const RlsDescriptor& descriptor, Decision& decision);
  void begin(const RlsRequest& request, std::size_t index, const std::shared_ptr<Pending>& pending) const;
  void write(std::span<const Decision> decisions, RlsAnswer& answer) const;

  Limiter& limiter_;
  const bool headers_;
  std::vector<Request> requests_;
  std::vector<Decision> decisions_;
};

}  // namespace weir::grpc
