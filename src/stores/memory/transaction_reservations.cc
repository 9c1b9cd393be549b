// Reservations: what a call with one (weir/hold_step.h) does to its buckets and its record.
#include <algorithm>
#include <utility>

#include "stores/memory/transaction.h"

namespace weir::memory {

using algorithms::BucketHolds;
using algorithms::ReservationRecord;

// What has lapsed is returned by whatever call comes next, also by one that only looks. In an idle bucket all have.
void Transaction::open_holds(std::size_t i) {
  if (fresh(i)) return;
  Slot& slot = *entries_[i].slot;
  if (!slot.holds().lapse(*call_.charges[i].allowance, slot.words(), entries_[i].now_us)) return;
  if (slot.holds().size() == 0) entries_[i].shard->drop_holds(slot, budget_);
  refresh_idle(i);
}

// All its parts must agree on whether it has lapsed.
void Transaction::use_one_time() {
  std::int64_t latest = micros(call_.now);
  for (std::size_t i = 0; i < size_; ++i) latest = std::max(latest, entries_[i].now_us);
  for (std::size_t i = 0; i < size_; ++i) {
    if (entries_[i].now_us == latest) continue;
    entries_[i].now_us = latest;
    if (entries_[i].slot == nullptr) continue;
    if (is_lease(i)) open_leases(i);
    if (entries_[i].slot->has_holds()) open_holds(i);
  }
}

bool Transaction::run_reservation() {
  use_one_time();
  call_.hold->at = call_.now;
  amount_ = call_.hold->amount;
  if (call_.action == Action::take) return take_reservation();
  if (call_.action == Action::renew) return extend_reservation();
  if (call_.action == Action::settle) {
    settle_reservation();
    return true;
  }
  if (call_.action == Action::list) {
    list_reservations();
    return true;
  }
  fit_amount();  // a look at what would be granted
  call_.hold->granted = amount_;
  evaluate_all();
  for (std::size_t i = 0; i < size_; ++i) describe_uncharged(i);
  return true;
}

// False: it was never taken, or ended so long ago that it is forgotten.
bool Transaction::find_record(ReservationRecord& record) {
  const std::size_t i = size_ - 1;
  if (size_ == 0 || !is_record(i) || entries_[i].slot == nullptr || fresh(i)) return false;
  Slot& slot = *entries_[i].slot;
  if (slot.kind().is_page()) {
    const std::size_t place = base::place_in_page(call_.charges[i].key);
    if (!RecordPage(slot.words()).read(place, entries_[i].now_us, record)) return false;
  } else {
    record = ReservationRecord::read(slot.words().head);
  }
  if (record.state == ReservationState::open && record.expires_us <= entries_[i].now_us) {
    record.state = ReservationState::expired;
  }
  return true;
}

void Transaction::tell(const ReservationRecord& record) {
  HoldStep& hold = *call_.hold;
  const bool open = record.state == ReservationState::open;
  hold.state = open ? HoldState::live : HoldState::gone;
  hold.reserved = record.state;
  hold.granted = record.granted;
  hold.actual = record.actual;
  hold.returned = record.returned;
  hold.debt = record.debt;
  hold.uncharged = record.uncharged;
  if (!open) return;
  hold.expires = from_micros(record.expires_us);
  hold.token = record.token;
}

// Precondition: the slot is there.
void Transaction::write_record(const ReservationRecord& record, std::int64_t kept_until_us) {
  Entry& entry = entries_[size_ - 1];
  const algorithms::BucketWords words = changing_words(size_ - 1);
  if (entry.slot->kind().is_page()) {
    const std::size_t place = base::place_in_page(call_.charges[size_ - 1].key);
    kept_until_us = RecordPage(words).write(place, record, kept_until_us);
  } else {
    record.write(words.head);
  }
  entry.shard->set_idle_from(*entry.slot, kept_until_us);
  entry.idle_from_us = kept_until_us;
}

// With `partial`: as much as every rule has left, at least 1. The wait of a denial is then that of 1.
void Transaction::fit_amount() {
  if (!call_.hold->partial) return;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!call_.charges[i].follows || !call_.charges[i].binding) continue;
    amount_ = std::min(amount_, std::max<std::int64_t>(1, evaluate(i, 0).remaining));
  }
}

