// Reservations hold units before the work and are settled after it: reserve, extend, and one of commit, release, lapse.
//
// A reservation is closed once. Closing it again the same way repeats the answer; another way is `gone`. It is settled
// in the period in which it was reserved, unless that is closed.
#pragma once

#include "ledger/operations/legs.h"

namespace weir::ledger {

// Holds `amount` in every leg, and in those with a fixed cost that, or nothing. `partial`: as much of the amount as
// fits into all of them, at least 1. An id that has a reservation already gives that one. Verdicts: done, denied, gone
// (it is closed), closed.
class Reserve final : public Operation {
 public:
  std::string reservation;
  std::vector<Terms> legs;
  std::vector<std::int64_t> fixed = {};  // what each leg costs in any case, 0: the amount. Empty: the amount everywhere
  std::int64_t amount = 0;
  bool partial = false;
  bool commit_on_expiry = false;
  Duration ttl = std::chrono::seconds(60);

  Status check() const override;
  void declare(Needs& needs) const override;
  Answer apply(Books& books, Posting& posting) override;
  std::unique_ptr<Operation> undo(const Answer& answer) const override;

 private:
  std::int64_t fixed_of(std::size_t leg) const { return leg < fixed.size() ? fixed[leg] : 0; }
  bool is_all_fixed() const;
};

// What an operation on an existing reservation has in common.
class ReservationOperation : public Operation {
 public:
  std::string reservation;

  Status check() const override;
  void declare(Needs& needs) const override { needs.reservations.insert(reservation); }

 protected:
  // Closes it in all its accounts. `actual` units are used; none: it lapses or is released.
  void close(Books& books, Posting& posting, Reservation& row, ReservationState as, std::int64_t actual_units,
             Answer& answer, const std::vector<Terms>& open_terms = {});
  // Its time has passed and it was not closed: closes it. True if it did.
  bool lapse_if_due(Books& books, Posting& posting, Reservation& row);
  Answer answer_of(Books& books, const Reservation& row) const;
  static Answer gone(const Reservation& row);
};

// Less than was held: `returned` becomes available again. More: charged as the rule's `overage` says; what it refuses
// is `uncharged`. Verdicts: done, not_found, gone (released, or its time had passed: report the usage).
class CommitReservation final : public ReservationOperation {
 public:
  std::int64_t actual = 0;
  // The terms of the open periods, for accounts whose period has closed meanwhile: they are charged there.
  std::vector<Terms> open_terms;

  Status check() const override;
  void declare(Needs& needs) const override;
  Answer apply(Books& books, Posting& posting) override;
};

class ReleaseReservation final : public ReservationOperation {
 public:
  Answer apply(Books& books, Posting& posting) override;
};

// Lives until `ttl` from now (0: as before), and holds `add` units more in every leg. Verdicts: done, denied,
// not_found, gone.
class ExtendReservation final : public ReservationOperation {
 public:
  Duration ttl{0};
  std::int64_t add = 0;

  Status check() const override;
  Answer apply(Books& books, Posting& posting) override;
};

// Closes reservations whose time has passed. They come from a query; each is looked at again. `granted`: how many.
class LapseReservations final : public ReservationOperation {
 public:
  std::vector<std::string> reservations;

  Status check() const override { return check_common(*this); }
  void declare(Needs& needs) const override { needs.reservations.insert(reservations.begin(), reservations.end()); }
  Answer apply(Books& books, Posting& posting) override;
};

}  // namespace weir::ledger
