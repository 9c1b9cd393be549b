#include "ledger/operations/reservations.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weir::ledger {
namespace {

Status check_reservation(const Operation& operation, const std::string& reservation) {
  if (Status checked = check_common(operation); !checked.ok()) return checked;
  if (reservation.empty()) return Failure{Code::invalid_argument, "a reservation without an id"};
  return check_name("the reservation's id", reservation, kMaxIdBytes);
}

Failure without_ttl() { return {Code::invalid_argument, "a reservation without time to live"}; }

}  // namespace

Status Reserve::check() const {
  if (Status checked = check_reservation(*this, reservation); !checked.ok()) return checked;
  if (Status checked = check_amount(amount, is_all_fixed() ? 0 : 1); !checked.ok()) return checked;
  if (ttl <= Duration::zero()) return without_ttl();
  std::vector<Leg> as_legs;
  for (const Terms& terms : legs) as_legs.push_back({terms, amount});
  for (const std::int64_t each : fixed) {
    if (Status checked = check_amount(each, 0); !checked.ok()) return checked;
  }
  return check_legs(as_legs);
}

bool Reserve::is_all_fixed() const {
  return fixed.size() == legs.size() && std::find(fixed.begin(), fixed.end(), 0) == fixed.end();
}

void Reserve::declare(Needs& needs) const {
  needs.reservations.insert(reservation);
  for (const Terms& terms : legs) needs.add(terms);
}

Answer Reserve::apply(Books& books, Posting& posting) {
  Answer answer;
  if (const Reservation* earlier = books.find_reservation(reservation)) {
    answer.replayed = true;
    answer.granted = earlier->granted;
    answer.expires = earlier->expires;
    if (earlier->state == ReservationState::open && books.now() < earlier->expires) {
      if (!compares || !earlier->as_asked() || earlier->granted == amount) return answer;
      answer.verdict = Verdict::conflict;
      answer.message = "this id has a reservation of another amount";
      return answer;
    }
    answer.verdict = Verdict::gone;
    answer.message = "this reservation is closed";
    return answer;
  }
  std::vector<Account*> accounts;
  std::int64_t granted = amount;
  for (std::size_t i = 0; i < legs.size(); ++i) {
    if (std::optional<Answer> closed = refuse_closed(books, legs[i], i)) return *closed;
    Account& account = posting.open(legs[i]);
    accounts.push_back(&account);
    if (const std::int64_t own = fixed_of(i); own > 0) {
      if (!Posting::can_draw(account, own, beyond(i, account))) return denied_answer(account, own, i);
      continue;
    }
    if (partial && !account.record_overage && !is_shadow(i)) granted = std::min(granted, Posting::takeable(account));
    if (granted < 1 || !Posting::can_draw(account, granted, beyond(i, account))) {
      return denied_answer(account, amount, i);
    }
  }
  Reservation row{.id = reservation,
                  .state = ReservationState::open,
                  .commit_on_expiry = commit_on_expiry,
                  .granted = granted,
                  .actual = compares && granted == amount ? 1 : 0,
                  .created = books.now(),
                  .expires = books.now() + ttl,
                  .legs = {}};
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    Account* const account = accounts[i];
    const std::int64_t held = fixed_of(i) > 0 ? fixed_of(i) : granted;
    if (!Posting::can_draw(*account, held, beyond_of(*account))) answer.skipped.push_back(i);
    posting.draw(*account, EntryKind::reserve, held, beyond(i, *account), reservation);
    row.legs.push_back({account->id, held, fixed_of(i) > 0});
    answer.accounts.push_back(*account);
  }
  std::sort(row.legs.begin(), row.legs.end(), [](const auto& a, const auto& b) { return a.account < b.account; });
  answer.granted = granted;
  answer.expires = row.expires;
  answer.overage = posting.overage();
  answer.grace = posting.grace();
  books.reservations[reservation] = {std::move(row), std::nullopt};
  return answer;
}

std::unique_ptr<Operation> Reserve::undo(const Answer& answer) const {
  if (answer.verdict != Verdict::done || answer.replayed) return nullptr;
  auto release = std::make_unique<ReleaseReservation>();
  release->id = "undo " + id;
  release->reservation = reservation;
  return release;
}

Status ReservationOperation::check() const { return check_reservation(*this, reservation); }

Answer ReservationOperation::answer_of(Books& books, const Reservation& row) const {
  Answer answer;
  answer.granted = row.granted;
  answer.expires = row.expires;
  for (const ReservationLeg& leg : row.legs) answer.accounts.push_back(*books.find(leg.account));
  return answer;
}

Answer ReservationOperation::gone(const Reservation& row) {
  Answer answer;
  answer.verdict = Verdict::gone;
  answer.granted = row.granted;
  answer.expires = row.expires;
  answer.message = row.state == ReservationState::lapsed || row.state == ReservationState::open
                       ? "the reservation's time had passed before; report what was used as usage"
                       : "the reservation has been " + std::string(state_name(row.state));
  return answer;
}

