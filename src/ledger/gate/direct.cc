// What is asked of the ledger itself: strict takes, looks, refunds, reported usage, and reservations.
#include <algorithm>
#include <map>

#include "ledger/gate/gate_answers.h"
#include "ledger/gate/leased_call.h"
#include "ledger/gate/ledger_gate.h"
#include "ledger/operations/reservations.h"
#include "ledger/operations/take.h"
#include "ledger/reading.h"

namespace weir::ledger {
namespace {

using database::Access;
using database::Outcome;
using database::Session;

constexpr Duration kKeepAnswers = std::chrono::hours(24);
// Between the key and the rest of the id of a take that has one.
constexpr char kOfKey = '#';

// The legs of an operation, each account once, and which of them each charge has.
struct MergedLegs {
  std::vector<Leg> legs;
  std::vector<std::size_t> of_charge;
  Status status = success();
};

MergedLegs merge(TermsMaker& maker, const QuotaCall& call, TimePoint wall) {
  MergedLegs merged;
  std::map<AccountKey, std::size_t> places;
  for (const QuotaCharge& charge : call.charges) {
    Result<Terms> terms = maker.make(charge, wall);
    if (!terms.ok()) {
      merged.status = terms.failure();
      return merged;
    }
    const auto [place, added] = places.try_emplace(terms.value().key, merged.legs.size());
    if (added) merged.legs.push_back({std::move(terms).value(), 0, false});
    Leg& leg = merged.legs[place->second];
    if (!charge.outcome.too_large) leg.amount += charge.cost;  // else it cannot be read
    leg.binding = leg.binding || charge.binding;
    merged.of_charge.push_back(place->second);
  }
  return merged;
}

// What an operation on these legs has answered, for each charge.
void tell(QuotaCall& call, const Answer& answer, const std::vector<std::size_t>& of_charge) {
  call.granted = answer.granted;
  call.returned = answer.returned;
  call.overage = answer.overage;
  call.uncharged = answer.uncharged;
  call.replayed = answer.replayed;
  call.message = answer.message;
  const TimePoint wall = call.at.wall();
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    QuotaCharge& charge = call.charges[i];
    charge.outcome = {};
    if (answer.verdict == Verdict::denied) {
      const bool denied = static_cast<std::int64_t>(of_charge[i]) == answer.leg;
      if (denied && !answer.accounts.empty()) {
        const std::int64_t least = call.partial && charge.follows ? 1 : charge.cost;
        fill_from(charge.outcome, answer.accounts.front(), least, wall, false);
      }
      charge.outcome.admitted = !denied;
    } else if (of_charge[i] < answer.accounts.size()) {
      const bool skipped =
          std::find(answer.skipped.begin(), answer.skipped.end(), of_charge[i]) != answer.skipped.end();
      fill_from(charge.outcome, answer.accounts[of_charge[i]], charge.cost, wall, !skipped);
    }
  }
}

// Of the amount of a reservation, at least 1.
std::int64_t what_fits(const QuotaCall& call, const std::vector<Account>& accounts,
                       const std::vector<std::size_t>& of_charge) {
  std::int64_t fits = call.amount;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Account& account = accounts[of_charge[i]];
    if (!call.charges[i].follows || !call.charges[i].binding || account.record_overage) continue;
    fits = std::min(fits, std::max<std::int64_t>(1, Posting::takeable(account)));
  }
  return fits;
}

Code code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::done:
    case Verdict::denied:
      return Code::ok;
    case Verdict::conflict:
      return Code::already_exists;
    case Verdict::not_found:
      return Code::not_found;
    case Verdict::gone:
    case Verdict::closed:
    case Verdict::stale:
      return Code::failed_precondition;
  }
  return Code::internal;
}

}  // namespace

void LedgerGate::begin(QuotaCall& call) {
  using Verb = QuotaCall::Verb;
  switch (call.verb) {
    case Verb::take: {
      const bool strict = std::any_of(call.charges.begin(), call.charges.end(), [](const QuotaCharge& charge) {
        return charge.quota->enforcement == Enforcement::strict;
      });
      if (strict) return take_strict(call);
      if (waiting_.load(std::memory_order_relaxed) >= options_.max_waiting) {
        return fail_call(call, {Code::resource_exhausted, "too many decisions wait for the ledger"});
      }
      return advance(*new LeasedCall(*this, call));
    }
    case Verb::peek:
      return look(call);
    case Verb::refund:
    case Verb::usage:
      return change(call);
    case Verb::reserve:
      return reserve(call);
    default:
      return settle(call);
  }
}

void LedgerGate::take_strict(QuotaCall& call) {
  // What does not bind, or has a cost that cannot be read, takes nothing here and does not hold back the others.
  for (QuotaCharge& charge : call.charges) {
    if (charge.outcome.too_large && charge.binding) return call.complete();
  }
  MergedLegs merged = merge(terms_, call, call.at.wall());
  if (!merged.status.ok()) return fail_call(call, merged.status.failure());
  auto take = std::make_unique<Take>();
  if (!call.request.empty()) {
    take->once = Once{call.id, call.request, call.at.wall() + kKeepAnswers};
    // The key comes again if it is decided again, and an operation does not; reverse() finds the key in it.
    call.id += kOfKey + prefix_ + std::to_string(operations_.fetch_add(1, std::memory_order_relaxed));
  }
  take->id = call.id;
  take->legs = std::move(merged.legs);
  take->deadline = std::chrono::steady_clock::now() + options_.patience;
  take->done = [&call, of_charge = std::move(merged.of_charge)](const Result<Answer>& answer) {
    if (!answer.ok()) return fail_call(call, answer.failure());
    if (code_of(answer.value().verdict) != Code::ok) {
      return fail_call(call, {code_of(answer.value().verdict), answer.value().message});
    }
    tell(call, answer.value(), of_charge);
    call.complete();
  };
  ledger_.submit(std::move(take));
}

