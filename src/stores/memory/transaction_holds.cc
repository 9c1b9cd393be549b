// Leases: what a call with a hold (weir/hold_step.h) does to the buckets of its lease charges.
#include <algorithm>

#include "stores/memory/transaction.h"

namespace weir::memory {

using algorithms::is_later_lease;
using algorithms::LeaseBucket;
using algorithms::LeaseEntry;

// The lock is held, and what has lapsed counts for nothing: so it is forgotten at once, also by a call that only looks.
void Transaction::open_leases(std::size_t i) {
  if (fresh(i)) leases(i).clear();
  leases(i).advance(entries_[i].now_us);
}

ChargeOutcome Transaction::evaluate_leases(std::size_t i, std::int64_t cost, bool takes) const {
  const std::int64_t limit = call_.charges[i].allowance->limit;
  const std::int64_t now_us = entries_[i].now_us;
  const std::int64_t ttl_us = takes ? call_.hold->ttl.count() : 0;
  if (entries_[i].slot != nullptr) return leases(i).evaluate(limit, cost, takes, now_us, ttl_us);
  std::int64_t none[algorithms::kHeadWords] = {};
  return LeaseBucket({algorithms::Head(none), {}}).evaluate(limit, cost, takes, now_us, ttl_us);
}

bool Transaction::take_hold() {
  HoldStep& hold = *call_.hold;
  if (answer_known()) return true;
  hold.token = std::max(hold.token, next_token());
  const bool room = take();
  hold.state = room && is_admitted() ? HoldState::taken : HoldState::none;
  hold.expires = call_.now + hold.ttl;
  return room;
}

bool Transaction::is_admitted() const {
  for (std::size_t i = 0; i < size_; ++i) {
    if (call_.charges[i].binding && !call_.outcomes[i].admitted) return false;
  }
  return true;
}

// True: the id has a lease already, or had one, so that nothing is charged.
bool Transaction::answer_known() {
  HoldStep& hold = *call_.hold;
  hold.at = call_.now;
  hold.state = HoldState::none;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_lease(i) || entries_[i].slot == nullptr) continue;
    const LeaseBucket bucket = leases(i);
    const std::size_t at = bucket.find(hold.id);
    if (at == bucket.size()) continue;
    const LeaseEntry known = bucket.entry(at);
    if (known.ended() && known.expires_us <= entries_[i].now_us) continue;
    hold.state = known.ended()                          ? HoldState::gone
                 : known.units == call_.charges[i].cost ? HoldState::live
                                                        : HoldState::other;
    hold.token = known.token;
    hold.expires = from_micros(known.expires_us);
    describe_all();
    return true;
  }
  return false;
}

// The outcomes: what is left, with nothing taken.
void Transaction::describe_all() {
  for (std::size_t i = 0; i < size_; ++i) call_.outcomes[i] = evaluate(i, 0);
}

std::uint64_t Transaction::next_token() const {
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_lease(i)) continue;
    next = std::max(next, static_cast<std::uint64_t>(std::max<std::int64_t>(0, entries_[i].now_us)));
    if (entries_[i].slot != nullptr) next = std::max(next, leases(i).last_token() + 1);
  }
  return next;
}

// Preconditions: there is room, and the charge is admitted.
void Transaction::add_lease(std::size_t i) {
  const HoldStep& hold = *call_.hold;
  const bool again = call_.action == Action::renew;  // older handles of it must not take it once more after its end
  const algorithms::BucketWords words = changing_words(i);
  LeaseBucket(words).add({.id = hold.id,
                          .expires_us = entries_[i].now_us + hold.ttl.count(),
                          .token = hold.token,
                          .units = call_.charges[i].cost,
                          .ttl_us = hold.named || again ? hold.ttl.count() : 0},
                         entries_[i].now_us);
}