Status ReservationOperation::check_open_terms() const {
  for (const Terms& terms : open_terms) {
    if (Status checked = check_terms(terms); !checked.ok()) return checked;
  }
  return success();
}

void ReservationOperation::declare_open_terms(Needs& needs) const {
  for (const Terms& terms : open_terms) needs.add(terms);
}

const Terms* ReservationOperation::open_terms_of(const Account& closed) const {
  const auto found = std::find_if(open_terms.begin(), open_terms.end(), [&closed](const Terms& terms) {
    return terms.key.rule == closed.key.rule && terms.key.subject == closed.key.subject && terms.begins >= closed.ends;
  });
  return found == open_terms.end() ? nullptr : &*found;
}

std::optional<Answer> ReservationOperation::lacks_open_terms(Books& books, const Reservation& row,
                                                             std::int64_t actual_units) const {
  if (forgo_closed) return std::nullopt;
  std::optional<Answer> lacking;
  for (std::size_t i = 0; i < row.legs.size(); ++i) {
    const Account& account = *books.find(row.legs[i].account);
    const std::int64_t actual = row.legs[i].fixed ? row.legs[i].held : actual_units;
    if (actual == 0 || !account.closed(books.now()) || open_terms_of(account) != nullptr) continue;
    if (!lacking) lacking = closed_answer(account.key, i);
    lacking->accounts.push_back(account);
  }
  return lacking;
}

void ReservationOperation::close(Books& books, Posting& posting, Reservation& row, ReservationState as,
                                 std::int64_t actual_units, Answer& answer) {
  for (ReservationLeg& leg : row.legs) {
    Account& account = *books.find(leg.account);
    const std::int64_t held = std::exchange(leg.held, 0);
    const bool committed = as == ReservationState::committed;
    const std::int64_t actual = leg.fixed ? (committed ? held : 0) : actual_units;
    posting.refresh(account);
    if (actual > 0 && account.closed(books.now())) {
      posting.give_back(account, EntryKind::release, held, row.id);
      answer.returned = std::max(answer.returned, held);
      const Terms* const elsewhere = open_terms_of(account);
      Account* const open = elsewhere == nullptr ? nullptr : &posting.open(*elsewhere);
      if (open != nullptr && Posting::can_draw(*open, actual, Posting::Beyond::record)) {
        posting.draw(*open, EntryKind::charge, actual, Posting::Beyond::record, row.id + " in " + account.key.period);
      } else {
        answer.uncharged = std::max(answer.uncharged, actual);
      }
      continue;
    }
    const std::int64_t used = std::min(actual, held);
    posting.post(account, EntryKind::commit, used, row.id);
    const EntryKind rest = used > 0                         ? EntryKind::remainder
                           : as == ReservationState::lapsed ? EntryKind::lapse
                                                            : EntryKind::release;
    posting.give_back(account, rest, held - used, row.id);
    answer.returned = std::max(answer.returned, held - used);
    std::int64_t excess = actual - used;
    if (!Posting::can_draw(account, excess, beyond_of(account))) {
      const std::int64_t fits = std::min(excess, Posting::takeable(account));
      answer.uncharged = std::max(answer.uncharged, excess - fits);
      excess = fits;
    }
    posting.draw(account, EntryKind::excess, excess, beyond_of(account), row.id);
  }
  row.state = as;
  row.actual = actual_units;
  answer.overage = posting.overage();
  answer.grace = posting.grace();
}

bool ReservationOperation::lapse_if_due(Books& books, Posting& posting, Reservation& row,
                                        std::vector<Account>* lacking) {
  if (row.state != ReservationState::open || books.now() < row.expires) return false;
  Answer ignored;
  if (!row.commit_on_expiry) {
    close(books, posting, row, ReservationState::lapsed, 0, ignored);
    return true;
  }
  if (std::optional<Answer> lacks = lacks_open_terms(books, row, row.granted)) {
    if (lacking != nullptr) lacking->insert(lacking->end(), lacks->accounts.begin(), lacks->accounts.end());
    return true;
  }
  close(books, posting, row, ReservationState::committed, row.granted, ignored);
  return true;
}

Status CommitReservation::check() const {
  if (Status checked = ReservationOperation::check(); !checked.ok()) return checked;
  if (Status checked = check_open_terms(); !checked.ok()) return checked;
  return check_amount(actual, 0);
}

void CommitReservation::declare(Needs& needs) const {
  ReservationOperation::declare(needs);
  declare_open_terms(needs);
}

