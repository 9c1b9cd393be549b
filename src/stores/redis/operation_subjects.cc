// The subjects of the rules that an operation charges (subject_census.h).
#include <algorithm>

#include "stores/redis/operation.h"

namespace weir::redis {
namespace {

// How long the bucket of a charge is there from now on. What the outcome of a lease says is of the time before it was
// taken; a reservation keeps its buckets too.
Duration lifetime(const StoreCall& call, std::size_t charge) {
  const Duration known = call.outcomes[charge].reset_after;
  if (call.hold == nullptr || call.hold->state != HoldState::taken) return known;
  const bool keeps = call.charges[charge].kind == ChargeKind::lease || call.hold->reservation;
  return keeps ? std::max(known, call.hold->ttl) : known;
}

}  // namespace

void Operation::look_at_subjects(SteadyTime now) {
  full_ = 0;
  for (std::size_t i = 0; i < call_->charges.size(); ++i) {
    const Charge& charge = call_->charges[i];
    if (charge.max_subjects == 0 || charge.number == 0) continue;
    const SubjectCensus::View view = host_.census().look(charge, now);
    if (view.full) full_ |= std::uint64_t{1} << i;
    if (view.due) host_.exchange_census(charge.number, now);
  }
}

void Operation::record_subjects(const StoreCall& call, SteadyTime now) {
  if (call.action != Action::take && call.action != Action::draw) return;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const ChargeOutcome& outcome = call.outcomes[i];
    const Duration lives = lifetime(call, i);
    if (call.charges[i].number == 0 || outcome.status != Code::ok || lives <= Duration::zero()) continue;
    host_.census().record(call.charges[i], lives, now);
  }
}

}  // namespace weir::redis
