// Reservations hold units before the work and are settled after it: reserve, extend, and one of commit, release, lapse.
//
// A reservation is closed once. Closing it again the same way repeats the answer; another way is `gone`. It is settled
// in the period in which it was reserved, unless that is closed.
#pragma once

#include "ledger/operations/legs.h"

namespace weir::ledger {

// Holds `amount` in every leg, and in those with a fixed cost that, or nothing. `partial`: as much of the amount as
// fits into all of them, at least 1. An id that has a reservation already gives that one. Verdicts: done, denied, gone
// (it is closed), closed, conflict (it was made with another amount, and not extended since).
class Reserve final : public Operation {
 public:
  std::string reservation;
  std::vector<Terms> legs;
  std::vector<std::int64_t> fixed = {};  // what each leg costs in any case, 0: the amount. Empty: the amount everywhere
  std::vector<bool> shadow = {};  // legs that do not bind: what does not fit there is recorded as overage. Empty: none
  std::int64_t amount = 0;
  bool partial = false;
  bool commit_on_expiry = false;
  bool compares = false;  // the amount: a client made the id. False: it may differ from the earlier one
  Duration ttl = std::chrono::seconds(60);

  Status check() const override;
  void declare(Needs& needs) const override;
  Answer apply(Books& books, Posting& posting) override;
  std::unique_ptr<Operation> undo(const Answer& answer) const override;

 private:
  std::int64_t fixed_of(std::size_t leg) const { return leg < fixed.size() ? fixed[leg] : 0; }
  bool is_shadow(std::size_t leg) const { return leg < shadow.size() && shadow[leg]; }
  Posting::Beyond beyond(std::size_t leg, const Account& account) const {
    return is_shadow(leg) ? Posting::Beyond::record : beyond_of(account);
  }
  bool is_all_fixed() const;
};

// What an operation on an existing reservation has in common.
class ReservationOperation : public Operation {
 public:
  std::string reservation;
  // The terms of the open periods, for accounts whose period has closed meanwhile: what was used is charged there, as a
  // correction that names the closed period. Without them such a commit does nothing and is `closed`.
  std::vector<Terms> open_terms;
  // There are no terms, because the rule is gone: what is not charged for that reason is `uncharged`.
  bool forgo_closed = false;

  Status check() const override;
  void declare(Needs& needs) const override { needs.reservations.insert(reservation); }

 protected:
  Status check_open_terms() const;
  void declare_open_terms(Needs& needs) const;
  // Null: there are none.
  const Terms* open_terms_of(const Account& closed) const;
  // The accounts that committing `actual_units` needs terms of and has none of: `closed`, and nothing may be done.
  std::optional<Answer> lacks_open_terms(Books& books, const Reservation& row, std::int64_t actual_units) const;
  // Closes it in all its accounts. `actual` units are used; none: it lapses or is released.
  void close(Books& books, Posting& posting, Reservation& row, ReservationState as, std::int64_t actual_units,
             Answer& answer);
  // True if its time has passed and it was open. It is closed then, unless that needs terms of open periods, which are
  // added to `lacking`.
  bool lapse_if_due(Books& books, Posting& posting, Reservation& row, std::vector<Account>* lacking = nullptr);
  Answer answer_of(Books& books, const Reservation& row) const;
  static Answer gone(const Reservation& row);
};

// Less than was held: `returned` becomes available again. More: charged as the rule's `overage` says; what it refuses
// is `uncharged`. Verdicts: done, not_found, gone (released, or its time had passed: report the usage), closed
// (`accounts` are those whose period has closed and that `open_terms` says nothing about).
class CommitReservation final : public ReservationOperation {
 public:
  std::int64_t actual = 0;

  Status check() const override;
  void declare(Needs& needs) const override;
  Answer apply(Books& books, Posting& posting) override;
};

class ReleaseReservation final : public ReservationOperation {
 public:
  std::int64_t of_account = 0;  // not 0: one that holds nothing of this account is not found

  Answer apply(Books& books, Posting& posting) override;
};

// Lives until `ttl` from now (0: as before), and holds `add` units more in every leg; `partial`: as many of them as fit
// into all, at least 1. Verdicts: done, denied, not_found, gone.
class ExtendReservation final : public ReservationOperation {
 public:
  Duration ttl{0};
  std::int64_t add = 0;
  bool partial = false;

  Status check() const override;
  Answer apply(Books& books, Posting& posting) override;
};

// Another rule has granted less than the ledger: gives back `less` units of each leg that is not fixed. With `before`,
// what an extension to `extended` has added in time, too, unless it was extended again. Verdicts: done, not_found,
// gone.
class NarrowReservation final : public ReservationOperation {
 public:
  std::int64_t less = 0;
  TimePoint extended{};
  TimePoint before{};

  Status check() const override;
  Answer apply(Books& books, Posting& posting) override;
};

// Closes reservations whose time has passed. They come from a query; each is checked again. `granted`: how many;
// `accounts`: of those that were left because terms of open periods are missing.
class LapseReservations final : public ReservationOperation {
 public:
  std::vector<std::string> reservations;

  Status check() const override;
  void declare(Needs& needs) const override;
  Answer apply(Books& books, Posting& posting) override;
};

}  // namespace weir::ledger
