// What a LeasedStore asks of the store behind it: draws, and the parts of calls that slices do not cover.
#include <algorithm>
#include <cassert>
#include <utility>

#include "stores/leased/leased_store.h"

namespace weir::leased {
namespace {

// After so many asks that did not suffice for them, waiting calls are passed on one by one.
constexpr int kMaxRounds = 3;

// What the rate refills in a time, rounded up.
std::int64_t refilled_in(const Allowance& allowance, Duration time) {
  __extension__ typedef __int128 Wide;
  return static_cast<std::int64_t>((Wide{allowance.rate_units} * time.count() + allowance.rate_ticks - 1) /
                                   std::max<std::int64_t>(allowance.rate_ticks, 1));
}

void complete_all(std::vector<StoreCall*>& done) {
  for (StoreCall* const call : done) call->complete();
}

}  // namespace

void Ask::complete() { owner_.answered(*this); }
void PartOfCall::complete() { owner_.part_answered(*this); }

Ask& LeasedStore::make_ask(SliceEntry& entry, const StoreCall& call, const Charge& charge, std::int64_t cost,
                           TimePoint now) {
  Ask& ask = asks_.take(*this);
  ask.allowance = *charge.allowance;
  ask.asked_under = charge.allowance;
  ask.terms = *charge.slices;
  ask.charge = charge;
  ask.charge.allowance = &ask.allowance;
  ask.charge.slices = nullptr;
  ask.charge.binding = true;
  ask.charge.cost = cost;
  ask.outcome = ChargeOutcome{};
  ask.step = DrawStep{};
  ask.step.want = entry.demand.per_step() + cost;
  ask.step.parts = parts();
  ask.step.floor = ask.terms.floor;
  ask.sent = now;
  ask.epoch = epoch();
  ask.round = 0;
  ask.waiting.clear();
  ask.action = Action::draw;
  ask.set_reading(call.reading());
  ask.ingress = call.ingress;
  ask.charges = {&ask.charge, 1};
  ask.outcomes = {&ask.outcome, 1};
  ask.draw = &ask.step;
  entry.ask = &ask;
  return ask;
}

bool LeasedStore::send(Ask& ask) {
  Stats::add(stats_.asks);
  ask.status = Code::ok;
  return inner_->begin(ask);
}

bool LeasedStore::ask_for(SliceEntry& entry, Waiter waiter, TimePoint now) {
  StoreCall* const call = waiter.call;
  if (entry.ask != nullptr) {
    entry.ask->waiting.push_back(std::move(waiter));
    return false;
  }
  const Charge& charge = call->charges[waiter.charge];
  Ask& ask = make_ask(entry, *call, charge, charge.cost, now);
  ask.waiting.push_back(std::move(waiter));
  if (!send(ask)) return false;
  std::vector<StoreCall*> done;
  settle(ask, done);
  const auto own = std::find(done.begin(), done.end(), call);
  const bool answered_now = own != done.end();
  if (answered_now) done.erase(own);
  complete_all(done);
  return answered_now;
}

void LeasedStore::ask_ahead(SliceEntry& entry, const StoreCall& call, const Charge& charge, TimePoint now) {
  Ask& ask = make_ask(entry, call, charge, 1, now);
  if (send(ask)) answered(ask);
}

void LeasedStore::answered(Ask& ask) {
  std::vector<StoreCall*> done;
  settle(ask, done);
  complete_all(done);
}

void LeasedStore::settle(Ask& ask, std::vector<StoreCall*>& done) {
  const TimePoint now = clock_->now();
  SliceEntry* entry = table_.find(ask.charge.key);
  if (entry != nullptr && entry->ask == &ask) entry->ask = nullptr;
  // What was drawn under other rules, or from a store that has lost its data since, is not spent.
  const bool same_rules =
      entry != nullptr && entry->version == ask.terms.version && entry->allowance == ask.asked_under;
  const bool valid = ask.epoch == epoch();
  if (!same_rules || !valid) entry = nullptr;
  if (ask.status != Code::ok || ask.outcome.status != Code::ok) {
    fail(ask, done);
    asks_.give_back(ask);
    return;
  }
  // A bucket of which a slice is still good is in use: one that is not there was lost.
  if (entry != nullptr && !ask.step.existed) drop_slices(*entry);
  if (entry != nullptr) learn(*entry, ask, now);
  Slice slice;
  if (ask.step.granted > 0 && valid) {
    slice.left = ask.step.granted;
    slice.ends = slice_end(ask.sent, ask.step.lasts > Duration{0} ? ask.step.lasts : ask.terms.life);
    Stats::add(stats_.granted, static_cast<std::uint64_t>(ask.step.granted));
  }
  serve(ask, entry, slice, now, done);
}

void LeasedStore::learn(SliceEntry& entry, const Ask& ask, TimePoint now) {
  entry.store_left = ask.outcome.remaining;
  entry.full_at = now + ask.outcome.reset_after;
  const Duration took = now - ask.sent;
  entry.round_trip = entry.round_trip == Duration{0} ? took : (7 * entry.round_trip + took) / 8;
  const bool empty = ask.outcome.remaining < std::max<std::int64_t>(refilled_in(ask.allowance, kPace), 1);
  entry.paced_until = empty ? now + kPace : TimePoint{};
}

// In the order in which they came. Those for whom there is not enough are denied if the store has denied as much, or
// ask again.
void LeasedStore::serve(Ask& ask, SliceEntry* entry, Slice slice, TimePoint now, std::vector<StoreCall*>& done) {
  std::vector<Waiter> served;
  std::vector<Waiter> others;
  for (Waiter& waiter : ask.waiting) {
    const Charge& charge = waiter.call->charges[waiter.charge];
    if (!slice.covers(charge.cost, now)) {
      others.push_back(std::move(waiter));
      continue;
    }
    slice.left -= charge.cost;
    slice.spent += charge.cost;
    waiter.spent[waiter.charge] = {charge.cost, slice.ends};
    waiter.covered |= std::uint64_t{1} << waiter.charge;
    served.push_back(std::move(waiter));
  }
  ask.waiting.clear();
  if (entry != nullptr) keep(*entry, slice, now);
  for (const Waiter& waiter : served) {
    answer_from_slices(waiter, now);
    done.push_back(waiter.call);
  }
  if (ask.step.granted == 0) {
    const auto is_denied = [&ask](const Waiter& waiter) {
      return waiter.call->charges[waiter.charge].cost >= ask.charge.cost;
    };
    for (const Waiter& waiter : others) {
      if (is_denied(waiter)) deny(ask, waiter, done);
    }
    std::erase_if(others, is_denied);
  }
  const int round = ask.round + 1;
  asks_.give_back(ask);
  const bool may_ask = entry != nullptr && entry->ask == nullptr && round < kMaxRounds && slice.spent > 0;
  if (may_ask) return ask_again(*entry, std::move(others), round, now, done);
  for (const Waiter& waiter : others) {
    if (pass_on(waiter)) done.push_back(waiter.call);
  }
}

void LeasedStore::ask_again(SliceEntry& entry, std::vector<Waiter> waiting, int round, TimePoint now,
                            std::vector<StoreCall*>& done) {
  const bool paced = now < entry.paced_until;
  const auto is_denied = [&](const Waiter& waiter) {
    return paced && entry.store_left < waiter.call->charges[waiter.charge].cost;
  };
  for (const Waiter& waiter : waiting) {
    if (is_denied(waiter)) {
      deny_paced(entry, waiter, now);
      done.push_back(waiter.call);
    }
  }
  std::erase_if(waiting, is_denied);
  if (waiting.empty()) return;
  const Waiter& first = waiting.front();
  const Charge& charge = first.call->charges[first.charge];
  Ask& more = make_ask(entry, *first.call, charge, charge.cost, now);
  more.round = round;
  more.waiting = std::move(waiting);
  if (send(more)) settle(more, done);
}

void LeasedStore::keep(SliceEntry& entry, const Slice& slice, TimePoint now) {
  if (slice.ends == TimePoint{}) return;
  if (!slice.live(now)) return lapse(entry, slice);
  if (!entry.current.live(now) || entry.current.left == 0) {
    lapse(entry, entry.current);
    entry.current = slice;
    return;
  }
  lapse(entry, entry.next);
  entry.next = slice;
}

// As the store has denied the ask.
void LeasedStore::deny(const Ask& ask, const Waiter& waiter, std::vector<StoreCall*>& done) {
  StoreCall& call = *waiter.call;
  if (call.charges[waiter.charge].binding) give_back_all(waiter);
  call.status = Code::ok;
  call.atomic = true;
  describe_spent(waiter, clock_->now());
  call.outcomes[waiter.charge] = ask.outcome;
  call.answered = Consistency::exact;
  done.push_back(&call);
}

void LeasedStore::fail(const Ask& ask, std::vector<StoreCall*>& done) {
  for (const Waiter& waiter : ask.waiting) {
    give_back_all(waiter);
    StoreCall& call = *waiter.call;
    call.status = ask.status;
    call.atomic = true;
    for (ChargeOutcome& outcome : call.outcomes) outcome = ChargeOutcome{};
    call.outcomes[waiter.charge] = ask.outcome;
    done.push_back(&call);
  }
}

bool LeasedStore::pass_on(const Waiter& waiter) {
  if (waiter.covered == 0 && waiter.call->action != Action::refund) return inner_->begin(*waiter.call);
  PartOfCall& part = parts_.take(*this);
  part.waiter = waiter;
  part.take_over(*waiter.call, waiter.covered);
  part.once = waiter.covered == 0 ? waiter.call->once : Once{};  // only of a call in one step
  part.replayed = false;
  return inner_->begin(part) && conclude_part(part);
}

void LeasedStore::part_answered(PartOfCall& part) {
  StoreCall& call = *part.waiter.call;
  conclude_part(part);
  call.complete();
}

bool LeasedStore::conclude_part(PartOfCall& part) {
  StoreCall& call = *part.waiter.call;
  const bool admitted = part.hand_back(call);
  if (!admitted && call.action == Action::take) give_back_all(part.waiter);
  call.replayed = part.replayed;
  if (call.action == Action::refund && call.status == Code::ok && !call.replayed)
    trim_slices(part.waiter, clock_->now());
  describe_spent(part.waiter, clock_->now());
  parts_.give_back(part);
  return true;
}

}  // namespace weir::leased
