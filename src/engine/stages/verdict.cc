#include "engine/stages/verdict.h"

#include <algorithm>
#include <cassert>

#include "base/text_template.h"

namespace weir::engine {
namespace {

void describe(RuleOutcome& outcome, const rules::Match& match) {
  outcome.rule = match.rule->name.id;
  outcome.ordinal = match.rule->name.ordinal;
  outcome.mode = match.mode;
  if (match.rule->charge.kind == ChargeKind::bucket) [[likely]] {
    outcome.algorithm = match.rule->source.allowance.algorithm;
  } else {
    outcome.kind = match.rule->charge.kind;
  }
  outcome.cost = match.cost;
  outcome.bad_cost = match.bad_cost;
  outcome.unlimited = match.allowance == nullptr;
  if (match.allowance != nullptr) {
    outcome.limit = match.allowance->limit;
    outcome.capacity = match.allowance->largest_cost();
    if (outcome.kind == ChargeKind::bucket) outcome.window = match.allowance->window;
  }
}

void add_charge(RuleOutcome& outcome, const BucketKey& subject, const ChargeOutcome& charged, bool store_failed) {
  outcome.subject = subject;
  outcome.allowed = charged.admitted;
  outcome.too_large = charged.too_large;
  outcome.crowded = charged.crowded;
  outcome.penalized = charged.penalized;
  outcome.challenge = charged.challenge;
  outcome.store_failed = store_failed;
  outcome.remaining = charged.remaining;
  outcome.retry_after = charged.retry_after;
  outcome.reset_after = charged.reset_after;
  outcome.delay = charged.delay;
}

void mark_shared(const Check& check, Decision& decision) {
  std::size_t charge = 0;
  for (RuleOutcome& outcome : decision.rules) {
    if (!outcome.unlimited) outcome.shared = check.is_shared(charge++);
  }
}

void mark_consistency(const rules::CompiledRule& rule, const ChargeOutcome& charged, RuleOutcome& outcome) {
  if (rule.region) {
    outcome.estimated = charged.estimated;
    const bool tolerates = rule.region->sharing == RegionSharing::reconcile;
    outcome.tolerance = tolerates ? rule.region->tolerance.of(outcome.limit) : 0;
  }
  if (!rule.slices) return;
  outcome.consistency = rule.source.consistency;
  outcome.estimated = charged.estimated;
  if (outcome.consistency == Consistency::synced) outcome.tolerance = rule.slices->tolerated(outcome.capacity);
}

// A rule with on_exceed: challenge asks for one where it would deny, unless a wait cannot help or a penalty refuses.
void mark_challenge(const rules::CompiledRule& rule, RuleOutcome& outcome) {
  if (rule.source.on_exceed != OnExceed::challenge || outcome.allowed || outcome.penalized) return;
  outcome.challenge = !outcome.too_large && !outcome.store_failed && !outcome.crowded;
}

// `place` is that of the outcome and of its match; `charges` is how many charges there were up to it.
[[gnu::noinline]] void mark_rest(const Check& check, std::size_t place, std::size_t charges, RuleOutcome& outcome) {
  const rules::CompiledRule& rule = *check.matches()[place].rule;
  if (check.may_have_slices() && !outcome.unlimited) mark_consistency(rule, check.outcomes()[charges - 1], outcome);
  if (check.may_have_protection()) mark_challenge(rule, outcome);
}

Reason reason_of(const RuleOutcome& denial) {
  if (denial.challenge) return Reason::challenge;
  if (denial.penalized) return Reason::penalized;
  // Under a limit of 0 every cost is too large; what is wrong then is not the cost.
  if (denial.too_large && denial.limit > 0) return Reason::cost_too_large;
  if (denial.too_large && denial.kind == ChargeKind::bucket) return Reason::limit_exceeded;
  if (denial.store_failed && denial.retry_after == Duration::zero()) return Reason::store_unavailable;
  if (denial.kind == ChargeKind::lease) return Reason::concurrency_exceeded;
  if (denial.kind == ChargeKind::quota) return Reason::quota_exceeded;
  if (denial.crowded) return Reason::too_many_reservations;
  return Reason::limit_exceeded;
}

// Among denials: one that no wait can help, one that no challenge can help, then the longest wait. Among admissions:
// the least that is left, then the longest until it is full again.
bool more_restrictive(const RuleOutcome& a, const RuleOutcome& b) {
  if (a.allowed != b.allowed) return !a.allowed;
  if (!a.allowed) {
    if (a.too_large != b.too_large) return a.too_large;
    if (a.challenge != b.challenge) return b.challenge;
    return a.retry_after > b.retry_after;
  }
  if (a.unlimited != b.unlimited) return b.unlimited;
  if (a.remaining != b.remaining) return a.remaining < b.remaining;
  return a.reset_after > b.reset_after;
}

// A refusal by the prefilter or a local limit is a rule's own, too.
void forget_decisive(const Check& check, std::string_view source, Decision& decision) {
  decision.deciding = -1;
  decision.cost = check.requested_cost();
  if (!decision.degraded) decision.source = source;
}

const rules::CompiledRule& rule_of(const Check& check, const RuleOutcome& outcome) {
  const auto* found = std::find_if(check.matches().begin(), check.matches().end(), [&](const rules::Match& match) {
    return match.rule->name.ordinal == outcome.ordinal;
  });
  assert(found != check.matches().end());
  return *found->rule;
}

// True for a message that would contain the numbers of one rule and the wait for another.
bool mixes_rules(std::string_view message, bool same_wait) {
  return !same_wait && base::has_placeholder(message, "wait") &&
         (base::has_placeholder(message, "limit") || base::has_placeholder(message, "window"));
}

// If the decisive rule is left out, the most restrictive of the others that decided the same is reported instead. The
// wait stays, and so does the hidden rule's own message if no other rule denied: it was written for the client.
void leave_out_hidden(const Check& check, std::string_view source, Decision& decision) {
  const auto is_hidden = [&](const RuleOutcome& each) { return rule_of(check, each).source.hidden == Hidden::rule; };
  const RuleOutcome* const decisive = decision.decisive();
  const bool hides_decisive = decisive != nullptr && is_hidden(*decisive);
  const std::uint32_t decisive_ordinal = decisive == nullptr ? 0 : decisive->ordinal;
  auto* const end = std::remove_if(decision.rules.begin(), decision.rules.end(), is_hidden);
  decision.rules.resize(static_cast<std::size_t>(end - decision.rules.begin()));
  if (decisive == nullptr) return;

  const auto may_be_reported = [&](const RuleOutcome& each) {
    if (!hides_decisive) return each.ordinal == decisive_ordinal;
    return each.mode == Mode::enforce && each.allowed == decision.allowed;
  };
  const RuleOutcome* reported = nullptr;
  for (const RuleOutcome& each : decision.rules) {
    if (!may_be_reported(each)) continue;
    if (reported == nullptr || more_restrictive(each, *reported)) reported = &each;
  }
  if (hides_decisive) forget_decisive(check, source, decision);
  if (reported == nullptr) return;
  decision.deciding = static_cast<std::int32_t>(reported - decision.rules.data());
  decision.cost = reported->cost;
  if (decision.allowed) return;
  const std::string_view message = rule_of(check, *reported).message;
  const bool mixes = mixes_rules(message, reported->retry_after == decision.retry_after);
  decision.message = mixes ? std::string_view() : message;
}

}  // namespace

void describe_rules(const Check& check, Decision& decision) {
  for (const rules::Match& match : check.matches()) describe(decision.rules.append(), match);
}

void make_verdict(const Check& check, std::span<const bool> store_failed, Decision& decision) {
  if (decision.rules.empty()) {
    decision.cost = check.requested_cost();
    decision.allowed = !check.denies_unmatched();
    return;
  }
  std::size_t charge = 0;
  const RuleOutcome* decisive = nullptr;
  for (RuleOutcome& outcome : decision.rules) {
    if (!outcome.unlimited) {
      const bool failed = !store_failed.empty() && store_failed[charge];
      add_charge(outcome, check.subject_of(charge), check.outcomes()[charge], failed);
      ++charge;
    }
    if (!check.is_plain()) [[unlikely]]
      mark_rest(check, static_cast<std::size_t>(&outcome - decision.rules.data()), charge, outcome);
    if (outcome.mode != Mode::enforce) continue;
    decision.allowed = decision.allowed && outcome.allowed;
    decision.delay = std::max(decision.delay, outcome.delay);
    if (decisive == nullptr || more_restrictive(outcome, *decisive)) decisive = &outcome;
  }
  if (check.has_shared()) [[unlikely]]
    mark_shared(check, decision);
  decision.reason = Reason::ok;
  if (decisive == nullptr) {
    decision.cost = check.requested_cost();
    return;
  }
  decision.deciding = static_cast<std::int32_t>(decisive - decision.rules.data());
  decision.cost = decisive->cost;
  if (decision.allowed) return;
  decision.reason = reason_of(*decisive);
  decision.retry_after = decisive->retry_after;
  decision.delay = Duration::zero();
  // Its numbers are not those that a failure policy counts by.
  if (!decisive->store_failed) {
    decision.message = check.matches()[static_cast<std::size_t>(decision.deciding)].rule->message;
  }
}

void hide_rules(const Check& check, std::string_view source, Decision& decision) {
  const auto any = [&](Hidden kind) {
    return std::any_of(check.matches().begin(), check.matches().end(),
                       [kind](const rules::Match& match) { return match.rule->source.hidden == kind; });
  };
  if (any(Hidden::answer)) {
    decision.rules.clear();
    decision.message = {};
    if (decision.reason == Reason::penalized) decision.reason = Reason::limit_exceeded;
    forget_decisive(check, source, decision);
  } else if (any(Hidden::rule)) {
    leave_out_hidden(check, source, decision);
  }
}

void refuse_exhausted(const Check& check, std::size_t charge, const ChargeOutcome& outcome, Decision& decision) {
  RuleOutcome& rule = decision.rules.append();
  describe(rule, check.match_of(charge));
  add_charge(rule, check.subject_of(charge), outcome, false);
  mark_consistency(*check.match_of(charge).rule, outcome, rule);
  rule.shared = check.is_shared(charge);
  mark_challenge(*check.match_of(charge).rule, rule);
  decision.allowed = false;
  decision.deciding = 0;
  decision.reason = reason_of(rule);
  decision.cost = rule.cost;
  decision.retry_after = rule.retry_after;
  decision.message = check.match_of(charge).rule->message;
}

void refuse_unanswered(const Check& check, std::size_t charge, Decision& decision) {
  RuleOutcome& rule = decision.rules.append();
  describe(rule, check.match_of(charge));
  ChargeOutcome denied;
  denied.admitted = false;
  add_charge(rule, check.subject_of(charge), denied, true);
  decision.allowed = false;
  decision.degraded = true;
  decision.deciding = 0;
  decision.reason = Reason::store_unavailable;
  decision.cost = rule.cost;
}

void refuse_too_many_rules(const Check& check, Decision& decision) {
  decision.allowed = false;
  decision.reason = Reason::store_unavailable;
  decision.cost = check.requested_cost();
}

void refuse_shed(const Request& request, Duration wait, Decision& decision) {
  decision.allowed = false;
  decision.reason = Reason::shed;
  decision.cost = request.cost.units;
  decision.retry_after = wait;
}

void refuse_out_of_bounds(const Request& request, Decision& decision) {
  decision.allowed = false;
  decision.reason = Reason::cost_too_large;
  decision.cost = request.cost.units;
}

}  // namespace weir::engine
