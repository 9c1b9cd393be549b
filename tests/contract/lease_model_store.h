// LeaseModelStore: what a store call with a hold means, made of the sequential models (lease_model.h, model_store.h).
// Answers at once. Not thread-safe.
#pragma once

#include <map>
#include <utility>

#include "tests/contract/model_store.h"
#include "tests/models/lease_model.h"
#include "weir/hold_step.h"

namespace weir::contract {

class LeaseModelStore final : public Store {
 public:
  bool begin(StoreCall& call) override;
  bool immediate() const override { return true; }
  std::string_view name() const override { return "lease model"; }

 private:
  using Id = models::LeaseModel::Id;

  static bool is_lease(const Charge& charge) { return charge.kind == ChargeKind::lease; }
  models::LeaseModel& leases(const Charge& charge) { return leases_[Id{charge.key.high, charge.key.low}]; }
  ChargeOutcome evaluate(const StoreCall& call, const Charge& charge, std::int64_t cost, bool takes);
  void describe(StoreCall& call) {
    for (std::size_t i = 0; i < call.charges.size(); ++i) {
      call.outcomes[i] = evaluate(call, call.charges[i], 0, false);
    }
  }
  bool is_known(StoreCall& call);
  std::uint64_t next_token(const StoreCall& call);
  void take(StoreCall& call);
  void renew(StoreCall& call);
  void settle(StoreCall& call);
  void list(StoreCall& call);
  // One charge of a bucket, by the model of buckets.
  ChargeOutcome ask_bucket(const StoreCall& call, const Charge& charge, Action action) {
    OneCharge one(action, call.now, charge);
    static_cast<void>(buckets_.begin(one));
    return one.outcome();
  }

  // The id has a lease that is younger than the one with this token.
  bool has_later_lease(const Charge& charge, const HoldStep& handle) {
    const auto live = leases(charge).live().find(models::LeaseModel::id_of(handle.id));
    if (!handle.named || handle.token == 0 || live == leases(charge).live().end()) return false;
    return live->second.token > handle.token && static_cast<std::int64_t>(live->second.token) >= micros(handle.expires);
  }

  std::map<Id, models::LeaseModel> leases_;
  ModelStore buckets_;
};

inline ChargeOutcome LeaseModelStore::evaluate(const StoreCall& call, const Charge& charge, std::int64_t cost,
                                               bool takes) {
  if (is_lease(charge))
    return outcome_of(leases(charge).answer(charge.allowance->limit, cost, takes, micros(call.now)));
  Charge look = charge;
  look.cost = cost;
  return ask_bucket(call, look, Action::peek);
}

inline bool LeaseModelStore::begin(StoreCall& call) {
  call.status = Code::ok;
  call.atomic = true;
  for (const Charge& charge : call.charges) {
    if (is_lease(charge)) leases(charge).advance(micros(call.now));
  }
  if (call.action == Action::take || call.action == Action::peek) take(call);
  if (call.action == Action::renew) renew(call);
  if (call.action == Action::settle) settle(call);
  if (call.action == Action::list) list(call);
  if (call.action == Action::reset || call.action == Action::refund) {
    for (const Charge& charge : call.charges) {
      if (!is_lease(charge)) ask_bucket(call, charge, call.action);
      if (is_lease(charge) && call.action == Action::reset) leases(charge) = {};
    }
    describe(call);
  }
  return true;
}

inline bool LeaseModelStore::is_known(StoreCall& call) {
  const Id id = models::LeaseModel::id_of(call.hold->id);
  for (const Charge& charge : call.charges) {
    if (!is_lease(charge)) continue;
    const auto live = leases(charge).live().find(id);
    if (live == leases(charge).live().end() && !leases(charge).has_ended(id)) continue;
    const bool lives = live != leases(charge).live().end();
    const bool same = lives && live->second.units == charge.cost;
    call.hold->state = !lives ? HoldState::gone : same ? HoldState::live : HoldState::other;
    if (lives) call.hold->token = live->second.token;
    if (lives) call.hold->expires = from_micros(live->second.expires);
    describe(call);
    return true;
  }
  return false;
}

inline std::uint64_t LeaseModelStore::next_token(const StoreCall& call) {
  std::uint64_t next = 0;
  for (const Charge& charge : call.charges) {
    if (!is_lease(charge)) continue;
    next = std::max({next, static_cast<std::uint64_t>(micros(call.now)), leases(charge).last_token() + 1});
  }
  return next;
}

inline void LeaseModelStore::take(StoreCall& call) {
  const bool holds = call.hold != nullptr && call.action == Action::take;
  const bool finds = call.action == Action::peek && call.hold != nullptr && call.hold->named;
  if ((holds || finds) && is_known(call)) return;
  bool admitted = true;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    call.outcomes[i] = evaluate(call, charge, charge.cost, holds);
    admitted = admitted && (call.outcomes[i].admitted || !charge.binding);
  }
  const std::uint64_t token = holds ? std::max(call.hold->token, next_token(call)) : 0;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    if (!call.outcomes[i].admitted) continue;
    if (!admitted || call.action == Action::peek || (is_lease(charge) && !holds)) {
      const ChargeOutcome standing = evaluate(call, charge, 0, false);
      call.outcomes[i].remaining = standing.remaining;
      call.outcomes[i].reset_after = standing.reset_after;
    } else if (!is_lease(charge)) {
      call.outcomes[i] = ask_bucket(call, charge, Action::take);
    } else if (charge.cost > 0) {
      call.outcomes[i].reset_after = std::max(call.outcomes[i].reset_after, call.hold->ttl);
      leases(charge).add(models::LeaseModel::id_of(call.hold->id),
                         {.units = charge.cost,
                          .expires = micros(call.now + call.hold->ttl),
                          .token = token,
                          .known_for = call.hold->named ? call.hold->ttl.count() : 0},
                         micros(call.now));
    }
  }
  if (!holds) return;
  call.hold->state = admitted ? HoldState::taken : HoldState::none;
  call.hold->token = token;
  call.hold->expires = call.now + call.hold->ttl;
}

