#include "stores/memory/transaction.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "algorithms/bucket.h"
#include "algorithms/distinct_values.h"

namespace weir::memory {
namespace {

constexpr std::array<std::int64_t, algorithms::kHeadWords> kFreshHead{};
// A reservation may be closed at any time.
constexpr Duration kCrowdedHint = std::chrono::seconds(1);
constexpr std::size_t kFirstHolds = 2;

}  // namespace

// An idle bucket is fresh, whatever numbers ask: whether it has been swept must make no difference.
bool Transaction::fresh(std::size_t i) const { return entries_[i].idle_from_us <= entries_[i].now_us; }

algorithms::ConstBucketWords Transaction::words(std::size_t i) const {
  Slot* const slot = entries_[i].slot;
  if (slot == nullptr) return {kFreshHead, {}};
  return fresh(i) ? algorithms::ConstBucketWords(kFreshHead, slot->words().tail)
                  : algorithms::ConstBucketWords(slot->words());
}

// To be changed now.
algorithms::BucketWords Transaction::changing_words(std::size_t i) {
  const algorithms::BucketWords words = entries_[i].slot->words();
  if (fresh(i)) {
    std::fill(words.head.begin(), words.head.end(), 0);
    entries_[i].slot->holds().clear();
    entries_[i].idle_from_us = Slot::kLatestIdle;
  }
  return words;
}

void Transaction::add(Shard& shard) {
  assert(size_ < kMaxCharges);
  entries_[size_] =
      Entry{&shard, nullptr, std::max(micros(call_.now), shard.floor_us()), Slot::kLatestIdle, false, false, false,
            false,  false};
  locate(size_);
  guarded_ = guarded_ || is_penalty(size_);
  candidates_ = candidates_ || call_.charges[size_].candidate;
  if (entries_[size_].slot != nullptr) {
    entries_[size_].idle_from_us = entries_[size_].slot->idle_from_us();
    if (is_lease(size_)) open_leases(size_);
    if (entries_[size_].slot->has_holds()) open_holds(size_);
  }
  ++size_;
}

void Transaction::locate(std::size_t i) {
  const Charge& charge = call_.charges[i];
  Slot* const slot = entries_[i].shard->find(table_key(charge));
  // After a reload under another algorithm the words mean something else: the bucket starts fresh.
  const bool is_its_own = slot != nullptr && slot->holds(SlotKind::of(charge));
  entries_[i].slot = is_its_own ? slot : nullptr;
  entries_[i].other_kind = slot != nullptr && !is_its_own;
  entries_[i].moved = false;
}

// After an insertion or deletion for `by`, which moves the other slots of its shard.
void Transaction::mark_moved(std::size_t by) {
  for (std::size_t i = 0; i < size_; ++i) {
    entries_[i].moved = entries_[i].moved || (i != by && entries_[i].shard == entries_[by].shard);
  }
}

void Transaction::locate_moved() {
  for (std::size_t i = 0; i < size_; ++i) {
    if (entries_[i].moved) locate(i);
  }
}

bool Transaction::run() {
  bool room = true;
  if (find_newcomers()) return true;
  if (reserves()) {
    room = run_reservation();
    report_in_callers_time();
    return room;
  }
  switch (call_.action) {
    case Action::take:
      room = call_.hold == nullptr ? take() : take_hold();
      break;
    case Action::peek:
      if (call_.hold != nullptr && call_.hold->named && answer_known()) break;
      evaluate_all();
      for (std::size_t i = 0; i < size_; ++i) describe_uncharged(i);
      break;
    case Action::refund:
      refund();
      break;
    case Action::reset:
      reset();
      break;
    case Action::renew:
      room = renew_hold();
      break;
    case Action::settle:
      settle_hold();
      break;
    case Action::list:
      list_holds();
      break;
    case Action::report_failure:
    case Action::report_success:
      report();
      break;
    case Action::draw:
      room = draw();
      break;
  }
  report_in_callers_time();
  return room;
}

// True: nothing is to be charged, because some charge belongs to the shared bucket of its rule.
bool Transaction::find_newcomers() {
  const bool counts = call_.action == Action::take || call_.action == Action::peek || call_.action == Action::refund ||
                      call_.action == Action::draw;
  bool any = false;
  for (std::size_t i = 0; i < size_ && counts; ++i) {
    const Charge& charge = call_.charges[i];
    if (charge.max_subjects == 0 || charge.number == 0 || entries_[i].slot != nullptr) continue;
    entries_[i].newcomer = budget_.subjects().of(charge.number) >= charge.max_subjects;
    any = any || entries_[i].newcomer;
  }
  for (std::size_t i = 0; i < size_ && any; ++i) {
    call_.outcomes[i] =
        entries_[i].newcomer ? ChargeOutcome{.status = Code::out_of_range, .admitted = false} : ChargeOutcome{};
  }
  return any;
}

bool Transaction::take() {
  const bool admitted = evaluate_all();
  const bool room = !admitted || all_ready() || make_room();
  if (admitted && room) {
    for (std::size_t i = 0; candidates_ && i < size_; ++i) {
      if (call_.charges[i].candidate && !entries_[i].charge) describe_uncharged(i);
    }
    charge_all();
  } else {
    for (std::size_t i = 0; i < size_; ++i) describe_uncharged(i);
    if (candidates_ && room) charge_candidates();
  }
  if (room) count_denied();
  if (room && guarded_) strike_denied();
  return room;
}

ChargeOutcome Transaction::evaluate(std::size_t i, std::int64_t cost) const {
  const Entry& entry = entries_[i];
  if (is_record(i) || is_penalty(i)) return {};
  if (is_lease(i)) return evaluate_leases(i, cost, call_.hold != nullptr && call_.action == Action::take);
  if (is_distinct(i)) {
    return algorithms::evaluate_distinct(*call_.charges[i].allowance, words(i), entry.now_us,
                                         {.value = call_.charges[i].value, .others = pending_values(i)}, cost);
  }
  ChargeOutcome outcome = algorithms::evaluate(*call_.charges[i].allowance, words(i), from_micros(entry.now_us), cost);
  if (!fresh(i) && (!outcome.admitted || cost == 0)) bound_waits(entry.idle_from_us, entry.now_us, outcome);
  return outcome;
}

// True when no binding charge is denied.
bool Transaction::evaluate_all() {
  bool admitted = true;
  for (std::size_t i = 0; i < size_; ++i) {
    const Charge& charge = call_.charges[i];
    ChargeOutcome& outcome = call_.outcomes[i];
    outcome = evaluate(i, cost(i));
    if (outcome.admitted && holds_here(i) && too_crowded(i)) {
      outcome = evaluate(i, 0);
      outcome.admitted = false;
      outcome.crowded = true;
      outcome.retry_after = kCrowdedHint;
    }
    entries_[i].charge = outcome.admitted && (cost(i) > 0 || holds_here(i)) && (!is_lease(i) || call_.hold != nullptr);
    admitted = admitted && (outcome.admitted || !charge.binding);
  }
  if (guarded_) admitted = apply_penalties() && admitted;
  return admitted;
}

bool Transaction::ready(std::size_t i) {
  if (entries_[i].slot == nullptr) return false;
  if (is_record(i)) return !entries_[i].slot->kind().is_page() || RecordPage(entries_[i].slot->words()).complete();
  if (adds_hold(i)) {
    const algorithms::BucketHolds holds = entries_[i].slot->holds();
    if (holds.size() >= holds.room()) return false;
  }
  return tail_words_needed(i) <= entries_[i].slot->words().tail.size();
}

std::size_t Transaction::tail_words_needed(std::size_t i) {
  const Charge& charge = call_.charges[i];
  if (is_lease(i)) return leases(i).words_for_one_more(entries_[i].now_us);
  if (is_distinct(i)) {
    return algorithms::distinct_words_needed(words(i), entries_[i].now_us,
                                             {.value = charge.value, .others = pending_values(i)});
  }
  return algorithms::tail_words_needed(*charge.allowance, words(i), from_micros(entries_[i].now_us), cost(i));
}

bool Transaction::all_ready() {
  for (std::size_t i = 0; i < size_; ++i) {
    if (entries_[i].charge && !ready(i)) return false;
  }
  return true;
}

// Gives every charge its slot and tail. False: a binding charge found no room, and the table is as it was.
bool Transaction::make_room() {
  // An insertion forgets idle buckets, and must not forget one that this call is about to charge.
  for (std::size_t i = 0; i < size_; ++i) {
    if (entries_[i].charge && entries_[i].slot != nullptr) entries_[i].shard->pin(*entries_[i].slot);
  }
  bool room = true;
  for (std::size_t i = 0; i < size_ && room; ++i) {
    if (!entries_[i].charge || make_room_for(i)) continue;
    // Holds cannot be counted more coarsely, and a subject that has a bucket is no newcomer: it is denied.
    const bool is_known = (is_lease(i) || reserves()) && entries_[i].slot != nullptr && !entries_[i].created;
    if (entries_[i].newcomer) {
      call_.outcomes[i] = ChargeOutcome{.status = Code::out_of_range, .admitted = false};
      room = false;
      entries_[i].charge = false;
      continue;
    }
    call_.outcomes[i] = is_known
                            ? ChargeOutcome{.admitted = false, .retry_after = algorithms::LeaseBucket::kLongestHint}
                            : ChargeOutcome{.status = Code::resource_exhausted, .admitted = false};
    room = !call_.charges[i].binding;
    take_back(i);
    entries_[i].charge = false;
  }
  for (std::size_t i = 0; i < size_ && !room; ++i) {
    if (entries_[i].charge) take_back(i);
  }
  locate_moved();
  return room;
}

bool Transaction::make_room_for(std::size_t i) {
  const Charge& charge = call_.charges[i];
  Entry& entry = entries_[i];
  const SlotKind kind = SlotKind::of(charge);
  if (entry.moved || entry.other_kind) entry.slot = entry.shard->find(table_key(charge));
  if (entry.slot == nullptr) {
    mark_moved(i);
    entry.slot = entry.shard->insert(table_key(charge), kind, entry.now_us, budget_, charge.number);
    entry.created = entry.slot != nullptr;
    if (entry.created && charge.number != 0 && !may_stay(i)) return false;
  } else if (!entry.slot->holds(kind)) {
    mark_moved(i);
    entry.shard->renew(*entry.slot, kind, budget_);
    entry.shard->pin(*entry.slot);
    entry.other_kind = false;
    entry.created = true;
  }
  if (entry.slot == nullptr) return false;
  if (kind.is_page()) return entry.shard->grow_tail(*entry.slot, RecordPage::kWords, budget_);
  return is_record(i) || is_penalty(i) || grow_tail(i);
}

// Calls in other shards may have made the rule's last bucket since find_newcomers().
bool Transaction::may_stay(std::size_t i) {
  const Charge& charge = call_.charges[i];
  Entry& entry = entries_[i];
  budget_.subjects().name(charge.number, charge.rule);
  entry.newcomer = charge.max_subjects != 0 && budget_.subjects().of(charge.number) > charge.max_subjects;
  if (!entry.newcomer) return true;
  mark_moved(i);
  entry.shard->erase(*entry.slot, budget_);
  entry.slot = nullptr;
  entry.created = false;
  return false;
}

// A bucket that cannot grow is no newcomer: it is charged in the room that it has, and counts more coarsely. A new one
// has no tail yet, and is refused.
bool Transaction::grow_tail(std::size_t i) {
  Entry& entry = entries_[i];
  if (adds_hold(i)) {
    if (fresh(i)) entry.slot->holds().clear();
    const algorithms::BucketHolds holds = entry.slot->holds();
    const std::size_t room = std::min(std::max(kFirstHolds, 2 * holds.room()), kMaxHoldsPerBucket);
    if (holds.size() >= holds.room() && !entry.shard->grow_holds(*entry.slot, room, budget_)) return false;
  }
  if (entry.shard->grow_tail(*entry.slot, tail_words_needed(i), budget_)) return true;
  if (is_lease(i) || is_distinct(i)) return false;
  const Algorithm algorithm = call_.charges[i].allowance->algorithm;
  if (entry.slot->words().tail.size() < algorithms::least_tail_words(algorithm)) return false;
  entry.shard->count_coarse();
  return true;
}

// Undoes what make_room() has done for a charge that will not be charged.
void Transaction::take_back(std::size_t i) {
  Entry& entry = entries_[i];
  locate(i);
  if (entry.slot == nullptr) return;
  if (entry.created) {
    mark_moved(i);
    entry.shard->erase(*entry.slot, budget_);
    entry.slot = nullptr;
  } else {
    entry.shard->set_idle_from(*entry.slot, entry.idle_from_us);
  }
}

void Transaction::charge_all() {
  for (std::size_t i = 0; i < size_; ++i) {
    if (!entries_[i].charge) continue;
    const Charge& charge = call_.charges[i];
    if (is_record(i)) continue;  // written when all is known
    if (is_lease(i)) {
      add_lease(i);
    } else if (is_distinct(i)) {
      charge_value(i);
    } else {
      const algorithms::BucketWords words = changing_words(i);
      if (entries_[i].slot->has_holds()) entries_[i].slot->holds().note(*charge.allowance, words, entries_[i].now_us);
      algorithms::charge(*charge.allowance, words, from_micros(entries_[i].now_us), cost(i));
      if (holds_here(i)) add_hold(i);
    }
    refresh_idle(i);
  }
}

// A denied attempt of a rule with count_denied consumes what is left, whether the call was denied or (for a shadow
// rule) not, and also when its cost could never fit. Where there is no room for that, the denial is not counted.
void Transaction::count_denied() {
  for (std::size_t i = 0; i < size_; ++i) {
    const Charge& charge = call_.charges[i];
    ChargeOutcome& outcome = call_.outcomes[i];
    if (!charge.count_denied || !is_bucket(i) || outcome.admitted || outcome.status != Code::ok) continue;
    if (outcome.crowded || outcome.penalized) continue;
    Entry& entry = entries_[i];
    const bool had_bucket = entry.slot != nullptr;
    // Without a bucket only too large a cost is denied, so it is there, unless making room for another charge has just
    // found it idle by the limits that it was last charged under.
    if (!had_bucket && !outcome.too_large) continue;
    const bool room = make_room_for(i);
    if (!room) take_back(i);
    if (!had_bucket) locate_moved();
    if (!room) continue;
    bool changes = entry.created || fresh(i);
    const algorithms::BucketWords words = changing_words(i);
    if (entry.slot->has_holds()) entry.slot->holds().note(*charge.allowance, words, entry.now_us);
    // The overdraft is for work that has been done already, and is reported afterwards.
    std::int64_t uncharged = 0;
    if (charge.follows && !reserves()) {
      uncharged = cost(i) - algorithms::charge_beyond(*charge.allowance, words, from_micros(entry.now_us), cost(i));
      changes |= uncharged < cost(i);
    } else {
      algorithms::charge_denied(*charge.allowance, words, from_micros(entry.now_us), cost(i));
      changes = true;
    }
    if (changes) refresh_idle(i);
    outcome = evaluate(i, cost(i));
    outcome.uncharged = uncharged;
  }
}

void Transaction::refund() {
  for (std::size_t i = 0; i < size_; ++i) {
    const Charge& charge = call_.charges[i];
    if (entries_[i].slot != nullptr && !fresh(i) && is_bucket(i) &&
        algorithms::refund(*charge.allowance, entries_[i].slot->words(), from_micros(entries_[i].now_us),
                           charge.cost)) {
      entries_[i].slot->holds().note(*charge.allowance, entries_[i].slot->words(), entries_[i].now_us);
      refresh_idle(i);
    }
    call_.outcomes[i] = evaluate(i, 0);
  }
}

void Transaction::reset() {
  for (std::size_t i = 0; i < size_; ++i) {
    // Found again, because an erasure in the same shard moves slots.
    Slot* const slot = entries_[i].shard->find(call_.charges[i].key);
    if (slot != nullptr) entries_[i].shard->erase(*slot, budget_);
    entries_[i].slot = nullptr;
    entries_[i].idle_from_us = Slot::kLatestIdle;
    call_.outcomes[i] = evaluate(i, 0);
  }
}

// `remaining` and `reset_after` tell what is left after the call; where the call took nothing, that is the bucket as
// it is.
void Transaction::describe_uncharged(std::size_t i) {
  ChargeOutcome& outcome = call_.outcomes[i];
  if (!outcome.admitted || cost(i) == 0) return;
  const ChargeOutcome standing = evaluate(i, 0);
  outcome.remaining = standing.remaining;
  outcome.reset_after = standing.reset_after;
}

// Where the shard's time is ahead of the caller's, waits counted from the former are too short for the latter.
void Transaction::report_in_callers_time() {
  for (std::size_t i = 0; i < size_; ++i) {
    const Duration ahead = from_micros(entries_[i].now_us) - call_.now;
    if (ahead.count() <= 0) continue;
    ChargeOutcome& outcome = call_.outcomes[i];
    for (Duration* wait : {&outcome.retry_after, &outcome.reset_after, &outcome.delay}) {
      if (wait->count() > 0) *wait += ahead;
    }
  }
}

void Transaction::refresh_idle(std::size_t i) {
  Entry& entry = entries_[i];
  std::int64_t idle_us = is_lease(i) ? leases(i).idle_from_us()
                                     : micros(algorithms::idle_from(*call_.charges[i].allowance, entry.slot->words()));
  if (is_distinct(i)) idle_us = algorithms::distinct_idle_from(entry.slot->words().head);
  // A reservation is known until it lapses, also where it has nothing left to return.
  if (entry.slot->has_holds()) idle_us = std::max(idle_us, entry.slot->holds().last_us());
  entry.shard->set_idle_from(*entry.slot, idle_us);
  entry.idle_from_us = entry.slot->idle_from_us();
}

}  // namespace weir::memory
