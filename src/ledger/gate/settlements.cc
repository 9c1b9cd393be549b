// Settling reservations: commit, release, extend and lookup, by the id alone.
#include <algorithm>
#include <map>

#include "ledger/gate/gate_answers.h"
#include "ledger/gate/ledger_gate.h"
#include "ledger/reading.h"

namespace weir::ledger {
namespace {

using database::Access;
using database::Outcome;
using database::Session;

// Longer than an answer of the ledger can be on its way.
constexpr Duration kKeepNarrowing = std::chrono::hours(1);

weir::ReservationState public_state(ReservationState state) {
  switch (state) {
    case ReservationState::open:
      return weir::ReservationState::open;
    case ReservationState::committed:
      return weir::ReservationState::committed;
    case ReservationState::released:
      return weir::ReservationState::released;
    case ReservationState::lapsed:
      return weir::ReservationState::expired;
  }
  return weir::ReservationState::expired;
}

// What the call that closed a reservation was told, from what it wrote.
void tell_closing(const Reservation& row, const std::vector<Entry>& entries, Answer& answer) {
  std::map<std::int64_t, std::int64_t> returned;
  std::map<std::int64_t, std::int64_t> used;
  bool elsewhere = false;  // its period had closed
  for (const Entry& entry : entries) {
    if (entry.kind == EntryKind::overage) answer.overage += entry.amount;
    if (entry.kind == EntryKind::charge) elsewhere = true;
    if (entry.kind == EntryKind::release || entry.kind == EntryKind::remainder) returned[entry.account] += entry.amount;
    if (entry.kind == EntryKind::commit || entry.kind == EntryKind::excess) used[entry.account] += entry.amount;
  }
  for (const auto& [account, units] : returned) answer.returned = std::max(answer.returned, units);
  if (row.state != ReservationState::committed || entries.empty() || elsewhere) return;
  for (const ReservationLeg& leg : row.legs) {
    if (!leg.fixed) answer.uncharged = std::max(answer.uncharged, row.actual - used[leg.account]);
  }
}

}  // namespace

std::optional<Terms> LedgerGate::open_terms(const Account& closed, TimePoint wall) {
  const std::optional<Quota> quota = options_.quota_of ? options_.quota_of(closed.key.rule) : std::nullopt;
  if (!quota) return std::nullopt;
  return terms_.after_close(*quota, closed, wall);
}

void LedgerGate::look_up(QuotaCall& call) {
  auto row = std::make_shared<std::optional<Reservation>>();
  const auto work = [row, id = call.id](Session& session) -> Status {
    Result<std::optional<Reservation>> read = read_reservation(session, id);
    if (!read.ok()) return read.failure();
    *row = std::move(read).value();
    return success();
  };
  const auto done = [&call, row](const Outcome& outcome) {
    if (!outcome.ok()) return fail_call(call, outcome.status.failure());
    call.known = row->has_value();
    if (*row) {
      call.state = public_state((*row)->state);
      if ((*row)->state == ReservationState::open && call.at.wall() >= (*row)->expires) {
        call.state = weir::ReservationState::expired;
      }
      call.granted = (*row)->granted;
      call.actual = (*row)->state == ReservationState::open ? 0 : (*row)->actual;
      call.expires = (*row)->expires;
    }
    call.complete();
  };
  const Status queued =
      ledger_.database().submit({Access::read, work, done, std::chrono::steady_clock::now() + options_.patience});
  if (!queued.ok()) fail_call(call, queued.failure());
}

void LedgerGate::settle(QuotaCall& call) {
  using Verb = QuotaCall::Verb;
  if (call.verb == Verb::lookup) return look_up(call);
  if (call.verb == Verb::narrow) return narrow(call);
  std::unique_ptr<ReservationOperation> operation;
  if (call.verb == Verb::commit) {
    auto commit = std::make_unique<CommitReservation>();
    commit->actual = call.actual;
    operation = std::move(commit);
  } else if (call.verb == Verb::release) {
    operation = std::make_unique<ReleaseReservation>();
  } else {
    auto extend = std::make_unique<ExtendReservation>();
    extend->ttl = call.ttl;
    extend->add = call.amount;
    extend->partial = call.partial;
    operation = std::move(extend);
  }
  submit_settlement(call, std::move(operation));
}

void LedgerGate::submit_settlement(QuotaCall& call, std::unique_ptr<ReservationOperation> operation) {
  const std::uint64_t number = operations_.fetch_add(1, std::memory_order_relaxed);
  operation->id = "settle " + prefix_ + std::to_string(number);
  operation->reservation = call.id;
  operation->deadline = std::chrono::steady_clock::now() + options_.patience;
  const bool is_first = !operation->forgo_closed;
  operation->done = [this, &call, is_first](const Result<Answer>& answer) {
    if (!answer.ok()) return fail_call(call, answer.failure());
    if (answer.value().verdict == Verdict::gone) return look_up(call);
    if (answer.value().verdict == Verdict::closed && is_first) return commit_after_close(call, answer.value().accounts);
    if (answer.value().replayed) return repeat_answer(call, answer.value());
    settled(call, answer.value());
  };
  ledger_.submit(std::move(operation));
}

// It was closed like this before: the first answer again.
void LedgerGate::repeat_answer(QuotaCall& call, const Answer& told) {
  auto answer = std::make_shared<Answer>(told);
  const auto work = [answer, id = call.id](Session& session) -> Status {
    const Result<std::optional<Reservation>> row = read_reservation(session, id);
    if (!row.ok()) return row.failure();
    const Result<std::vector<Entry>> entries = read_closing(session, id);
    if (!entries.ok()) return entries.failure();
    answer->returned = answer->overage = answer->uncharged = 0;
    if (row.value()) tell_closing(*row.value(), entries.value(), *answer);
    return success();
  };
  const auto done = [this, &call, answer](const Outcome& outcome) {
    if (!outcome.ok()) return fail_call(call, outcome.status.failure());
    settled(call, *answer);
  };
  const Status queued =
      ledger_.database().submit({Access::read, work, done, std::chrono::steady_clock::now() + options_.patience});
  if (!queued.ok()) fail_call(call, queued.failure());
}

// Nothing was done. What was used is charged in the period that is open now.
void LedgerGate::commit_after_close(QuotaCall& call, const std::vector<Account>& closed) {
  auto commit = std::make_unique<CommitReservation>();
  commit->actual = call.actual;
  commit->forgo_closed = true;
  for (const Account& account : closed) {
    if (std::optional<Terms> terms = open_terms(account, call.at.wall())) {
      commit->open_terms.push_back(*std::move(terms));
    } else {
      say("quota_uncharged", "rule " + account.key.rule + " is gone: a reservation of its closed period " +
                                 account.key.period + " is not charged");
    }
  }
  submit_settlement(call, std::move(commit));
}

void LedgerGate::settled(QuotaCall& call, const Answer& told) {
  using Verb = QuotaCall::Verb;
  call.message = told.message;
  if (told.verdict == Verdict::not_found) call.known = false;
  call.granted = told.granted;
  call.returned = told.returned;
  call.overage = told.overage;
  call.uncharged = told.uncharged;
  call.replayed = told.replayed;
  call.expires = told.expires;
  call.added = told.added;
  call.before = told.before;
  if (told.verdict == Verdict::denied && !told.accounts.empty()) {
    const Account& account = told.accounts.front();
    QuotaDenial& denial = call.denial.emplace();
    denial.rule = account.key.rule;
    denial.limit = account.limit;
    fill_from(denial.outcome, account, call.partial ? 1 : call.amount, call.at.wall(), false);
  }
  if (told.verdict == Verdict::done && call.verb == Verb::commit) call.state = weir::ReservationState::committed;
  if (told.verdict == Verdict::done && call.verb == Verb::release) call.state = weir::ReservationState::released;
  for (QuotaCharge& charge : call.charges) {
    charge.outcome.admitted = told.verdict != Verdict::denied;
    for (const Account& account : told.accounts) {
      if (account.key.rule != charge.rule) continue;
      fill_from(charge.outcome, account, call.amount, call.at.wall(), charge.outcome.admitted);
    }
  }
  call.complete();
}

// The caller has been granted less in any case: if the ledger does not answer in time, it is told later.
void LedgerGate::narrow(QuotaCall& call) {
  const std::string id = "narrow " + prefix_ + std::to_string(operations_.fetch_add(1, std::memory_order_relaxed));
  const auto make = [&call, &id](std::string_view attempt) {
    auto operation = std::make_unique<NarrowReservation>();
    operation->id = id + std::string(attempt);
    operation->once = Once{id, "", call.at.wall() + kKeepNarrowing};
    operation->reservation = call.id;
    operation->less = call.amount;
    operation->extended = call.expires;
    operation->before = call.before;
    operation->reason = "another rule has granted less";
    return operation;
  };
  std::shared_ptr<NarrowReservation> again = make(" again");
  again->deadline = Operation::Deadline::max();
  std::unique_ptr<NarrowReservation> first = make("");
  first->deadline = std::chrono::steady_clock::now() + options_.patience;
  first->done = [this, &call, again = std::move(again)](const Result<Answer>& answer) {
    if (!answer.ok()) {
      ledger_.submit_later(std::make_unique<NarrowReservation>(*again));
    } else {
      for (QuotaCharge& charge : call.charges) {
        for (const Account& account : answer.value().accounts) {
          if (account.key.rule == charge.rule) charge.outcome.remaining = account.available;
        }
      }
    }
    call.granted -= call.amount;
    if (call.before != TimePoint{}) call.expires = call.before;
    call.complete();
  };
  ledger_.submit(std::move(first));
}

void LedgerGate::release(const std::string& reservation) {
  auto release = std::make_unique<ReleaseReservation>();
  release->id = "release " + reservation;
  release->reservation = reservation;
  release->reason = "the store refused it";
  release->deadline = Operation::Deadline::max();
  ledger_.submit_later(std::move(release));
}

}  // namespace weir::ledger
