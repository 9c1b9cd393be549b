// Leases while the hash key is being rotated: RotatingLimiter::begin_lease().
#include "engine/rotating_holds.h"
#include "engine/rotating_limiter.h"

namespace weir::engine {
namespace {

struct LeaseSide {
  using Limiter = LeaseLimiter;
  using Call = LeaseCall;
  using Verb = LeaseQuestion::Verb;
  static constexpr Verb kTake = Verb::acquire;
  static constexpr Verb kGiveBack = Verb::release;
  static constexpr bool kJoinsLater = true;  // renewing gives a new handle

  static bool begin(LeaseLimiter& limiter, LeaseCall& call) { return limiter.begin_lease(call); }
  static bool is_over(const LeaseQuestion& question, const LeaseAnswer& first) {
    if (question.verb == Verb::acquire) return first.fault != HoldFault::none || !first.decision.allowed;
    return question.verb == Verb::list || first.fault == HoldFault::invalid || first.fault == HoldFault::gone;
  }
  static void follow(LeaseQuestion&, const LeaseAnswer&) {}
  static void join(LeaseAnswer& first, const LeaseAnswer& second) { first.ttl = std::min(first.ttl, second.ttl); }
};

}  // namespace

bool RotatingLimiter::begin_lease(LeaseCall& call) {
  auto* const rotation = new HoldRotation<LeaseSide>(*previous_.leases(), *current_.leases(), call);  // owns itself
  return rotation->start();
}

}  // namespace weir::engine