// Marks the leases that the store has lost and that may be taken again. True: one that binds is gone for good.
bool Transaction::leases_gone(std::uint64_t own_token, bool& lost) {
  HoldStep& hold = *call_.hold;
  bool gone = false;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_lease(i)) continue;
    entries_[i].charge = false;
    const bool known = entries_[i].slot != nullptr;
    const std::size_t at = known ? leases(i).find(hold.id) : 0;
    const bool there = known && at < leases(i).size();
    const bool ended = there && (leases(i).entry(at).ended() || is_later_lease(leases(i).entry(at), own_token, hold));
    if (there && !ended) {
      hold.token = std::max(hold.token, leases(i).entry(at).token);
      continue;
    }
    // It was released or lapsed, unless all that the bucket knows is younger than the lease.
    const bool younger = !known || fresh(i) || leases(i).since_us() > static_cast<std::int64_t>(own_token);
    const bool again = !ended && younger && entries_[i].now_us < micros(hold.expires) &&
                       evaluate_leases(i, call_.charges[i].cost, true).admitted;
    gone = gone || (call_.charges[i].binding && !again);
    lost = lost || again;
    entries_[i].charge = again;
  }
  return gone;
}

// Those that were there all the time: the leases of a handle with `own_token`.
void Transaction::renew_leases(std::uint64_t own_token) {
  HoldStep& hold = *call_.hold;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_lease(i) || entries_[i].charge || entries_[i].slot == nullptr) continue;
    const std::size_t at = leases(i).find(hold.id);
    if (at == leases(i).size()) continue;  // of a rule in shadow mode, like what follows
    if (leases(i).entry(at).ended() || is_later_lease(leases(i).entry(at), own_token, hold)) continue;
    leases(i).renew(at, entries_[i].now_us + hold.ttl.count(), hold.ttl.count(), hold.token);
    refresh_idle(i);
  }
}

// False: no room in memory for a lease that the store has lost, and nothing has changed.
bool Transaction::renew_hold() {
  HoldStep& hold = *call_.hold;
  hold.at = call_.now;
  const std::uint64_t own_token = hold.token;
  for (std::size_t i = 0; i < size_; ++i) entries_[i].charge = false;
  bool lost = false;
  const bool gone = leases_gone(own_token, lost);
  hold.state = gone ? HoldState::gone : HoldState::live;
  if (gone) {
    hold.token = own_token;
    describe_all();
    return true;
  }
  if (lost) {
    hold.token = std::max(hold.token, next_token());
    if (!all_ready() && !make_room()) return false;
    charge_all();
  }
  renew_leases(own_token);
  hold.expires = call_.now + hold.ttl;
  describe_all();
  return true;
}

void Transaction::settle_hold() {
  call_.hold->at = call_.now;
  call_.hold->state = HoldState::gone;
  end_leases();
  describe_all();
}

void Transaction::end_leases() {
  HoldStep& hold = *call_.hold;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_lease(i) || entries_[i].slot == nullptr) continue;
    const std::size_t at = leases(i).find(hold.id);
    if (at == leases(i).size() || leases(i).entry(at).ended()) continue;
    if (is_later_lease(leases(i).entry(at), hold.token, hold)) continue;
    leases(i).end(at, entries_[i].now_us);
    refresh_idle(i);
    hold.state = HoldState::ended;
  }
}

void Transaction::list_holds() {
  call_.hold->at = call_.now;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_lease(i) || entries_[i].slot == nullptr) continue;
    const LeaseBucket bucket = leases(i);
    for (std::size_t at = 0; at < bucket.size(); ++at) {
      const LeaseEntry entry = bucket.entry(at);
      if (entry.ended()) continue;
      call_.hold->listed->push_back({.charge = static_cast<std::uint32_t>(i),
                                     .id = entry.id,
                                     .units = entry.units,
                                     .token = entry.token,
                                     .expires = from_micros(entry.expires_us)});
    }
  }
  describe_all();
}

}  // namespace weir::memory
