#include "frontends/envoy/rls_decider.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "frontends/render/decision_headers.h"

namespace weir::envoy {
namespace {

constexpr std::string_view kOverrideSpace = "envoy.override";
constexpr std::string_view kOverrideName = "override";
constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

// What a descriptor asks for. A peek has a cost of one hit: a cost of nothing would always pass.
struct Hits {
  Action action = Action::take;
  Cost cost;
};

Hits hits_of(const RlsRequest& request, const RlsDescriptor& descriptor) {
  const std::uint64_t hits = descriptor.has_hits ? descriptor.hits : std::max(1U, request.hits_addend);
  if (hits == 0) return {Action::peek, Cost{1}};
  // To Envoy an error is an allow, so more hits than a cost can be are the largest cost, which no limit of theirs
  // holds.
  const auto cost = static_cast<std::int64_t>(std::min(hits, static_cast<std::uint64_t>(kMaxUnits)));
  return {descriptor.negative ? Action::refund : Action::take, Cost{cost}};
}

std::uint32_t clamp(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::uint32_t>::max()));
}

RlsStatus make_status(const Decision& decision) {
  RlsStatus status;
  status.over_limit = !decision.allowed;
  const RuleOutcome* const rule = decision.decisive();
  if (rule == nullptr || rule->store_failed) return status;
  if (rule->unlimited) {
    status.remaining = kUnlimited;
    return status;
  }
  status.remaining = clamp(rule->remaining);
  status.has_reset = true;
  status.reset_after = std::chrono::ceil<std::chrono::seconds>(rule->reset_after);
  status.unit = unit_of(rule->window);
  // A window that Envoy has no unit for is left out: any unit would tell the client another limit than the rule's.
  if (status.unit == RlsUnit::unknown) return status;
  status.has_limit = true;
  status.limit = clamp(rule->limit);
  status.name = rule->rule;
  return status;
}

// The descriptor that decides when to retry: of those denied, one that no wait can help, then the longest wait; else
// the one with the least left.
const Decision* most_restrictive(std::span<const Decision> decisions) {
  const Decision* chosen = nullptr;
  const auto never = [](const Decision& decision) {
    const RuleOutcome* const rule = decision.decisive();
    return decision.reason == Reason::cost_too_large || (rule != nullptr && rule->too_large);
  };
  const auto tighter = [&](const Decision& a, const Decision& b) {
    if (a.allowed != b.allowed) return !a.allowed;
    if (never(a) != never(b)) return never(a);
    if (!a.allowed) return a.retry_after > b.retry_after;
    return a.decisive()->remaining < b.decisive()->remaining;
  };
  for (const Decision& decision : decisions) {
    const bool tells = decision.decisive() != nullptr && !decision.decisive()->unlimited;
    // A denial whose rules are hidden still says when to retry.
    if (decision.allowed && !tells) continue;
    if (chosen == nullptr || tighter(decision, *chosen)) chosen = &decision;
  }
  return chosen;
}

Failure store_failure() { return {Code::unavailable, "the store did not answer"}; }

}  // namespace

Override::Override(const RlsRequest& request, const RlsDescriptor& descriptor)
    : limit_(descriptor.override_limit),
      ingress_(request.ingress),
      window_(unit_window(static_cast<RlsUnit>(descriptor.override_unit))) {
  // Limits of different units count apart, also in one call.
  subject_.push_back(unit_name(static_cast<RlsUnit>(descriptor.override_unit)));
  subject_.push_back(request.domain);
  for (const Attribute& entry : request.attributes_of(descriptor).subspan(1)) {
    subject_.push_back(entry.name);
    subject_.push_back(entry.value);
  }
  AllowanceSpec spec;
  spec.algorithm = Algorithm::fixed_window;
  spec.limit = std::max<std::int64_t>(1, limit_);
  spec.window = window_;
  const Result<Allowance> made = make_allowance(spec);
  assert(made.ok());
  allowance_ = made.value();
}

AdHocCharge Override::charge(Action action, Cost cost) const {
  return {.space = kOverrideSpace,
          .subject = {subject_.data(), subject_.size()},
          .allowance = &allowance_,
          .cost = has_bucket() ? cost : Cost{2},
          .action = action,
          .count_denied = has_bucket(),
          .ingress = ingress_};
}

Decision Override::denial(TimePoint at) const {
  ChargeOutcome outcome;
  outcome.admitted = false;
  outcome.too_large = true;
  return decision(outcome, at);
}

Decision Override::decision(const ChargeOutcome& outcome, TimePoint at) const {
  RuleOutcome rule;
  rule.rule = kOverrideName;
  rule.algorithm = Algorithm::fixed_window;
  rule.allowed = outcome.admitted;
  rule.too_large = outcome.too_large;
  rule.limit = limit_;
  rule.remaining = outcome.remaining;
  rule.capacity = limit_;
  rule.window = window_;
  rule.retry_after = outcome.retry_after;
  rule.reset_after = outcome.reset_after;
  Decision made;
  made.allowed = outcome.admitted;
  made.reason = outcome.admitted ? Reason::ok : outcome.too_large ? Reason::cost_too_large : Reason::limit_exceeded;
  made.deciding = 0;
  made.at = at;
  made.retry_after = outcome.retry_after;
  made.rules.push_back(rule);
  return made;
}

