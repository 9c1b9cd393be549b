// Leased quotas: taking from slices, waiting for them, and asking the ledger for more.
#include <algorithm>

#include "ledger/gate/leased_call.h"
#include "ledger/gate/ledger_gate.h"

namespace weir::ledger {
namespace {

constexpr std::int64_t kFirstWant = 16;
constexpr std::int64_t kMostWant = 1'000'000'000;
// A slice is sized for what is used in this time.
constexpr Duration kHorizon = std::chrono::milliseconds(50);
// For so long an account that had too little is not asked again.
constexpr Duration kExhaustedFor = std::chrono::milliseconds(200);
// How often a limit that differs from request to request changes the account.
constexpr Duration kBetweenChanges = std::chrono::seconds(1);

using Shard = SliceTable::Shard;

}  // namespace

struct LedgerGate::Ask {
  HeldSlice* slice = nullptr;
  Terms terms;
  std::int64_t epoch = 0;
  std::int64_t want = 0;
  std::int64_t least = 1;
};

void LedgerGate::fill(ChargeOutcome& outcome, const HeldSlice& slice, std::int64_t cost, TimePoint wall,
                      bool admitted) {
  outcome = {};
  outcome.admitted = admitted;
  outcome.remaining = slice.left + slice.available;
  outcome.reset_after = std::max(slice.terms.ends - wall, Duration(0));
  if (admitted) return;
  outcome.too_large = cost > slice.terms.limit + slice.terms.grace && !slice.terms.record_overage;
  if (!outcome.too_large) outcome.retry_after = std::max(outcome.reset_after, Duration(1));
}

bool LedgerGate::refuses_locked(const HeldSlice& slice, const QuotaCharge& charge, TimePoint now) {
  return slice.known && now < slice.exhausted_until && charge.cost > slice.left + slice.takeable &&
         !slice.terms.record_overage;
}

void LedgerGate::take_locked(HeldSlice& slice, QuotaCharge& charge, const Reading& at) {
  slice.left -= charge.cost;
  slice.used_since_refill += charge.cost;
  slice.last_used = at.now;
  if (charge.alone) {
    slice.spent += charge.cost;
    SliceTable::mark_dirty(table_.shard(slice.shard), slice);
  } else {
    slice.pending += charge.cost;
    charge.taken = &slice;
  }
  fill(charge.outcome, slice, charge.cost, at.wall(), true);
}

QuotaGate::Quick LedgerGate::try_take(QuotaCharge& charge, const Reading& at) {
  const std::size_t index = table_.shard_of(charge.key);
  Shard& shard = table_.shard(index);
  std::optional<Ask> ask;
  {
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.current.find(charge.key);
    if (found == shard.current.end()) return Quick::wait;
    HeldSlice& slice = *found->second;
    const TimePoint wall = at.wall();
    if (wall >= slice.terms.ends || wall < slice.terms.begins || !follows_locked(slice, charge)) return Quick::wait;
    if (slice.epoch != epoch_.load(std::memory_order_relaxed) || !usable_.load(std::memory_order_relaxed)) {
      return Quick::wait;
    }
    if (!slice.waiters.empty() || (slice.left > 0 && at.now >= slice.valid_until)) return Quick::wait;
    if (charge.cost > slice.left) {
      if (!refuses_locked(slice, charge, at.now)) return Quick::wait;
      fill(charge.outcome, slice, charge.cost, wall, false);
      return Quick::denied;
    }
    take_locked(slice, charge, at);
    if (slice.left < slice.want / 2 && slice.available > 0) ask = ask_locked(slice, at.now);
  }
  if (ask) submit(*std::move(ask));
  return Quick::done;
}

QuotaGate::Quick LedgerGate::try_peek(QuotaCharge& charge, const Reading& at) {
  Shard& shard = table_.shard(table_.shard_of(charge.key));
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.current.find(charge.key);
  if (found == shard.current.end()) return Quick::wait;
  const HeldSlice& slice = *found->second;
  const bool current = at.wall() >= slice.terms.begins && at.wall() < slice.terms.ends && slice.known;
  if (!current || !follows_locked(slice, charge)) return Quick::wait;
  const bool admitted = charge.cost <= slice.left + slice.takeable || slice.terms.record_overage;
  fill(charge.outcome, slice, charge.cost, at.wall(), admitted);
  return admitted ? Quick::done : Quick::denied;
}

void LedgerGate::confirm(QuotaCharge& charge) {
  auto& slice = *static_cast<HeldSlice*>(std::exchange(charge.taken, nullptr));
  Shard& shard = table_.shard(slice.shard);
  const std::lock_guard lock(shard.mutex);
  slice.pending -= charge.cost;
  slice.spent += charge.cost;
  SliceTable::mark_dirty(shard, slice);
}

void LedgerGate::put_back(QuotaCharge& charge) {
  auto& slice = *static_cast<HeldSlice*>(std::exchange(charge.taken, nullptr));
  Shard& shard = table_.shard(slice.shard);
  std::optional<Terms> late;
  std::int64_t epoch = 0;
  {
    const std::lock_guard lock(shard.mutex);
    slice.pending -= charge.cost;
    slice.used_since_refill -= charge.cost;
    if (!slice.retired) {
      slice.left += charge.cost;
    } else {
      late = slice.terms;
      epoch = slice.epoch;
    }
  }
  if (late && charge.cost > 0) give_back(*late, epoch, charge.cost, nullptr);
}

// Logged like what is spent: the account is the slice's, if there is one.
void LedgerGate::admitted_without(const QuotaCharge& charge) {
  const Status kept = keep_admitted(charge);
  if (kept.ok()) return;
  unrecorded_.fetch_add(charge.cost, std::memory_order_relaxed);
  say("quota_usage_lost",
      "what a failure policy has admitted without the ledger is not recorded: " + kept.failure().message);
}

// Failures: there are too many such accounts, or it has no period.
Status LedgerGate::keep_admitted(const QuotaCharge& charge) {
  const Reading at = clock_.read();
  const std::size_t index = table_.shard_of(charge.key);
  Shard& shard = table_.shard(index);
  const std::lock_guard lock(shard.mutex);
  const auto known = shard.current.find(charge.key);
  HeldSlice* slice = known == shard.current.end() ? nullptr : known->second.get();
  if (slice == nullptr) {
    if (slices_.load(std::memory_order_relaxed) >= options_.max_slices) {
      return Failure{Code::resource_exhausted,
                     "this node has " + std::to_string(options_.max_slices) + " accounts already, as many as it keeps"};
    }
    const Result<Terms> terms = terms_.make(charge, at.wall());
    if (!terms.ok()) return terms.failure();
    auto made = std::make_unique<HeldSlice>();
    made->key = charge.key;
    made->shard = index;
    made->epoch = epoch_.load();
    made->quota = *charge.quota;
    made->terms = terms.value();
    made->asked_limit = charge.limit;
    made->asked_since = charge.since;
    made->tenants_seen = tenants_seen_.load(std::memory_order_relaxed);
    slices_.fetch_add(1, std::memory_order_relaxed);
    slice = made.get();
    shard.current[charge.key] = std::move(made);
  }
  slice->without += charge.cost;
  slice->last_used = at.now;
  SliceTable::mark_dirty(shard, *slice);
  return success();
}

// Another limit, or other plans of the tenant, which may come to the same.
void LedgerGate::follow_locked(HeldSlice& slice, const QuotaCharge& charge, const Reading& at) {
  if (charge.limit != slice.asked_limit && at.now - slice.changed_at < kBetweenChanges) return;
  const std::uint64_t seen = tenants_seen_.load(std::memory_order_relaxed);
  Result<Terms> terms = terms_.make(charge, at.wall());
  if (!terms.ok()) return;
  slice.asked_limit = charge.limit;
  slice.asked_since = charge.since;
  slice.tenants_seen = seen;
  const Terms& now = terms.value();
  const bool same = now.limit == slice.terms.limit && now.grace == slice.terms.grace &&
                    now.record_overage == slice.terms.record_overage && now.thresholds == slice.terms.thresholds;
  if (same) return;
  terms.value().since = std::max(terms.value().since, at.wall());
  slice.terms = std::move(terms).value();
  slice.changed_at = at.now;
  slice.known = false;
}

// The slice of the charge, made if need be. Null: `status` says why there is none.
HeldSlice* LedgerGate::find_locked(Shard& shard, QuotaCharge& charge, const Reading& at, Status& status,
                                   std::vector<std::pair<Terms, std::int64_t>>& returns) {
  const auto found = shard.current.find(charge.key);
  if (found != shard.current.end()) {
    HeldSlice& slice = *found->second;
    const bool current =
        slice.epoch == epoch_.load() && at.wall() >= slice.terms.begins && at.wall() < slice.terms.ends;
    if (current) {
      if (!follows_locked(slice, charge)) follow_locked(slice, charge, at);
      return &slice;
    }
    Terms old = slice.terms;
    if (!slice.waiters.empty()) return &slice;  // they are answered first
    if (const std::int64_t left = SliceTable::retire(shard, charge.key); left > 0) returns.emplace_back(old, left);
  }
  if (slices_.load(std::memory_order_relaxed) >= options_.max_slices) {
    status = Failure{Code::resource_exhausted, "too many accounts are in use on this node"};
    return nullptr;
  }
  const std::uint64_t seen = tenants_seen_.load(std::memory_order_relaxed);
  Result<Terms> terms = terms_.make(charge, at.wall());
  if (!terms.ok()) {
    status = terms.failure();
    return nullptr;
  }
  auto made = std::make_unique<HeldSlice>();
  made->key = charge.key;
  made->shard = table_.shard_of(charge.key);
  made->epoch = epoch_.load();
  made->quota = *charge.quota;
  made->terms = std::move(terms).value();
  made->asked_limit = charge.limit;
  made->asked_since = charge.since;
  made->tenants_seen = seen;
  made->refilled_at = at.now;
  made->changed_at = at.now;
  slices_.fetch_add(1, std::memory_order_relaxed);
  return shard.current.emplace(charge.key, std::move(made)).first->second.get();
}

// Takes one quota after the other, until one has to wait.
void LedgerGate::advance(LeasedCall& call) {
  while (!call.over()) {
    QuotaCharge& charge = call.charge();
    if (charge.outcome.too_large) {  // its cost could not be read
      if (charge.binding) return call.deny();
      ++call.next;
      continue;
    }
    if (!usable_.load(std::memory_order_acquire)) return call.fail(Code::unavailable);
    const Reading at = clock_.read();
    Shard& shard = table_.shard(table_.shard_of(charge.key));
    std::optional<Ask> ask;
    std::vector<std::pair<Terms, std::int64_t>> returns;
    Status status = success();
    bool denied = false;
    bool waits = false;
    {
      const std::lock_guard lock(shard.mutex);
      HeldSlice* const slice = find_locked(shard, charge, at, status, returns);
      if (slice == nullptr) {
      } else if (slice->left > 0 && at.now >= slice->valid_until) {
        status = Failure{Code::unavailable, "the slice has expired"};
      } else if (slice->waiters.empty() && charge.cost <= slice->left) {
        take_locked(*slice, charge, at);
      } else if (slice->waiters.empty() && refuses_locked(*slice, charge, at.now)) {
        fill(charge.outcome, *slice, charge.cost, at.wall(), false);
        denied = true;
      } else {
        waits = true;
        slice->waiters.push_back(&call);
        ask = ask_locked(*slice, at.now);
      }
    }
    for (const auto& [terms, amount] : returns) give_back(terms, epoch_.load(), amount, nullptr);
    if (waits) {  // the call may be gone
      if (ask) submit(*std::move(ask));
      return;
    }
    if (!status.ok()) return call.fail(status.failure().code);
    if (denied && charge.binding) return call.deny();
    ++call.next;
  }
  call.finish();
}

// Sized for what was used lately, for those that wait, and never more than the ledger shares out.
std::optional<LedgerGate::Ask> LedgerGate::ask_locked(HeldSlice& slice, TimePoint now) {
  if (slice.asking || slice.retired) return std::nullopt;
  std::int64_t waiting = 0;
  for (LeasedCall* const call : slice.waiters) waiting += call->charge().cost;
  const Duration since = std::max(now - slice.refilled_at, Duration(1'000));
  std::int64_t want = kFirstWant;
  if (slice.want > 0) {
    const double rate = static_cast<double>(slice.used_since_refill) / static_cast<double>(since.count());
    want = static_cast<std::int64_t>(rate * static_cast<double>(kHorizon.count()));
    want = std::clamp(want, slice.want / 2, slice.want * 4);
  }
  want = std::clamp<std::int64_t>(want, 1, kMostWant);
  Ask ask;
  ask.slice = &slice;
  ask.terms = slice.terms;
  ask.epoch = slice.epoch;
  if (!slice.waiters.empty()) {
    ask.least = std::max<std::int64_t>(slice.waiters.front()->charge().cost - slice.left, 1);
  }
  ask.want = std::min(std::max({want, waiting - slice.left, ask.least}), kMaxUnits);
  slice.want = want;
  slice.used_since_refill = 0;
  slice.refilled_at = now;
  slice.asking = true;
  return ask;
}

void LedgerGate::submit(Ask ask) {
  auto take = std::make_unique<TakeSlice>();
  take->id = "slice " + prefix_ + std::to_string(operations_.fetch_add(1, std::memory_order_relaxed));
  take->terms = std::move(ask.terms);
  take->node = options_.node;
  take->epoch = ask.epoch;
  take->want = ask.want;
  take->least = ask.least;
  take->ttl = options_.slice_ttl;
  take->deadline = std::chrono::steady_clock::now() + options_.patience;
  begun_.fetch_add(1);
  underway_.fetch_add(1);
  take->done = [this, slice = ask.slice, asked_at = clock_.now()](const Result<Answer>& answer) {
    on_slice(*slice, asked_at, answer);
    underway_.fetch_sub(1);  // the last thing that touches the gate
  };
  ledger_.submit(std::move(take));
}

void LedgerGate::on_slice(HeldSlice& slice, TimePoint asked_at, const Result<Answer>& result) {
  Shard& shard = table_.shard(slice.shard);
  const Reading at = clock_.read();
  std::vector<LeasedCall*> served;
  std::vector<LeasedCall*> denied;
  std::vector<LeasedCall*> failed;
  std::optional<Ask> ask;
  std::int64_t unwanted = 0;
  Terms terms;  // the slice may be gone after the lock
  std::int64_t epoch = 0;
  const Code code = result.ok() ? Code::unavailable : result.failure().code;
  {
    const std::lock_guard lock(shard.mutex);
    slice.asking = false;
    const bool answered =
        result.ok() && (result.value().verdict == Verdict::done || result.value().verdict == Verdict::denied);
    if (answered && !result.value().accounts.empty()) {
      const Account& account = result.value().accounts.front();
      slice.available = account.available;
      slice.takeable = account.available + account.grace_left();
      slice.known = true;
    }
    if (answered && result.value().verdict == Verdict::done) {
      if (slice.retired) {
        unwanted = result.value().granted;
        terms = slice.terms;
        epoch = slice.epoch;
      } else {
        slice.left += result.value().granted;
        slice.valid_until = std::max(slice.valid_until, asked_at + options_.slice_ttl - options_.margin);
        slice.exhausted_until = {};
      }
    }
    const bool denies = answered && result.value().verdict == Verdict::denied;
    if (denies) slice.exhausted_until = at.now + kExhaustedFor;
    bool first = true;
    while (!slice.waiters.empty()) {
      LeasedCall* const call = slice.waiters.front();
      QuotaCharge& charge = call->charge();
      if (answered && !slice.retired && charge.cost <= slice.left) {
        take_locked(slice, charge, at);
        served.push_back(call);
      } else if (!answered || slice.retired) {
        failed.push_back(call);
      } else if (denies && (first || refuses_locked(slice, charge, at.now))) {
        fill(charge.outcome, slice, charge.cost, at.wall(), false);
        denied.push_back(call);
      } else {
        break;
      }
      first = false;
      slice.waiters.pop_front();
    }
    if (!slice.waiters.empty()) ask = ask_locked(slice, at.now);
  }
  if (unwanted > 0) give_back(terms, epoch, unwanted, nullptr);
  if (ask) submit(*std::move(ask));
  if (result.ok() && result.value().verdict == Verdict::stale) note(result.value().message);
  for (LeasedCall* const call : failed) call->fail(code);
  for (LeasedCall* const call : denied) {
    if (call->charge().binding) {
      call->deny();
    } else {
      ++call->next;
      advance(*call);
    }
  }
  for (LeasedCall* const call : served) {
    ++call->next;
    advance(*call);
  }
}

// If that fails, the units expire with the epoch: they count against the limit, and are not billed.
void LedgerGate::give_back(const Terms& terms, std::int64_t epoch, std::int64_t amount, HeldSlice* slice) {
  auto give = std::make_unique<ReturnSlice>();
  give->id = "return " + prefix_ + std::to_string(operations_.fetch_add(1, std::memory_order_relaxed));
  give->account = terms.key;
  give->node = options_.node;
  give->epoch = epoch;
  give->amount = amount;
  give->deadline = std::chrono::steady_clock::now() + options_.patience;
  begun_.fetch_add(1);
  underway_.fetch_add(1);
  give->done = [this, slice](const Result<Answer>& answer) {
    const struct Leaving {
      std::atomic<int>& count;
      ~Leaving() { count.fetch_sub(1); }  // the last thing that touches the gate
    } leaving{underway_};
    if (answer.ok()) {
      const std::lock_guard lock(mutex_);
      counts_.returned += static_cast<std::uint64_t>(answer.value().returned);
    }
    if (slice == nullptr) return;
    Shard& shard = table_.shard(slice->shard);
    const std::lock_guard lock(shard.mutex);
    slice->returning = false;
    if (!answer.ok()) return;
    slice->available += answer.value().returned;
    slice->takeable += answer.value().returned;
  };
  ledger_.submit_later(std::move(give));
}

}  // namespace weir::ledger
