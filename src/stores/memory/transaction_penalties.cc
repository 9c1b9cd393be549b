// Penalties (weir/penalty.h): what a call does to the charges of kind `penalty`, each of which belongs to a bucket's.
// Also candidates, which belong to a bucket's charge as well, and counts of different values.
#include "algorithms/penalty.h"

#include <algorithm>

#include "algorithms/distinct_values.h"
#include "stores/memory/transaction.h"

namespace weir::memory {

algorithms::PenaltyStanding Transaction::standing(std::size_t i) const {
  if (entries_[i].slot == nullptr || fresh(i)) return {};
  return algorithms::penalty_standing(*call_.charges[i].penalty, entries_[i].slot->words().head, entries_[i].now_us);
}

// A penalty denies whatever its bucket has left. False: one of a binding charge does.
bool Transaction::apply_penalties() {
  bool admitted = true;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_penalty(i)) continue;
    const algorithms::PenaltyStanding found = standing(i);
    if (!found.penalized) continue;
    const std::size_t of = call_.charges[i].of;
    ChargeOutcome& outcome = call_.outcomes[of];
    // The wait that helps is the longer one: the bucket may be exhausted, too.
    const Duration own = outcome.admitted ? Duration::zero() : outcome.retry_after;
    if (outcome.admitted) describe_uncharged(of);
    outcome.admitted = false;
    outcome.too_large = false;
    outcome.penalized = true;
    outcome.challenge = found.challenge;
    outcome.retry_after = std::max(found.wait, own);
    outcome.reset_after = std::max(outcome.reset_after, outcome.retry_after);
    outcome.delay = Duration::zero();
    entries_[of].charge = false;
    if (candidates_) withhold_candidates(of);
    admitted = admitted && !call_.charges[of].binding;
  }
  return admitted;
}

// Where there is no room for the first strike of a subject, it is not counted.
bool Transaction::strike(std::size_t i) {
  Entry& entry = entries_[i];
  if (entry.slot == nullptr) {
    const bool room = make_room_for(i);
    if (!room) take_back(i);
    locate_moved();
    if (!room) return false;
  }
  algorithms::penalty_strike(*call_.charges[i].penalty, changing_words(i).head, entry.now_us);
  keep_penalty(i);
  return true;
}

void Transaction::keep_penalty(std::size_t i) {
  Entry& entry = entries_[i];
  entry.shard->set_idle_from(*entry.slot,
                             algorithms::penalty_idle_from(*call_.charges[i].penalty, entry.slot->words().head));
  entry.idle_from_us = entry.slot->idle_from_us();
}

// Denials by a rule's own bucket that a wait could help are strikes; those by its penalty are none.
void Transaction::strike_denied() {
  bool any = false;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_penalty(i) || !call_.charges[i].penalty->on_denied) continue;
    const ChargeOutcome& outcome = call_.outcomes[call_.charges[i].of];
    const bool counts = !outcome.admitted && !outcome.too_large && !outcome.penalized && !outcome.crowded;
    if (counts && outcome.status == Code::ok) any = strike(i) || any;
  }
  if (any) apply_penalties();
}

// What callers have said of the work that was admitted. A success also clears the buckets whose charge has a cost.
void Transaction::report() {
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_penalty(i) || !call_.charges[i].penalty->on_reported) continue;
    if (call_.action == Action::report_failure) {
      if (!standing(i).penalized) strike(i);
    } else if (entries_[i].slot != nullptr && !fresh(i)) {
      algorithms::penalty_success(*call_.charges[i].penalty, entries_[i].slot->words().head, entries_[i].now_us);
      keep_penalty(i);
    }
  }
  for (std::size_t i = 0; i < size_; ++i) {
    if (call_.action != Action::report_success || call_.charges[i].kind != ChargeKind::bucket) continue;
    if (call_.charges[i].cost == 0) continue;
    // Found again, because an erasure in the same shard moves slots.
    Slot* const slot = entries_[i].shard->find(call_.charges[i].key);
    if (slot == nullptr) continue;
    mark_moved(i);
    entries_[i].shard->erase(*slot, budget_);
    entries_[i].slot = nullptr;
    entries_[i].idle_from_us = Slot::kLatestIdle;
  }
  locate_moved();
  describe_all();
  apply_penalties();
}

// What a penalty refuses, a candidate does not judge.
void Transaction::withhold_candidates(std::size_t of) {
  for (std::size_t i = 0; i < size_; ++i) {
    if (call_.charges[i].candidate && call_.charges[i].of == of) entries_[i].charge = false;
  }
}

// In a call that is denied: a candidate is charged all the same if nothing denies but the charge that it belongs to.
void Transaction::charge_candidates() {
  std::size_t denials = 0;
  std::size_t denier = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (call_.outcomes[i].admitted || !call_.charges[i].binding) continue;
    ++denials;
    denier = i;
  }
  bool any = false;
  for (std::size_t i = 0; i < size_; ++i) {
    const bool alone = call_.charges[i].candidate && denials == 1 && call_.charges[i].of == denier;
    entries_[i].charge = entries_[i].charge && alone;
    if (!entries_[i].charge) continue;
    call_.outcomes[i] = evaluate(i, cost(i));
    any = true;
  }
  // Where there is no room for it, it is not counted.
  if (any && (all_ready() || make_room())) charge_all();
}

// How many values the call adds to the same bucket before this one: those of a group may be different.
std::int64_t Transaction::pending_values(std::size_t i) const {
  std::int64_t others = 0;
  for (std::size_t k = 0; k < i; ++k) {
    const Charge& before = call_.charges[k];
    if (before.key != call_.charges[i].key || !is_distinct(k) || !entries_[k].charge) continue;
    others += algorithms::has_distinct(words(k), entries_[k].now_us, before.value) ? 0 : 1;
  }
  return others;
}

void Transaction::charge_value(std::size_t i) {
  const Charge& charge = call_.charges[i];
  algorithms::charge_distinct(*charge.allowance, changing_words(i), entries_[i].now_us, charge.value);
  // For those the bucket is no longer what the call has found.
  for (std::size_t k = i + 1; k < size_; ++k) {
    if (call_.charges[k].key == charge.key) entries_[k].idle_from_us = Slot::kLatestIdle;
  }
}

}  // namespace weir::memory
