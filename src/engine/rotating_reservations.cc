// Reservations while the hash key is being rotated: RotatingLimiter::begin_reservation().
#include "engine/rotating_holds.h"
#include "engine/rotating_limiter.h"

namespace weir::engine {
namespace {

struct ReservationSide {
  using Limiter = ReservationLimiter;
  using Call = ReservationCall;
  using Verb = ReservationQuestion::Verb;
  static constexpr Verb kTake = Verb::reserve;
  static constexpr Verb kGiveBack = Verb::release;
  static constexpr bool kJoinsLater = false;

  static bool begin(ReservationLimiter& limiter, ReservationCall& call) { return limiter.begin_reservation(call); }
  static bool is_over(const ReservationQuestion& question, const ReservationAnswer& first) {
    const bool takes = question.verb == Verb::reserve || question.verb == Verb::extend;
    const bool denied = takes && first.fault == HoldFault::none && !first.decision.allowed;
    const bool failed = first.fault != HoldFault::none && first.fault != HoldFault::forged;
    return question.verb == Verb::list || question.dry_run || denied || failed;
  }
  // As much as the previous key has granted.
  static void follow(ReservationQuestion& question, const ReservationAnswer& first) {
    question.partial = false;
    question.amount = first.granted;
  }
  static void join(ReservationAnswer&, const ReservationAnswer&) {}
};

}  // namespace

bool RotatingLimiter::begin_reservation(ReservationCall& call) {
  auto* const rotation =
      new HoldRotation<ReservationSide>(*previous_.reservations(), *current_.reservations(), call);  // owns itself
  return rotation->start();
}

}  // namespace weir::engine
