// ReservationModel: one bucket with reservations, as a history. What real stores are compared with.
//
// The history is everything that was charged, and when. Settling a reservation changes what it was charged for: less
// than it held, as if the actual had been charged at the beginning; more, by a further charge now. The bucket is
// whatever the sequential model (reference_models.h) is after all of the history, from the beginning.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/models/reference_models.h"

namespace weir::models {

class ReservationModel {
 public:
  struct Settled {
    std::int64_t debt = 0;
    std::int64_t uncharged = 0;
  };

  explicit ReservationModel(const Allowance& allowance) : allowance_(allowance), wide_(widened(allowance)) {}

  Answer peek(TimePoint now, std::int64_t cost) {
    lapse(now);
    return replay(allowance_)->peek(now, cost);
  }
  bool take(TimePoint now, std::int64_t cost) {
    if (!peek(now, cost).admitted) return false;
    charge(now, cost, 0);
    return true;
  }
  // What is granted.
  std::optional<std::int64_t> reserve(int id, TimePoint now, std::int64_t amount, Duration ttl, bool partial = false) {
    if (partial) amount = std::min(amount, std::max<std::int64_t>(1, peek(now, 0).remaining));
    if (!peek(now, amount).admitted) return std::nullopt;
    charge(now, amount, id);
    open_[id] = {.granted = amount, .expires = now + ttl};
    return amount;
  }
  std::optional<std::int64_t> extend(int id, TimePoint now, std::int64_t add, Duration ttl, bool partial = false) {
    if (partial) add = std::min(add, std::max<std::int64_t>(1, peek(now, 0).remaining));
    if (!peek(now, add).admitted) return std::nullopt;
    charge(now, add, id);
    open_.at(id).granted += add;
    if (ttl > Duration::zero()) open_.at(id).expires = now + ttl;
    return add;
  }
  Settled commit(int id, TimePoint now, std::int64_t actual) {
    lapse(now);
    const std::int64_t granted = open_.at(id).granted;
    keep(id, actual);
    open_.erase(id);
    Settled settled;
    if (actual > granted) {
      settled.debt = std::min(actual - granted, replay(wide_)->peek(now, 0).remaining);
      settled.uncharged = actual - granted - settled.debt;
      charge(now, settled.debt, 0);
    }
    return settled;
  }
  void release(int id, TimePoint now) {
    lapse(now);
    keep(id, 0);
    open_.erase(id);
  }
  bool is_open(int id, TimePoint now) {
    lapse(now);
    return open_.contains(id);
  }

 private:
  struct Event {
    TimePoint at;
    std::int64_t units;
    int id;  // of a reservation; 0: of none
  };
  struct Open {
    std::int64_t granted;
    TimePoint expires;
  };

  // The same bucket with its overdraft as capacity.
  static Allowance widened(const Allowance& allowance) {
    Allowance wide = allowance;
    wide.burst += allowance.overdraft;
    wide.queue += allowance.overdraft;
    if (allowance.algorithm != Algorithm::token_bucket && allowance.algorithm != Algorithm::gcra &&
        allowance.algorithm != Algorithm::leaky_bucket) {
      wide.limit += allowance.overdraft;
    }
    return wide;
  }

  std::unique_ptr<ReferenceModel> replay(const Allowance& allowance) const {
    std::unique_ptr<ReferenceModel> model = make_reference_model(allowance);
    for (const Event& event : history_) model->charge_anyway(event.at, event.units);
    return model;
  }
  void charge(TimePoint now, std::int64_t units, int id) {
    if (units > 0) history_.push_back({now, units, id});
  }
  // Of what the reservation was charged for, the first `units` stay.
  void keep(int id, std::int64_t units) {
    for (Event& event : history_) {
      if (event.id != id) continue;
      event.units = std::min(event.units, units);
      units -= event.units;
    }
  }
  void lapse(TimePoint now) {
    for (auto each = open_.begin(); each != open_.end();) {
      if (each->second.expires > now) {
        ++each;
        continue;
      }
      if (!allowance_.charges_lapsed) keep(each->first, 0);
      each = open_.erase(each);
    }
  }

  const Allowance allowance_;
  const Allowance wide_;
  std::vector<Event> history_;
  std::map<int, Open> open_;
};

}  // namespace weir::models
