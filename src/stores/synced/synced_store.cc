// What is answered by what is known. What is asked of the store is in reports.cc.
#include "stores/synced/synced_store.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "algorithms/draw.h"

namespace weir::synced {
namespace {

bool is_synced(const Charge& charge) {
  return charge.slices != nullptr && charge.slices->consistency == Consistency::synced;
}

bool is_plain(const StoreCall& call) {
  return call.hold == nullptr && !call.once &&
         (call.action == Action::take || call.action == Action::peek || call.action == Action::refund);
}

}  // namespace

SyncedStore::SyncedStore(Options options)
    : inner_(std::move(options.store)),
      clock_(std::move(options.clock)),
      boot_(std::move(options.boot)),
      credit_(std::move(options.credit)),
      epoch_(std::move(options.epoch)),
      seen_epoch_(epoch()) {
  assert(inner_ != nullptr && clock_ != nullptr && boot_ != nullptr && credit_ != nullptr);
}

SyncedStore::~SyncedStore() { assert(exchanges_.all_idle() && remainders_.all_idle() && "something is in flight"); }

bool SyncedStore::begin(StoreCall& call) {
  call.answered = Consistency::exact;
  if (std::none_of(call.charges.begin(), call.charges.end(), is_synced)) return inner_->begin(call);
  forget_after_loss();
  if (!is_plain(call)) return pass_through(call);
  return call.action == Action::refund ? refund(call) : take(call);
}

// What else is done to a bucket is done in the store. A bucket that is cleared begins again on this node too.
bool SyncedStore::pass_through(StoreCall& call) {
  const bool clears = call.action == Action::reset || call.action == Action::report_success;
  for (const Charge& charge : call.charges) {
    Account* const account = is_synced(charge) ? table_.find(charge.key) : nullptr;
    if (account == nullptr) continue;
    account->known = false;
    if (clears) account->unsynced = account->lost = 0;
  }
  return inner_->begin(call);
}

void SyncedStore::forget_after_loss() {
  const std::uint64_t now = epoch();
  if (now == seen_epoch_) [[likely]]
    return;
  seen_epoch_ = now;
  table_.for_each([](Account& account) { account.known = false; });
}

// The account of a charge as it is now. Null: the store is to be asked.
Account* SyncedStore::open(const Charge& charge, TimePoint now) {
  const SliceTerms& terms = *charge.slices;
  Account* const account = table_.admit(charge.key);
  if (account == nullptr) return nullptr;
  if (account->version != terms.version || account->asked_under != charge.allowance) [[unlikely]] {
    if (account->exchange != nullptr) return nullptr;
    // Under other rules, or other numbers, the bucket has something else left. What it owes stays, if it still counts
    // in the same way.
    const bool same_count = account->allowance.algorithm == charge.allowance->algorithm &&
                            account->allowance.window == charge.allowance->window;
    if (account->asked_under != nullptr && account->is_window() && !same_count) account->unsynced = 0;
    account->known = false;
    account->version = terms.version;
    account->asked_under = charge.allowance;
    account->allowance = *charge.allowance;
    account->terms = terms;
    account->parts = 0;
    account->charge = charge;
    account->charge.allowance = &account->allowance;
    account->charge.slices = nullptr;
    account->charge.binding = true;
    account->charge.cost = 0;
  }
  account->used_at = now;
  return account;
}

std::int64_t SyncedStore::credit_of(Account& account, TimePoint now) {
  const std::uint32_t parts = credit_->parts(now);
  if (parts == 0) return 0;
  note_parts(parts);
  if (account.parts != parts) [[unlikely]] {
    account.credit = account.terms.tolerated(account.allowance.largest_cost()) / parts;
    account.parts = parts;
  }
  return account.credit;
}

// What is known is used for two intervals; a bucket that is asked for more seldom is exact. While the store does not
// answer there is nothing better.
bool SyncedStore::may_use(const Account& account, TimePoint now) const {
  if (!account.is_good(now)) return false;
  return now - account.known_at <= 2 * account.terms.sync_interval || account.exchange != nullptr || account.failing;
}

SyncedStore::Room SyncedStore::room(Account& account, TimePoint now) {
  Room room;
  room.credit = credit_of(account, now);
  if (!account.is_good(now)) return room;
  room.left = account.level(now) - account.unreflected();
  room.usable = may_use(account, now);
  return room;
}

bool SyncedStore::covers(const Account& account, const Room& room, std::int64_t cost) {
  return room.usable && account.unreflected() + cost <= room.credit && cost <= room.left;
}

void SyncedStore::admit(Account& account, std::int64_t cost, TimePoint now) {
  if (account.unsynced == 0) account.due = now + account.terms.sync_interval;
  account.unsynced += cost;
  list(account);
}

void SyncedStore::describe(const Account& account, std::int64_t left, TimePoint now, ChargeOutcome& outcome) const {
  outcome = ChargeOutcome{};
  outcome.estimated = true;
  outcome.remaining = std::clamp<std::int64_t>(left, 0, account.allowance.largest_cost());
  outcome.admitted = left >= 0;
  if (account.is_window()) {
    outcome.reset_after = std::max(account.good_until - now, Duration{0});
    return;
  }
  outcome.reset_after = std::max(account.full_at - now, Duration{0}) + account.time_for(account.unreflected());
}

bool SyncedStore::answer(const Split& split, TimePoint now) {
  StoreCall& call = *split.call;
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Account* const account = split.covers(i) ? table_.find(call.charges[i].key) : nullptr;
    if (account == nullptr) continue;
    describe(*account, account->level(now) - account->unreflected(), now, call.outcomes[i]);
    call.outcomes[i].admitted = true;
  }
  return true;
}