inline void LeaseModelStore::renew(StoreCall& call) {
  HoldStep& hold = *call.hold;
  const Id id = models::LeaseModel::id_of(hold.id);
  const HoldStep asked = hold;
  const auto has_later = [&](const Charge& charge) { return has_later_lease(charge, asked); };
  const auto may_take_again = [&](const Charge& charge) {
    return !leases(charge).has_ended(id) && !has_later(charge) && leases(charge).is_younger_than(asked.token) &&
           call.now < asked.expires && evaluate(call, charge, charge.cost, true).admitted;
  };
  bool gone = false;
  bool lost = false;
  std::uint64_t held_token = hold.token;
  for (const Charge& charge : call.charges) {
    if (!is_lease(charge)) continue;
    if (leases(charge).live().contains(id) && !has_later(charge)) {
      held_token = std::max(held_token, leases(charge).live().at(id).token);
      continue;
    }
    gone = gone || (charge.binding && !may_take_again(charge));
    lost = lost || may_take_again(charge);
  }
  hold.state = gone ? HoldState::gone : HoldState::live;
  if (gone) return describe(call);
  hold.token = std::max(held_token, lost ? next_token(call) : 0);
  const std::int64_t expires = micros(call.now + hold.ttl);
  for (const Charge& charge : call.charges) {
    if (!is_lease(charge)) continue;
    const auto live = leases(charge).live().find(id);
    if (live != leases(charge).live().end()) {
      if (has_later(charge)) continue;
      leases(charge).renew(id, expires, hold.ttl.count(), hold.token);
    } else if (may_take_again(charge)) {
      leases(charge).add(id,
                         {.units = charge.cost, .expires = expires, .token = hold.token, .known_for = hold.ttl.count()},
                         micros(call.now));
    }
  }
  hold.expires = from_micros(expires);
  describe(call);
}

inline void LeaseModelStore::settle(StoreCall& call) {
  call.hold->state = HoldState::gone;
  for (const Charge& charge : call.charges) {
    if (!is_lease(charge)) continue;
    if (has_later_lease(charge, *call.hold)) continue;
    if (leases(charge).end(models::LeaseModel::id_of(call.hold->id), micros(call.now))) {
      call.hold->state = HoldState::ended;
    }
  }
  describe(call);
}

inline void LeaseModelStore::list(StoreCall& call) {
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    if (!is_lease(call.charges[i])) continue;
    for (const auto& [id, lease] : leases(call.charges[i]).live()) {
      call.hold->listed->push_back({.charge = static_cast<std::uint32_t>(i),
                                    .id = {id.first, id.second},
                                    .units = lease.units,
                                    .token = lease.token,
                                    .expires = from_micros(lease.expires)});
    }
  }
  describe(call);
}

}  // namespace weir::contract
