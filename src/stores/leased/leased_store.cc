// What is answered from slices. What is asked of the store is in draws.cc.
#include "stores/leased/leased_store.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "algorithms/draw.h"

namespace weir::leased {
namespace {

// Demand is measured in quarters of a slice's life, which is also how much is drawn at a time.
constexpr int kStepsPerLife = 4;
// Asked for less than this in a step, a key is passed on.
constexpr std::int64_t kLeastDemand = 2;

Duration step_of(const SliceTerms& terms) { return std::max(terms.life / kStepsPerLife, Duration{1}); }

bool is_leased(const Charge& charge) {
  return charge.slices != nullptr && charge.slices->consistency != Consistency::synced;
}

bool is_plain(const StoreCall& call) {
  return call.hold == nullptr &&
         (call.action == Action::take || call.action == Action::peek || call.action == Action::refund);
}

}  // namespace

LeasedStore::LeasedStore(Options options)
    : inner_(std::move(options.store)),
      clock_(std::move(options.clock)),
      epoch_(std::move(options.epoch)),
      askers_(std::move(options.askers)),
      listener_(options.listener),
      seen_epoch_(epoch()) {
  assert(inner_ != nullptr && clock_ != nullptr);
}

LeasedStore::~LeasedStore() { assert(asks_.all_idle() && parts_.all_idle() && "something is in flight"); }

bool LeasedStore::begin(StoreCall& call) {
  call.answered = Consistency::exact;
  if (std::none_of(call.charges.begin(), call.charges.end(), is_leased)) return inner_->begin(call);
  drop_after_loss();
  if (!is_plain(call)) return forget(call);
  return call.action == Action::refund ? refund(call) : take(call);
}

// What else is done to a bucket is done in the store, and a bucket that is cleared begins again on this node too.
bool LeasedStore::forget(StoreCall& call) {
  const bool clears = call.action == Action::reset || call.action == Action::report_success;
  for (const Charge& charge : call.charges) {
    SliceEntry* const entry = clears && is_leased(charge) ? table_.find(charge.key) : nullptr;
    if (entry != nullptr) drop_slices(*entry);
  }
  return inner_->begin(call);
}

void LeasedStore::drop_after_loss() {
  const std::uint64_t now = epoch();
  if (now == seen_epoch_) [[likely]]
    return;
  seen_epoch_ = now;
  table_.for_each([this](SliceEntry& entry) { drop_slices(entry); });
}

void LeasedStore::drop_slices(SliceEntry& entry) {
  entry.current = entry.next = Slice{};
  entry.paced_until = TimePoint{};
}

void LeasedStore::lapse(const SliceEntry& entry, const Slice& slice) {
  if (slice.left == 0) return;
  Stats::add(stats_.lapsed, static_cast<std::uint64_t>(slice.left));
  if (listener_ != nullptr) listener_->on_lapsed(entry.key, slice.left);
}

// The entry of a charge as it is now. Null: the store is to be asked.
SliceEntry* LeasedStore::open(const Charge& charge, TimePoint now) {
  const SliceTerms& terms = *charge.slices;
  SliceEntry* const entry = table_.admit(charge.key, now, step_of(terms));
  if (entry == nullptr) return nullptr;
  if (entry->version != terms.version || entry->allowance != charge.allowance) [[unlikely]] {
    // Under other rules nothing is spent that was drawn before. Under another allowance of the same rules the store is
    // asked while there is something left of the first.
    const bool busy = entry->ask != nullptr || (entry->version == terms.version && entry->left(now) > 0);
    if (entry->allowance != nullptr && busy) return nullptr;
    drop_slices(*entry);
    entry->version = terms.version;
    entry->allowance = charge.allowance;
    entry->step = step_of(terms);
  }
  if (entry->current.left == 0 || !entry->current.live(now)) {
    const Slice over = std::exchange(entry->current, std::exchange(entry->next, Slice{}));
    lapse(*entry, over);
  }
  return entry;
}

void LeasedStore::note_heat(SliceEntry& entry, const SliceTerms& terms, TimePoint now) {
  const std::int64_t rate = entry.demand.per_step() * std::chrono::seconds(1) / step_of(terms);
  if (!entry.hot) {
    if (rate < kHotRate) {
      entry.hot_since = TimePoint{};
    } else if (entry.hot_since == TimePoint{}) {
      entry.hot_since = now;
    } else if (now - entry.hot_since >= kHotAfter) {
      entry.hot = true;
      entry.cool_since = TimePoint{};
    }
    return;
  }
  if (2 * rate >= kHotRate) {
    entry.cool_since = TimePoint{};
  } else if (entry.cool_since == TimePoint{}) {
    entry.cool_since = now;
  } else if (now - entry.cool_since >= kCoolAfter) {
    entry.hot = false;
    entry.hot_since = TimePoint{};
  }
}

bool LeasedStore::may_draw(const SliceEntry& entry, const Charge& charge) const {
  const SliceTerms& terms = *charge.slices;
  if (terms.consistency == Consistency::exact && !entry.hot) return false;
  if (charge.cost == 0 || !algorithms::can_be_drawn(charge.allowance->algorithm)) return false;
  return !algorithms::exceeds_floor(*charge.allowance, charge.cost, {.floor = terms.floor}) &&
         charge.cost <= charge.allowance->largest_cost() && entry.demand.per_step() >= kLeastDemand;
}

bool LeasedStore::spend(SliceEntry& entry, std::int64_t cost, TimePoint now, Spent& spent) {
  Slice* const slice = entry.current.covers(cost, now) ? &entry.current
                       : entry.next.covers(cost, now)  ? &entry.next
                                                       : nullptr;
  if (slice == nullptr) return false;
  slice->left -= cost;
  slice->spent += cost;
  spent = {cost, slice->ends};
  return true;
}

// To the slice that gave it, if that is still there: a slice that has ended keeps what it is given.
void LeasedStore::give_back(const Charge& charge, const Spent& spent) {
  SliceEntry* const entry = spent.units == 0 ? nullptr : table_.find(charge.key);
  if (entry == nullptr) return;
  for (Slice* const slice : {&entry->current, &entry->next}) {
    if (slice->ends != spent.slice_ends || slice->spent < spent.units) continue;
    slice->left += spent.units;
    slice->spent -= spent.units;
    return;
  }
}

void LeasedStore::give_back_all(const Waiter& waiter) {
  for (std::size_t i = 0; i < waiter.spent.size(); ++i) {
    if (waiter.covers(i)) give_back(waiter.call->charges[i], waiter.spent[i]);
  }
}

void LeasedStore::describe(const SliceEntry* entry, const Charge& charge, TimePoint now, ChargeOutcome& outcome) const {
  outcome = ChargeOutcome{};
  outcome.estimated = true;
  if (entry == nullptr) return;
  outcome.remaining = std::min(entry->store_left + entry->left(now), charge.allowance->largest_cost());
  outcome.reset_after = std::max(entry->full_at - now, Duration{0});
}

void LeasedStore::describe_spent(const Waiter& waiter, TimePoint now) {
  const StoreCall& call = *waiter.call;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    if (waiter.covers(i)) describe(table_.find(call.charges[i].key), call.charges[i], now, call.outcomes[i]);
  }
}