bool Transaction::too_crowded(std::size_t i) const {
  return is_bucket(i) && entries_[i].slot != nullptr && !fresh(i) &&
         entries_[i].slot->holds().size() >= kMaxHoldsPerBucket;
}

// The record has no room: the store fails for the whole call.
void Transaction::mark_no_room() {
  if (call_.outcomes[size_ - 1].status == Code::ok) return;
  for (std::size_t i = 0; i < size_; ++i) {
    call_.outcomes[i] = ChargeOutcome{.status = Code::resource_exhausted, .admitted = false};
  }
}

bool Transaction::take_reservation() {
  HoldStep& hold = *call_.hold;
  const std::int64_t asked = std::exchange(hold.actual, 0) - 1;
  ReservationRecord record;
  if (find_record(record)) {
    tell(record);
    if (hold.state == HoldState::live && asked >= 0 && record.as_asked && record.granted != asked) {
      hold.state = HoldState::other;
    }
    describe_all();
    return true;
  }
  fit_amount();
  hold.token = std::max(hold.token, next_token());
  expires_us_ = entries_[size_ - 1].now_us + hold.ttl.count();
  const bool room = take();
  hold.state = HoldState::none;
  if (!room) mark_no_room();
  if (!room || !is_admitted()) return room;
  hold.state = HoldState::taken;
  hold.granted = amount_;
  hold.expires = from_micros(expires_us_);
  write_record({.granted = amount_,
                .expires_us = expires_us_,
                .token = hold.token,
                .ttl_us = hold.ttl.count(),
                .as_asked = amount_ == asked},
               expires_us_ + hold.ttl.count());
  return true;
}

// Of what charge_all() has just charged.
void Transaction::add_hold(std::size_t i) {
  entries_[i].slot->holds().add(call_.hold->id, cost(i), entries_[i].now_us, expires_us_, *call_.charges[i].allowance,
                                entries_[i].slot->words());
}

// More time, more units, or both; nothing of it if the units do not fit.
bool Transaction::extend_reservation() {
  HoldStep& hold = *call_.hold;
  const Duration ttl = hold.ttl;
  ReservationRecord record;
  if (!find_record(record)) record.state = ReservationState::expired;
  const std::uint64_t own_token = std::max(hold.token, record.token);
  tell(record);
  adds_only_ = true;  // of the other charges nothing is taken again
  if (hold.state == HoldState::gone) {
    describe_all();
    return true;
  }
  const std::int64_t now_us = entries_[size_ - 1].now_us;
  expires_us_ = ttl == Duration::zero() ? record.expires_us : now_us + ttl.count();
  bool lost = false;
  hold.token = own_token;
  hold.expires = from_micros(record.expires_us);
  if (ttl > Duration::zero() && leases_gone(own_token, lost)) {
    hold.state = HoldState::gone;
    hold.reserved = ReservationState::expired;
    describe_all();
    return true;
  }
  fit_amount();
  const bool room = take();
  if (!room || !is_admitted()) {
    hold.state = HoldState::none;
    return room;
  }
  if (ttl > Duration::zero()) {
    live_longer(own_token, lost);
    record.ttl_us = ttl.count();
  }
  record.granted = std::min(record.granted + amount_, kMaxUnits);
  record.as_asked = record.as_asked && amount_ == 0;
  record.expires_us = expires_us_;
  record.token = hold.token;
  write_record(record, expires_us_ + record.ttl_us);
  tell(record);
  return true;
}

// The entries in its buckets, and its leases. One that the store has lost (`lost`) is taken again if there is room.
void Transaction::live_longer(std::uint64_t own_token, bool lost) {
  HoldStep& hold = *call_.hold;
  for (std::size_t i = 0; i < size_; ++i) entries_[i].charge = false;
  if (lost) {
    leases_gone(own_token, lost);
    hold.token = std::max(hold.token, next_token());
    if (all_ready() || make_room()) charge_all();
  }
  renew_leases(own_token);
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_bucket(i) || entries_[i].slot == nullptr || !entries_[i].slot->holds().has(hold.id)) continue;
    entries_[i].slot->holds().extend(hold.id, expires_us_);
    refresh_idle(i);
  }
}

