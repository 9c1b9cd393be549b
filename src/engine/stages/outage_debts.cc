#include "engine/stages/outage_debts.h"

#include <algorithm>

#include "engine/stages/inline_call.h"

namespace weir::engine {
namespace {

// The model's buckets lie beside those of the policy `local`, which count under other numbers.
constexpr std::uint64_t kModelMark = 0x6f75746167652e31;

Charge model_of(const BucketKey& key, const Allowance& allowance, std::int64_t cost) {
  Charge charge;
  charge.key = {key.high ^ kModelMark, key.low};
  charge.allowance = &allowance;
  charge.cost = cost;
  charge.binding = false;
  charge.count_denied = true;  // it has been admitted
  return charge;
}

ChargeOutcome ask(Store& model, Action action, const Charge& charge, const Reading& at) {
  ChargeOutcome outcome;
  InlineCall call(action, at, {&charge, 1}, {&outcome, 1});
  call.ask(model);
  return outcome;
}

}  // namespace

void OutageDebts::add(Store& model, const Charge& charge, const Reading& at) {
  auto found = entries_.find(charge.key);
  if (found == entries_.end()) {
    if (entries_.size() >= kMaxSubjects) {
      totals_.lost += static_cast<std::uint64_t>(charge.cost);
      return;
    }
    found = entries_.emplace(charge.key, Entry{charge.tag, *charge.allowance, std::string(charge.rule), {}, 0}).first;
    order_.push_back(charge.key);
  }
  Entry& entry = found->second;
  entry.allowance = *charge.allowance;  // rules may have been reloaded
  entry.region = charge.region == nullptr ? std::nullopt : std::optional(*charge.region);
  // Cost beyond what the bucket can hold would not be counted at all.
  const std::int64_t capacity = entry.allowance.largest_cost();
  const std::int64_t units = std::min(charge.cost, capacity);
  const std::int64_t room =
      entry.owed + charge.cost <= capacity ? charge.cost : capacity - outstanding(model, charge.key, entry, at);
  if (ask(model, Action::take, model_of(charge.key, entry.allowance, units), at).status != Code::ok) {
    totals_.lost += static_cast<std::uint64_t>(charge.cost);
    if (entry.owed == 0) {
      entries_.erase(found);
      order_.pop_back();  // it was new
    }
    return;
  }
  const std::int64_t fits = std::clamp<std::int64_t>(room, 0, charge.cost);
  totals_.over_capacity += static_cast<std::uint64_t>(charge.cost - fits);
  entry.owed = std::min(kMaxUnits, entry.owed + fits);
  owing_.store(true, std::memory_order_relaxed);
}

void OutageDebts::note(Store& model, const Charge& charge, const Reading& at) {
  if (charge.cost <= 0 || charge.allowance->limit == 0) return;
  const std::lock_guard lock(mutex_);
  totals_.admitted += static_cast<std::uint64_t>(charge.cost);
  add(model, charge, at);
}

void OutageDebts::give_back(Store& model, const Charge& charge, const Reading& at) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(charge.key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  ask(model, Action::refund, model_of(charge.key, entry.allowance, charge.cost), at);
  entry.owed = std::max<std::int64_t>(0, entry.owed - charge.cost);
}

std::int64_t OutageDebts::outstanding(Store& model, const BucketKey& key, const Entry& entry, const Reading& at) const {
  const ChargeOutcome now = ask(model, Action::peek, model_of(key, entry.allowance, 0), at);
  if (now.status != Code::ok) return 0;
  return std::clamp<std::int64_t>(entry.allowance.largest_cost() - now.remaining, 0, entry.owed);
}

bool OutageDebts::next(Store& model, const Reading& at, Debt& debt) {
  const std::lock_guard lock(mutex_);
  if (at.now < not_before_) return false;
  while (!entries_.empty()) {
    const BucketKey key = order_.front();
    order_.pop_front();
    const auto first = entries_.find(key);
    const std::int64_t units = outstanding(model, key, first->second, at);
    totals_.repaid += static_cast<std::uint64_t>(first->second.owed - units);
    debt.allowance = first->second.allowance;
    debt.rule = std::move(first->second.rule);
    debt.region = std::move(first->second.region);
    debt.charge = Charge();
    debt.charge.tag = first->second.tag;
    ask(model, Action::reset, model_of(key, debt.allowance, 0), at);
    entries_.erase(first);
    if (units == 0) continue;
    debt.charge.key = key;
    debt.charge.allowance = &debt.allowance;
    debt.charge.rule = debt.rule;
    debt.charge.region = debt.region ? &*debt.region : nullptr;
    debt.charge.cost = units;
    debt.charge.binding = false;
    // What does not fit is debt, up to the overdraft.
    debt.charge.count_denied = debt.charge.follows = true;
    owing_.store(!entries_.empty(), std::memory_order_relaxed);
    return true;
  }
  owing_.store(false, std::memory_order_relaxed);
  return false;
}

void OutageDebts::charged(const Debt& debt) {
  const std::lock_guard lock(mutex_);
  totals_.charged += static_cast<std::uint64_t>(debt.charge.cost);
}

void OutageDebts::lost(const Debt& debt) {
  const std::lock_guard lock(mutex_);
  totals_.lost += static_cast<std::uint64_t>(debt.charge.cost);
}

void OutageDebts::put_back(Store& model, const Debt& debt, const Reading& at) {
  const std::lock_guard lock(mutex_);
  not_before_ = at.now + kPause;
  add(model, debt.charge, at);
}

OutageDebts::Totals OutageDebts::totals() const {
  const std::lock_guard lock(mutex_);
  Totals totals = totals_;
  totals.subjects = entries_.size();
  return totals;
}

}  // namespace weir::engine