Answer CommitReservation::apply(Books& books, Posting& posting) {
  Reservation* row = books.find_reservation(reservation);
  if (row == nullptr) return not_found("no reservation \"" + reservation + "\"");
  if (lapse_if_due(books, posting, *row)) return gone(*row);
  Answer answer;
  if (row->state == ReservationState::committed && row->actual == actual) {
    answer = answer_of(books, *row);
    answer.replayed = true;
    return answer;
  }
  if (row->state != ReservationState::open) return gone(*row);
  if (std::optional<Answer> lacks = lacks_open_terms(books, *row, actual)) return *std::move(lacks);
  close(books, posting, *row, ReservationState::committed, actual, answer);
  const Answer after = answer_of(books, *row);
  answer.granted = after.granted;
  answer.expires = after.expires;
  answer.accounts = after.accounts;
  return answer;
}

Answer ReleaseReservation::apply(Books& books, Posting& posting) {
  Reservation* row = books.find_reservation(reservation);
  const auto is_of_account = [this](const auto& leg) { return of_account == 0 || leg.account == of_account; };
  if (row == nullptr || std::none_of(row->legs.begin(), row->legs.end(), is_of_account)) {
    return not_found("no reservation \"" + reservation + "\"");
  }
  if (lapse_if_due(books, posting, *row)) return gone(*row);
  if (row->state == ReservationState::released) {
    Answer answer = answer_of(books, *row);
    answer.replayed = true;
    return answer;
  }
  if (row->state != ReservationState::open) return gone(*row);
  Answer closed;
  close(books, posting, *row, ReservationState::released, 0, closed);
  Answer answer = answer_of(books, *row);
  answer.returned = closed.returned;
  return answer;
}

Status ExtendReservation::check() const {
  if (Status checked = ReservationOperation::check(); !checked.ok()) return checked;
  if (ttl < Duration::zero()) return without_ttl();
  return check_amount(add, 0);
}

Answer ExtendReservation::apply(Books& books, Posting& posting) {
  Reservation* row = books.find_reservation(reservation);
  if (row == nullptr) return not_found("no reservation \"" + reservation + "\"");
  if (lapse_if_due(books, posting, *row) || row->state != ReservationState::open) return gone(*row);
  std::int64_t units = add;
  for (std::size_t i = 0; add > 0 && i < row->legs.size(); ++i) {
    if (row->legs[i].fixed) continue;
    Account& account = *books.find(row->legs[i].account);
    posting.refresh(account);
    if (partial && !account.record_overage) units = std::min(units, Posting::takeable(account));
    if (units >= 1 && Posting::can_draw(account, units, beyond_of(account))) continue;
    Answer denied = denied_answer(account, add, i);
    denied.granted = row->granted;
    denied.expires = row->expires;
    return denied;
  }
  for (ReservationLeg& leg : row->legs) {
    if (leg.fixed) continue;
    Account& account = *books.find(leg.account);
    posting.draw(account, EntryKind::extend, units, beyond_of(account), reservation);
    leg.held += units;
  }
  row->granted += units;
  if (units > 0) row->actual = 0;
  const TimePoint before = row->expires;
  if (ttl > Duration::zero()) row->expires = std::max(row->expires, books.now() + ttl);
  Answer answer = answer_of(books, *row);
  answer.overage = posting.overage();
  answer.added = units;
  answer.before = before;
  return answer;
}

Status NarrowReservation::check() const {
  if (Status checked = ReservationOperation::check(); !checked.ok()) return checked;
  return check_amount(less, 0);
}

Answer NarrowReservation::apply(Books& books, Posting& posting) {
  Reservation* row = books.find_reservation(reservation);
  if (row == nullptr) return not_found("no reservation \"" + reservation + "\"");
  if (lapse_if_due(books, posting, *row) || row->state != ReservationState::open) return gone(*row);
  const std::int64_t units = std::min(less, row->granted);
  std::int64_t returned = 0;
  for (ReservationLeg& leg : row->legs) {
    if (leg.fixed || units == 0) continue;
    Account& account = *books.find(leg.account);
    posting.refresh(account);
    posting.give_back(account, EntryKind::remainder, units, reservation);
    leg.held -= units;
    returned = units;
  }
  row->granted -= units;
  row->actual = 0;
  if (before != TimePoint{} && row->expires == extended) row->expires = before;
  Answer answer = answer_of(books, *row);
  answer.granted = 0;
  answer.returned = returned;
  return answer;
}

Status LapseReservations::check() const {
  if (Status checked = check_common(*this); !checked.ok()) return checked;
  return check_open_terms();
}

void LapseReservations::declare(Needs& needs) const {
  needs.reservations.insert(reservations.begin(), reservations.end());
  declare_open_terms(needs);
}

Answer LapseReservations::apply(Books& books, Posting& posting) {
  Answer answer;
  for (const std::string& each : reservations) {
    Reservation* row = books.find_reservation(each);
    if (row == nullptr || !lapse_if_due(books, posting, *row, &answer.accounts)) continue;
    if (row->state != ReservationState::open) ++answer.granted;
  }
  return answer;
}

}  // namespace weir::ledger
