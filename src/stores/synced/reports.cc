// What a SyncedStore asks of the store behind it: reports, requests that it cannot answer, and parts of calls.
#include <algorithm>
#include <utility>

#include "stores/synced/synced_store.h"

namespace weir::synced {

void Exchange::complete() { owner_.answered(*this); }
void Remainder::complete() { owner_.remainder_answered(*this); }

void SyncedStore::list(Account& account) {
  if (account.listed) return;
  account.listed = true;
  due_.push_back(&account);
  listed_.store(true, std::memory_order_relaxed);
}

// A larger credit may be used from now on. A smaller one is not what is in use before tick() has seen to it.
void SyncedStore::note_parts(std::uint32_t parts) {
  const std::uint32_t settled = settled_.load(std::memory_order_relaxed);
  if (parts == settled) [[likely]]
    return;
  if (settled == 0 || parts < settled) settled_.store(parts, std::memory_order_relaxed);
}

bool SyncedStore::wants_tick() const {
  if (listed_.load(std::memory_order_relaxed)) return true;
  const std::uint32_t settled = settled_.load(std::memory_order_relaxed);
  const std::uint32_t parts = settled == 0 ? 0 : credit_->parts(boot_->now());
  return parts > 0 && parts != settled;
}

void SyncedStore::report_if_due(Account& account, std::int64_t credit, TimePoint now) {
  if (account.unsynced == 0 || account.exchange != nullptr) return;
  if (now >= account.due || 2 * account.unsynced >= credit) report(account, now);
}

void SyncedStore::tick(bool all) {
  const TimePoint now = boot_->now();
  forget_after_loss();
  const std::uint32_t parts = credit_->parts(now);
  bool settled = true;
  std::size_t reports = 0;
  // Reports that are answered at once may list accounts again.
  std::vector<Account*> listed = std::exchange(due_, {});
  for (Account* const account : listed) account->listed = false;
  for (Account* const account : listed) {
    if (account->asked_under == nullptr) continue;
    const std::int64_t credit = credit_of(*account, now);
    const std::int64_t out = account->unsynced + account->pending + account->in_flight;
    const bool due = all || now >= account->due || out > credit;
    if (due && account->unsynced > 0 && account->exchange == nullptr && reports < kMaxReports) {
      ++reports;
      report(*account, now);
    }
    settled = settled && account->unsynced + account->pending + account->in_flight <= credit;
    if (account->unsynced + account->pending + account->in_flight > 0) list(*account);
  }
  listed_.store(!due_.empty(), std::memory_order_relaxed);
  if (!settled || parts == 0) return;
  settled_.store(parts, std::memory_order_relaxed);
}

Exchange& SyncedStore::make_exchange(Account& account, TimePoint now) {
  Exchange& exchange = exchanges_.take(*this);
  exchange.allowance = account.allowance;
  exchange.asked_under = account.asked_under;
  exchange.version = account.version;
  exchange.charge = account.charge;
  exchange.charge.allowance = &exchange.allowance;
  exchange.outcome = ChargeOutcome{};
  exchange.step = DrawStep{};
  exchange.step.late = account.unsynced;
  exchange.step.late_at = account.store_time;
  exchange.sent = now;
  exchange.epoch = epoch();
  exchange.carried = nullptr;
  exchange.action = Action::draw;
  exchange.set_reading(clock_->read());
  exchange.ingress = TimePoint{};
  exchange.status = Code::ok;
  exchange.charges = {&exchange.charge, 1};
  exchange.outcomes = {&exchange.outcome, 1};
  exchange.draw = &exchange.step;
  account.exchange = &exchange;
  account.in_flight = account.unsynced;
  account.unsynced = 0;
  if (account.in_flight > 0) {
    Stats::add(stats_.reports);
    Stats::add(stats_.reported, static_cast<std::uint64_t>(account.in_flight));
    list(account);
  }
  return exchange;
}

void SyncedStore::report(Account& account, TimePoint now) {
  Exchange& exchange = make_exchange(account, now);
  if (inner_->begin(exchange)) answered(exchange);
}

// The store decides, and the same call reports what was admitted before.
bool SyncedStore::carry(Account& account, StoreCall& call, TimePoint now) {
  const Charge& charge = call.charges.front();
  Exchange& exchange = make_exchange(account, now);
  exchange.charge.cost = exchange.step.want = charge.cost;
  exchange.set_reading(call.reading());
  exchange.ingress = call.ingress;
  exchange.carried = &call;
  if (!inner_->begin(exchange)) return false;
  settle(exchange);
  return true;
}

void SyncedStore::answered(Exchange& exchange) {
  StoreCall* const call = exchange.carried;
  settle(exchange);
  if (call != nullptr) call->complete();
}

void SyncedStore::settle(Exchange& exchange) {
  const TimePoint now = boot_->now();
  hand_over(exchange);
  exchanges_.give_back(exchange);
  // An account with something in flight keeps its place.
  Account* const account = table_.find(exchange.charge.key);
  if (account == nullptr || account->exchange != &exchange) return;
  account->exchange = nullptr;
  const std::int64_t reported = std::exchange(account->in_flight, 0);
  if (exchange.status == Code::unavailable) {
    // It was not sent.
    account->unsynced += reported;
    account->failing = true;
    if (account->unsynced > 0) {
      account->due = now + account->terms.sync_interval;
      list(*account);
    }
    return;
  }
  if (exchange.status != Code::ok || exchange.outcome.status != Code::ok) {
    account->lost += reported;
    account->failing = exchange.status != Code::ok;
    account->known = account->known && account->failing;
    if (reported == 0) return;
    Stats::add(stats_.lost_reports);
    Stats::add(stats_.lost, static_cast<std::uint64_t>(reported));
    return;
  }
  account->lost = 0;
  account->failing = false;
  const bool same_rules = account->version == exchange.version && account->asked_under == exchange.asked_under;
  if (same_rules && exchange.epoch == epoch()) account->learn(exchange.outcome, exchange.step, exchange.sent, now);
}

void SyncedStore::hand_over(const Exchange& exchange) const {
  if (exchange.carried == nullptr) return;
  StoreCall& call = *exchange.carried;
  call.status = exchange.status;
  call.atomic = exchange.atomic;
  call.answered = Consistency::exact;
  call.outcomes.front() = exchange.outcome;
}

bool SyncedStore::pass_on(const Split& split) {
  if (split.covered == 0) return inner_->begin(*split.call);
  Remainder& remainder = remainders_.take(*this);
  remainder.split = split;
  remainder.take_over(*split.call, split.covered);
  if (!inner_->begin(remainder)) return false;
  conclude(remainder);
  return true;
}

void SyncedStore::remainder_answered(Remainder& remainder) {
  StoreCall& call = *remainder.split.call;
  conclude(remainder);
  call.complete();
}

void SyncedStore::conclude(Remainder& remainder) {
  const TimePoint now = boot_->now();
  StoreCall& call = *remainder.split.call;
  const bool admitted = remainder.hand_back(call);
  if (call.action == Action::take) end_pending(remainder.split, admitted, now);
  answer(remainder.split, now);
  remainders_.give_back(remainder);
}

// Charges that wait for other buckets become units to be reported, or nothing.
void SyncedStore::end_pending(const Split& split, bool admitted, TimePoint now) {
  for (std::size_t i = 0; i < split.call->charges.size(); ++i) {
    const Charge& charge = split.call->charges[i];
    Account* const account = split.covers(i) ? table_.find(charge.key) : nullptr;
    if (account == nullptr) continue;
    account->pending -= charge.cost;
    if (!admitted) continue;
    admit(*account, charge.cost, now);
    report_if_due(*account, credit_of(*account, now), now);
  }
}

}  // namespace weir::synced