bool LeasedStore::answer_from_slices(const Waiter& waiter, TimePoint now) {
  waiter.call->status = Code::ok;
  waiter.call->atomic = true;
  waiter.call->answered = Consistency::leased;
  describe_spent(waiter, now);
  Stats::add(stats_.answered);
  return true;
}

// While the store has next to nothing, nodes that ask for it without a pause would only keep it busy.
bool LeasedStore::deny_paced(SliceEntry& entry, const Waiter& waiter, TimePoint now) {
  StoreCall& call = *waiter.call;
  const Charge& charge = call.charges[waiter.charge];
  if (charge.binding) give_back_all(waiter);
  answer_from_slices(waiter, now);
  ChargeOutcome& outcome = call.outcomes[waiter.charge];
  describe(&entry, charge, now, outcome);
  outcome.admitted = false;
  outcome.retry_after = entry.paced_until - now;
  outcome.reset_after = std::max(outcome.reset_after, outcome.retry_after);
  Stats::add(stats_.paced);
  return true;
}

// Nearly every call of a hot key: one bucket, and its slice covers it. False: nothing has changed.
bool LeasedStore::take_one(StoreCall& call, TimePoint now) {
  const Charge& charge = call.charges.front();
  SliceEntry* const entry = table_.find(charge.key);
  if (entry == nullptr || entry->version != charge.slices->version || entry->allowance != charge.allowance)
    return false;
  if (!entry->current.covers(charge.cost, now)) return false;
  entry->demand.add(charge.cost, now, entry->step);
  if (charge.slices->consistency == Consistency::exact) note_heat(*entry, *charge.slices, now);
  entry->current.left -= charge.cost;
  entry->current.spent += charge.cost;
  call.status = Code::ok;
  call.atomic = true;
  call.answered = Consistency::leased;
  describe(entry, charge, now, call.outcomes.front());
  Stats::add(stats_.answered);
  refill(*entry, call, charge, now);
  return true;
}

