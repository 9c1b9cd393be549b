#include "engine/stages/failure_policy.h"

#include <algorithm>

#include "engine/stages/inline_call.h"

namespace weir::engine {
namespace {

ChargeOutcome admitted() { return {}; }

ChargeOutcome denied() {
  ChargeOutcome outcome;
  outcome.admitted = false;
  return outcome;
}

ChargeOutcome denied_always() {
  ChargeOutcome outcome = denied();
  outcome.too_large = true;
  return outcome;
}

std::int64_t share_of(std::int64_t units, int percent) {
  return std::max<std::int64_t>(1, units / 100 * percent + units % 100 * percent / 100);
}

// The whole rule's cap on this node: a fixed window, whatever the rule's own algorithm. Every limit and window that the
// rules' check accepts makes a fixed window.
Allowance static_allowance(const Rule& rule, const Allowance& allowance) {
  AllowanceSpec spec;
  spec.algorithm = Algorithm::fixed_window;
  spec.limit = rule.static_limit;
  spec.window = allowance.window;
  return make_allowance(spec).value();
}

}  // namespace

Allowance scale_allowance(const Allowance& allowance, int percent) {
  AllowanceSpec spec;
  spec.algorithm = allowance.algorithm;
  spec.limit = share_of(allowance.limit, percent);
  spec.window = allowance.window;
  switch (allowance.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::gcra:
      spec.burst = share_of(allowance.burst, percent);
      break;
    case Algorithm::leaky_bucket:
      spec.queue = allowance.queue * percent / 100;
      break;
    case Algorithm::bucketed_window:
      spec.buckets = allowance.buckets;
      break;
    default:
      break;
  }
  // A smaller limit can have larger terms than the original in lowest terms; then the original's numbers are used.
  Result<Allowance> scaled = make_allowance(spec);
  return scaled.ok() ? scaled.value() : allowance;
}

void FailurePolicies::answer(Check& check, std::span<const bool> failed, Action action, const Reading& at) {
  InlineVector<Charge, 8> local;
  InlineVector<std::uint32_t, 8> local_index;
  InlineVector<Allowance, 8> allowances;
  allowances.resize(check.charges().size());  // never grows below, so pointers into it stay valid
  bool denies = false;
  for (std::size_t i = 0; i < failed.size(); ++i) {
    if (!failed[i]) continue;
    const Rule& rule = check.match_of(i).rule->source;
    const OnStoreFailure failure = failure_policy_of(rule);
    const Duration quiet = FallbackTimes::quiet_after(failure.term);
    const Duration lasted = times_->failed(check.match_of(i).rule->name.ordinal, at.now, quiet);
    const FailurePolicy policy = failure.after(lasted);
    Charge charge = check.charges()[i];
    charge.number = charge.max_subjects = 0;  // counted where the rule's buckets are
    if (action == Action::take) {
      answered_[static_cast<std::size_t>(policy)].fetch_add(1, std::memory_order_relaxed);
    }
    if (charge.allowance->limit == 0) {  // denies everything, with the store and without it
      check.outcomes()[i] = denied_always();
      denies = denies || charge.binding;
      continue;
    }
    switch (policy) {
      case FailurePolicy::allow:
      case FailurePolicy::degrade:
        check.outcomes()[i] = admitted();
        continue;
      case FailurePolicy::deny:
        check.outcomes()[i] = denied();
        denies = denies || charge.binding;
        continue;
      case FailurePolicy::local:
        allowances[i] = scale_allowance(*charge.allowance, rule.local_share);
        break;
      case FailurePolicy::static_limit:
        allowances[i] = static_allowance(rule, *charge.allowance);
        charge.key = encoder_.seed(charge.rule, Algorithm::fixed_window).finish();
        charge.value = 0;
        break;
    }
    charge.allowance = &allowances[i];
    local.push_back(charge);
    local_index.push_back(static_cast<std::uint32_t>(i));
  }
  if (local.empty()) return;

  InlineVector<ChargeOutcome, 8> outcomes;
  outcomes.resize(local.size());
  InlineCall call(denies && action == Action::take ? Action::peek : action, at, {local.data(), local.size()},
                  {outcomes.data(), outcomes.size()});
  call.ask(fallback_);
  for (std::size_t i = 0; i < local.size(); ++i) {
    check.outcomes()[local_index[i]] = outcomes[i].status == Code::ok ? outcomes[i] : denied();
  }
}

void FailurePolicies::count_denial(const Check& check, std::size_t charge, TimePoint now) {
  const rules::CompiledRule& rule = *check.match_of(charge).rule;
  times_->failed(rule.name.ordinal, now, FallbackTimes::quiet_after(failure_policy_of(rule.source).term));
  answered_[static_cast<std::size_t>(FailurePolicy::deny)].fetch_add(1, std::memory_order_relaxed);
}

void FailurePolicies::end_spells(const Check& check, TimePoint now) {
  for (std::size_t i = 0; i < check.deciding(); ++i) times_->answered(check.match_of(i).rule->name.ordinal, now);
}

FailurePolicies::Failed FailurePolicies::stand_in(Check& check, const StoreCall& call, Action action, Store* store) {
  const Code status = call.status;
  const std::size_t count = check.deciding();
  Failed failed;
  failed.resize(count);
  bool charged = status == Code::ok;  // a charge that does not bind and found no room held back none of the others
  for (std::size_t i = 0; i < count; ++i) {
    const bool quota = check.charges()[i].kind == ChargeKind::quota;  // whose ledger failed, not the store
    failed[i] = (status != Code::ok && !quota) || check.outcomes()[i].status != Code::ok;
    charged = charged && (quota || !(failed[i] && check.charges()[i].binding));
  }
  answer(check, {failed.data(), count}, action, call.reading());
  if (store != nullptr && !charged) charge_others(check, failed, action, call, *store);
  return failed;
}

// The charges that the store has room for, with those that only record.
void FailurePolicies::charge_others(Check& check, const Failed& failed, Action action, const StoreCall& call,
                                    Store& store) {
  bool admitted = true;
  InlineVector<Charge, 8> held;
  InlineVector<std::uint32_t, 8> held_index;
  const auto hold = [&](std::size_t i) {
    held.push_back(check.charges()[i]);
    held[held.size() - 1].max_subjects = 0;  // those that are newcomers have been told so
    held_index.push_back(static_cast<std::uint32_t>(i));
  };
  for (std::size_t i = 0; i < failed.size(); ++i) {
    if (check.charges()[i].kind == ChargeKind::quota) {
      admitted = admitted && (check.outcomes()[i].admitted || !check.charges()[i].binding);
      continue;
    }
    if (!failed[i]) hold(i);
    if (failed[i]) admitted = admitted && (check.outcomes()[i].admitted || !check.charges()[i].binding);
  }
  if (held.empty()) return;
  for (std::size_t i = failed.size(); i < check.charges().size(); ++i) {
    // These belong to a charge by its place, which is another one here.
    if (check.charges()[i].kind == ChargeKind::penalty || check.charges()[i].candidate) continue;
    hold(i);
    held[held.size() - 1].binding = false;  // what has no room elsewhere is only recorded
  }
  InlineVector<ChargeOutcome, 8> outcomes;
  outcomes.resize(held.size());
  const bool takes = action == Action::take && admitted;
  InlineCall again(takes || action != Action::take ? action : Action::peek, call.reading(), {held.data(), held.size()},
                   {outcomes.data(), outcomes.size()});
  if (takes) again.hold = call.hold;
  again.ask(store);
  for (std::size_t i = 0; i < held.size(); ++i) check.outcomes()[held_index[i]] = outcomes[i];
}

}  // namespace weir::engine