void RlsDecider::Plan::clear() {
  requests.clear();
  actions.clear();
  request_index.clear();
  overrides.clear();
  override_index.clear();
  charges.clear();
  charge_override.clear();
}

void RlsDecider::plan(const RlsRequest& request) {
  plan_.clear();
  plan_.descriptors = request.descriptors.size();
  for (std::size_t i = 0; i < request.descriptors.size(); ++i) {
    const RlsDescriptor& descriptor = request.descriptors[i];
    if (descriptor.has_override) {
      plan_.overrides.emplace_back(request, descriptor);
      plan_.override_index.push_back(i);
      continue;
    }
    const Hits hits = hits_of(request, descriptor);
    Request& made = plan_.requests.emplace_back(request.all_attributes_of(descriptor), hits.cost);
    made.derived = descriptor.derived;
    made.ingress = request.ingress;
    made.trace = request.trace;
    plan_.actions.push_back(hits.action);
    plan_.request_index.push_back(i);
  }
  // Charges refer to the overrides, which do not move any more.
  for (std::size_t i = 0; i < plan_.overrides.size(); ++i) {
    const Hits hits = hits_of(request, request.descriptors[plan_.override_index[i]]);
    const bool decides_others = options_.all_or_none && hits.action == Action::take;
    if (!plan_.overrides[i].has_bucket() && !decides_others) continue;
    plan_.charges.push_back(plan_.overrides[i].charge(hits.action, hits.cost));
    plan_.charge_override.push_back(i);
  }
}

void RlsDecider::fill(GroupCall& call) {
  if (decisions_.size() < plan_.requests.size()) decisions_.resize(plan_.requests.size());
  outcomes_.assign(plan_.charges.size(), ChargeOutcome());
  call.requests = plan_.requests;
  call.actions = plan_.actions;
  call.decisions = std::span(decisions_).first(plan_.requests.size());
  call.charges = plan_.charges;
  call.outcomes = outcomes_;
  call.all_or_none = options_.all_or_none;
  call.replaces = true;
  renew(call.decisions);
}

// Puts the answers in the order of the descriptors. Most calls have no override and are in that order already.
Status RlsDecider::answer(const Plan& plan, std::span<const Decision> decisions,
                          std::span<const ChargeOutcome> outcomes, std::vector<Decision>& ordered,
                          RlsAnswer& answer) const {
  decisions = decisions.first(plan.requests.size());
  if (plan.overrides.empty()) {
    write(decisions, answer);
    return success();
  }
  const TimePoint at = options_.clock == nullptr ? TimePoint{} : options_.clock->wall();
  ordered.assign(plan.descriptors, Decision());
  for (std::size_t i = 0; i < decisions.size(); ++i) ordered[plan.request_index[i]] = decisions[i];
  for (std::size_t i = 0; i < plan.overrides.size(); ++i) {
    if (!plan.overrides[i].has_bucket()) ordered[plan.override_index[i]] = plan.overrides[i].denial(at);
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].status != Code::ok) return store_failure();
    const Override& limit = plan.overrides[plan.charge_override[i]];
    if (limit.has_bucket()) ordered[plan.override_index[plan.charge_override[i]]] = limit.decision(outcomes[i], at);
  }
  write(ordered, answer);
  return success();
}

void RlsDecider::write(std::span<const Decision> decisions, RlsAnswer& answer) const {
  answer.clear();
  for (const Decision& decision : decisions) {
    answer.statuses.push_back(make_status(decision));
    answer.over_limit = answer.over_limit || !decision.allowed;
  }
  const Decision* const shown = options_.headers || answer.over_limit ? most_restrictive(decisions) : nullptr;
  if (shown == nullptr) return;
  answer.body = denial_message(*shown);
  if (!options_.headers) return;
  const render::HeaderOptions& fields = options_.fields;
  if (fields.ietf) {
    render::append_rate_limit_policy(answer.header(RlsHeader::rate_limit_policy), *shown);
    render::append_rate_limit(answer.header(RlsHeader::rate_limit), *shown);
  }
  if (const std::int64_t seconds = render::retry_after_seconds(*shown); seconds > 0) {
    answer.header(RlsHeader::retry_after) = std::to_string(seconds);
  }
  if (!fields.x_ratelimit && !fields.ratelimit_legacy) return;
  const std::optional<render::LimitNumbers> numbers = render::limit_numbers(*shown, fields);
  if (!numbers) return;
  const auto fill_in = [&](RlsHeader limit, RlsHeader remaining, RlsHeader reset) {
    answer.header(limit) = std::to_string(numbers->limit);
    answer.header(remaining) = std::to_string(numbers->remaining);
    answer.header(reset) = std::to_string(numbers->reset);
  };
  if (fields.x_ratelimit) fill_in(RlsHeader::x_limit, RlsHeader::x_remaining, RlsHeader::x_reset);
  if (fields.ratelimit_legacy) {
    fill_in(RlsHeader::legacy_limit, RlsHeader::legacy_remaining, RlsHeader::legacy_reset);
  }
}

}  // namespace weir::envoy