// The store has just said that there is not enough: asking without a pause would only keep it busy.
bool SyncedStore::deny_known(const Account& account, const Room& room, StoreCall& call, TimePoint now) const {
  const std::int64_t cost = call.charges.front().cost;
  if (!account.is_good(now) || now - account.known_at >= kPace || cost > account.allowance.largest_cost()) return false;
  const std::int64_t missing = cost - room.left;
  if (missing <= 0) return false;
  ChargeOutcome& outcome = call.outcomes.front();
  describe(account, room.left, now, outcome);
  outcome.admitted = false;
  outcome.retry_after =
      std::max(account.is_window() ? account.good_until - now : account.time_for(missing), Duration{1});
  outcome.reset_after = std::max(outcome.reset_after, outcome.retry_after);
  return true;
}

// Nearly every call: one bucket. True: answered.
bool SyncedStore::take_one(StoreCall& call, TimePoint now) {
  const Charge& charge = call.charges.front();
  Account* const account = open(charge, now);
  if (account == nullptr) return inner_->begin(call);
  const bool takes = call.action == Action::take;
  const Room found = room(*account, now);
  if (covers(*account, found, charge.cost)) {
    if (takes) admit(*account, charge.cost, now);
    describe(*account, takes ? found.left - charge.cost : found.left, now, call.outcomes.front());
    call.outcomes.front().admitted = true;
  } else if (!takes || !deny_known(*account, found, call, now)) {
    const bool may_carry =
        takes && charge.cost > 0 && account->exchange == nullptr && (found.credit > 0 || account->unsynced > 0);
    return may_carry ? carry(*account, call, now) : inner_->begin(call);
  }
  call.status = Code::ok;
  call.atomic = true;
  call.answered = Consistency::synced;
  Stats::add(stats_.answered);
  report_if_due(*account, found.credit, now);
  return true;
}

bool SyncedStore::take(StoreCall& call) {
  const TimePoint now = boot_->now();
  if (call.charges.size() == 1) return take_one(call, now);
  const bool takes = call.action == Action::take;
  Split split{.call = &call};
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    Account* const account = is_synced(charge) ? open(charge, now) : nullptr;
    if (account == nullptr || !covers(*account, room(*account, now), charge.cost)) continue;
    if (takes) {
      account->pending += charge.cost;
      list(*account);
    }
    split.covered |= std::uint64_t{1} << i;
  }
  const auto covered = static_cast<std::size_t>(std::popcount(split.covered));
  if (covered < call.charges.size()) return pass_on(split);
  if (takes) end_pending(split, true, now);
  answer(split, now);
  call.status = Code::ok;
  call.atomic = true;
  call.answered = Consistency::synced;
  Stats::add(stats_.answered);
  return true;
}

// What was not reported yet is taken back here; the rest is the store's.
bool SyncedStore::refund(StoreCall& call) {
  const TimePoint now = boot_->now();
  Split split{.call = &call};
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    Account* const account = is_synced(charge) ? table_.find(charge.key) : nullptr;
    if (account == nullptr || account->version != charge.slices->version || !account->is_good(now)) continue;
    if (account->unsynced < charge.cost) continue;
    account->unsynced -= charge.cost;
    split.covered |= std::uint64_t{1} << i;
  }
  if (static_cast<std::size_t>(std::popcount(split.covered)) < call.charges.size()) return pass_on(split);
  answer(split, now);
  call.status = Code::ok;
  call.atomic = true;
  call.answered = Consistency::synced;
  Stats::add(stats_.answered);
  return true;
}

std::int64_t SyncedStore::unreported() {
  std::int64_t units = 0;
  table_.for_each([&units](const Account& account) { units += account.unsynced + account.in_flight; });
  return units;
}

}  // namespace weir::synced