bool LeasedStore::take(StoreCall& call) {
  const TimePoint now = clock_->now();
  if (call.charges.size() == 1 && call.action == Action::take && take_one(call, now)) return true;
  const bool takes = call.action == Action::take;
  Waiter waiter;
  waiter.call = &call;
  std::size_t uncovered = 0;
  SliceEntry* asked = nullptr;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    Spent& spent = waiter.spent.append();
    spent = {};
    SliceEntry* const entry = is_leased(charge) ? open(charge, now) : nullptr;
    bool covered = false;
    if (entry != nullptr && takes) {
      entry->demand.add(charge.cost, now, entry->step);
      if (charge.slices->consistency == Consistency::exact) note_heat(*entry, *charge.slices, now);
      covered = spend(*entry, charge.cost, now, spent);
    } else if (entry != nullptr) {
      covered = entry->current.covers(charge.cost, now) || entry->next.covers(charge.cost, now);
    }
    if (covered) {
      waiter.covered |= std::uint64_t{1} << i;
    } else {
      ++uncovered;
      waiter.charge = i;
      asked = entry;
    }
  }
  if (uncovered == 0) {
    answer_from_slices(waiter, now);
    if (takes) refill(call, now);
    return true;
  }
  if (takes && uncovered == 1 && asked != nullptr && may_draw(*asked, call.charges[waiter.charge])) {
    const std::int64_t cost = call.charges[waiter.charge].cost;
    if (now < asked->paced_until && asked->store_left < cost) return deny_paced(*asked, waiter, now);
    if (asked->ask == nullptr || asked->ask->waiting.size() < kMaxWaiting) {
      return ask_for(*asked, std::move(waiter), now);
    }
  }
  if (takes) refill(call, now);
  return pass_on(waiter);
}

// Asks for more of each hot bucket before what is left runs out: in twice the time that an ask takes.
void LeasedStore::refill(const StoreCall& call, TimePoint now) {
  for (const Charge& charge : call.charges) {
    SliceEntry* const entry = is_leased(charge) ? table_.find(charge.key) : nullptr;
    if (entry != nullptr) refill(*entry, call, charge, now);
  }
}

void LeasedStore::refill(SliceEntry& entry, const StoreCall& call, const Charge& charge, TimePoint now) {
  if (entry.ask != nullptr || entry.next.left > 0 || now < entry.paced_until) return;
  const std::int64_t ahead = entry.demand.per_step() * (2 * entry.round_trip.count()) / entry.step.count();
  if (entry.left(now) >= std::max(ahead, charge.cost)) [[likely]]
    return;
  if (entry.version != charge.slices->version || entry.allowance != charge.allowance) return;
  if (may_draw(entry, charge)) ask_ahead(entry, call, charge, now);
}

// Into the slice that is being spent, if it has been spent from there; else to the store. A refund spends nothing, so
// that nothing is given back for it.
bool LeasedStore::refund(StoreCall& call) {
  const TimePoint now = clock_->now();
  Waiter waiter;
  waiter.call = &call;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    SliceEntry* const entry = is_leased(charge) ? table_.find(charge.key) : nullptr;
    const bool ours = entry != nullptr && entry->version == charge.slices->version;
    if (!ours || !entry->current.live(now)) continue;
    if (entry->current.spent < charge.cost) continue;
    entry->current.left += charge.cost;
    entry->current.spent -= charge.cost;
    waiter.covered |= std::uint64_t{1} << i;
  }
  const std::size_t uncovered = call.charges.size() - static_cast<std::size_t>(std::popcount(waiter.covered));
  return uncovered == 0 ? answer_from_slices(waiter, now) : pass_on(waiter);
}

// Units of a slice are owed by the bucket. After a refund of more than was used it owes less than that, and both
// together would be better than full: the slices are cut to what it owes.
void LeasedStore::trim_slices(const Waiter& waiter, TimePoint now) {
  const StoreCall& call = *waiter.call;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    if (waiter.covers(i) || !is_leased(charge) || call.outcomes[i].status != Code::ok) continue;
    SliceEntry* const entry = table_.find(charge.key);
    if (entry == nullptr) continue;
    std::int64_t owed = std::max<std::int64_t>(0, charge.allowance->largest_cost() - call.outcomes[i].remaining);
    for (Slice* const slice : {&entry->current, &entry->next}) {
      if (!slice->live(now)) continue;
      Slice cut = *slice;
      cut.left = std::max<std::int64_t>(0, slice->left - owed);
      slice->left -= cut.left;
      owed -= slice->left;
      lapse(*entry, cut);
    }
  }
}

std::size_t LeasedStore::leased_keys() {
  const TimePoint now = clock_->now();
  std::size_t keys = 0;
  table_.for_each([&](const SliceEntry& entry) { keys += entry.left(now) > 0 ? 1 : 0; });
  return keys;
}

}  // namespace weir::leased