// Accounts as they are; one that was never opened has everything.
void LedgerGate::look(QuotaCall& call) {
  MergedLegs merged = merge(terms_, call, call.at.wall());
  if (!merged.status.ok()) return fail_call(call, merged.status.failure());
  auto accounts = std::make_shared<std::vector<Account>>();
  auto legs = std::make_shared<std::vector<Leg>>(std::move(merged.legs));
  const auto work = [accounts, legs](Session& session) -> Status {
    accounts->clear();
    for (const Leg& leg : *legs) {
      const Result<std::optional<Account>> read = read_account(session, leg.terms.key);
      if (!read.ok()) return read.failure();
      Account account = read.value().value_or(Account{});
      if (!read.value()) {
        account.available = account.limit = leg.terms.limit;
        account.grace = leg.terms.grace;
        account.record_overage = leg.terms.record_overage;
        account.ends = leg.terms.ends;
      }
      accounts->push_back(std::move(account));
    }
    return success();
  };
  const auto done = [&call, accounts, of_charge = std::move(merged.of_charge)](const Outcome& outcome) {
    if (!outcome.ok()) return fail_call(call, outcome.status.failure());
    const std::int64_t fits = call.partial ? what_fits(call, *accounts, of_charge) : call.amount;
    call.granted = fits;
    for (std::size_t i = 0; i < call.charges.size(); ++i) {
      QuotaCharge& charge = call.charges[i];
      if (charge.outcome.too_large) continue;
      const std::int64_t cost = call.partial && charge.follows ? fits : charge.cost;
      const Account& account = (*accounts)[of_charge[i]];
      const bool admitted = account.record_overage || cost <= account.available + account.grace_left();
      fill_from(charge.outcome, account, cost, call.at.wall(), admitted);
    }
    call.complete();
  };
  const Status queued =
      ledger_.database().submit({Access::read, work, done, std::chrono::steady_clock::now() + options_.patience});
  if (!queued.ok()) fail_call(call, queued.failure());
}

// Refunds, and usage that has happened.
void LedgerGate::change(QuotaCall& call) {
  const TimePoint wall = call.effective == TimePoint{} ? call.at.wall() : call.effective;
  MergedLegs merged = merge(terms_, call, wall);
  if (!merged.status.ok()) return fail_call(call, merged.status.failure());
  std::unique_ptr<LegsOperation> operation;
  if (call.verb == QuotaCall::Verb::refund) {
    operation = std::make_unique<Refund>();
  } else {
    operation = std::make_unique<ReportUsage>();
  }
  operation->id = call.id;
  operation->effective = call.effective;
  operation->legs = std::move(merged.legs);
  operation->deadline = std::chrono::steady_clock::now() + options_.patience;
  if (!call.request.empty()) operation->once = Once{call.id, call.request, call.at.wall() + kKeepAnswers};
  operation->done = [&call, of_charge = std::move(merged.of_charge)](const Result<Answer>& answer) {
    if (!answer.ok()) return fail_call(call, answer.failure());
    if (code_of(answer.value().verdict) != Code::ok) {
      return fail_call(call, {code_of(answer.value().verdict), answer.value().message});
    }
    tell(call, answer.value(), of_charge);
    call.complete();
  };
  ledger_.submit(std::move(operation));
}

void LedgerGate::reserve(QuotaCall& call) {
  MergedLegs merged = merge(terms_, call, call.at.wall());
  if (!merged.status.ok()) return fail_call(call, merged.status.failure());
  auto reserve = std::make_unique<Reserve>();
  reserve->id = "reserve " + call.id;
  reserve->reservation = call.id;
  reserve->amount = call.amount;
  reserve->partial = call.partial;
  reserve->compares = call.actual > 0;
  reserve->ttl = call.ttl;
  for (Leg& leg : merged.legs) {
    reserve->legs.push_back(std::move(leg.terms));
    reserve->shadow.push_back(!leg.binding);
  }
  reserve->fixed.resize(reserve->legs.size());
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    if (!call.charges[i].follows) reserve->fixed[merged.of_charge[i]] += call.charges[i].cost;
  }
  reserve->commit_on_expiry = std::any_of(call.charges.begin(), call.charges.end(),
                                          [](const QuotaCharge& charge) { return charge.commit_on_expiry; });
  reserve->deadline = std::chrono::steady_clock::now() + options_.patience;
  reserve->done = [&call, of_charge = std::move(merged.of_charge)](const Result<Answer>& answer) {
    if (!answer.ok()) return fail_call(call, answer.failure());
    tell(call, answer.value(), of_charge);
    call.expires = answer.value().expires;
    if (answer.value().verdict == Verdict::gone) call.state = weir::ReservationState::expired;
    if (answer.value().verdict == Verdict::closed) return fail_call(call, {Code::failed_precondition, call.message});
    if (answer.value().verdict == Verdict::conflict) return fail_call(call, {Code::already_exists, call.message});
    call.complete();
  };
  ledger_.submit(std::move(reserve));
}

void LedgerGate::reverse(const std::string& id) {
  auto reverse = std::make_unique<Reverse>();
  reverse->id = "reverse " + id;
  reverse->operation = id;
  if (const std::size_t end = id.find(kOfKey); end != std::string::npos) reverse->key = id.substr(0, end);
  reverse->reason = "the request was denied after all";
  reverse->deadline = Operation::Deadline::max();
  ledger_.submit_later(std::move(reverse));
}

}  // namespace weir::ledger
