// The subjects of the rules that an operation charges (subject_census.h).
#include "stores/redis/operation.h"

namespace weir::redis {

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
  if (call.action != Action::take) return;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const ChargeOutcome& outcome = call.outcomes[i];
    if (call.charges[i].number == 0 || outcome.status != Code::ok || outcome.reset_after.count() <= 0) continue;
    host_.census().record(call.charges[i], outcome.reset_after, now);
  }
}

}  // namespace weir::redis