void Transaction::settle_reservation() {
  HoldStep& hold = *call_.hold;
  ReservationRecord record;
  if (!find_record(record)) record.state = ReservationState::expired;
  if (record.state != ReservationState::open) {
    tell(record);
    return describe_all();
  }
  hold.token = std::max(hold.token, record.token);
  hold.granted = record.granted;
  hold.returned = hold.debt = hold.uncharged = 0;
  if (hold.closing != ReservationState::committed) hold.actual = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (is_bucket(i)) settle_bucket(i, record.granted);
  }
  end_leases();
  hold.state = HoldState::ended;
  hold.reserved = hold.closing;
  locate_moved();
  const std::int64_t now_us = entries_[size_ - 1].now_us;
  write_record({.state = hold.closing,
                .granted = record.granted,
                .actual = hold.actual,
                .returned = hold.returned,
                .debt = hold.debt,
                .uncharged = hold.uncharged},
               now_us + record.ttl_us);
  describe_all();
}

// A bucket that has lost the reservation (it was reset, or a caller with a later clock has found it lapsed) has given
// back all of it: what the work has cost is charged again.
void Transaction::settle_bucket(std::size_t i, std::int64_t granted) {
  HoldStep& hold = *call_.hold;
  const Charge& charge = call_.charges[i];
  const bool committed = hold.closing == ReservationState::committed;
  BucketHolds::Settled settled;
  std::int64_t kept = 0;
  if (committed) kept = charge.follows ? hold.actual : kMaxUnits;
  if (entries_[i].slot != nullptr && !fresh(i) && entries_[i].slot->has_holds()) {
    Slot& slot = *entries_[i].slot;
    settled = slot.holds().settle(hold.id, kept, *charge.allowance, slot.words(), entries_[i].now_us);
    if (settled.found) {
      if (slot.holds().size() == 0) entries_[i].shard->drop_holds(slot, budget_);
      refresh_idle(i);
    }
  }
  hold.returned = std::max(hold.returned, settled.returned);
  if (!committed || !charge.follows) return;
  const bool lost = !settled.found && !charge.allowance->charges_lapsed;
  const std::int64_t held = lost ? 0 : granted;
  if (hold.actual > held) charge_excess(i, hold.actual - held);
}

// In the window that is open now, up to the overdraft.
void Transaction::charge_excess(std::size_t i, std::int64_t units) {
  HoldStep& hold = *call_.hold;
  Entry& entry = entries_[i];
  std::int64_t charged = 0;
  amount_ = units;  // what room is made for
  if (!ready(i)) {
    // An insertion may forget idle buckets of this call: they are fresh either way.
    if (!make_room_for(i)) take_back(i);
    locate_moved();
  }
  if (entry.slot != nullptr) {
    const Allowance& allowance = *call_.charges[i].allowance;
    const algorithms::BucketWords words = changing_words(i);
    entry.slot->holds().note(allowance, words, entry.now_us);
    charged = algorithms::charge_beyond(allowance, words, from_micros(entry.now_us), units);
    refresh_idle(i);
  }
  hold.debt = std::max(hold.debt, charged);
  if (call_.charges[i].binding) hold.uncharged = std::max(hold.uncharged, units - charged);
}

void Transaction::list_reservations() {
  ReservationRecord record;
  if (call_.hold->listed == nullptr) {
    const bool known = find_record(record);
    tell(record);
    if (!known) call_.hold->state = HoldState::none;
    return describe_all();
  }
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_bucket(i) || entries_[i].slot == nullptr || fresh(i)) continue;
    const BucketHolds holds = entries_[i].slot->holds();
    for (std::size_t at = 0; at < holds.size(); ++at) {
      const algorithms::HoldEntry entry = holds.entry(at);
      call_.hold->listed->push_back({.charge = static_cast<std::uint32_t>(i),
                                     .id = entry.id,
                                     .units = entry.units,
                                     .expires = from_micros(entry.expires_us),
                                     .reserved = from_micros(entry.reserved_us)});
    }
  }
  describe_all();
}

}  // namespace weir::memory
