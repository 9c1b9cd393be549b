#include "engine/stages/quota_gate.h"

#include <algorithm>

#include "rules/compile/per_entry.h"

namespace weir::engine {
namespace {

using Quick = QuotaGate::Quick;

void append_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '%' || c == ',' || c == '=') {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    } else {
      out += c;
    }
  }
}

bool append_values(std::string& out, std::string_view name, const Request& request) {
  bool any = false;
  for (const Attribute& attribute : request.attributes) {
    if (attribute.name != name) continue;
    if (!out.empty()) out += ',';
    append_escaped(out, name);
    out += '=';
    append_escaped(out, attribute.value);
    any = true;
  }
  return any;
}

ChargeOutcome bad_cost_outcome() {
  ChargeOutcome outcome;
  outcome.admitted = false;
  outcome.too_large = true;
  return outcome;
}

}  // namespace

std::string quota_subject(const Rule& rule, const Request& request) {
  std::string text;
  for (const std::string& entry : rule.per) {
    for (const std::string& name : rules::alternatives_of(entry)) {
      if (append_values(text, name, request)) break;
    }
  }
  return text;
}

void StoreCharges::copy() {
  charges_.clear();
  outcomes_.clear();
  places_.clear();
  for (std::size_t i = 0; i < check_.charges().size(); ++i) {
    if (check_.charges()[i].kind == ChargeKind::quota) continue;
    Charge& charge = charges_.append();
    charge = check_.charges()[i];
    charge.of = static_cast<std::uint8_t>(place_without_quotas(check_.charges(), charge.of));
    outcomes_.append();
    places_.push_back(static_cast<std::uint32_t>(i));
  }
}

void StoreCharges::hand_out() {
  for (std::size_t i = 0; i < places_.size(); ++i) check_.outcomes()[places_[i]] = outcomes_[i];
}

QuotaPart::QuotaPart(Run& run) : run_(run) {
  at = run.reading();
  for (const Enforcement mode : {Enforcement::leased, Enforcement::strict}) {
    for (std::uint32_t c = 0; c < run.checks.size(); ++c) {
      const Check& check = run.checks[c];
      if (!check.has_quotas()) continue;
      for (std::uint32_t i = 0; i < check.deciding(); ++i) {
        if (check.charges()[i].kind != ChargeKind::quota) continue;
        if (check.match_of(i).rule->source.quota.enforcement == mode) add(c, i);
      }
    }
    if (mode == Enforcement::leased) leased_ = all_.size();
  }
  if (run.combined == nullptr) {
    store.emplace(run.checks.front());
    run.charges = store->charges();
    run.outcomes = store->outcomes();
  }
  run.quotas = this;
}

QuotaCharge quota_charge(const Check& check, std::size_t charge) {
  const Charge& from = check.charges()[charge];
  const rules::Match& match = check.match_of(charge);
  const Rule& rule = match.rule->source;
  QuotaCharge quota;
  quota.rule = from.rule;
  quota.quota = &rule.quota;
  quota.key = from.key;
  quota.limit = from.allowance->limit;
  quota.cost = from.cost;
  quota.since = check.rules()->loaded();
  quota.binding = from.binding;
  quota.follows = from.follows;
  quota.commit_on_expiry = rule.on_expiry == ExpiryPolicy::commit;
  quota.overridden = match.overridden;
  quota.own_limit = rule.unlimited ? -1 : rule.allowance.limit;
  quota.plans = rule.plans;
  if (match.bad_cost) quota.outcome = bad_cost_outcome();
  return quota;
}

void QuotaPart::add(std::uint32_t check, std::uint32_t charge) {
  all_.push_back(quota_charge(run_.checks[check], charge));
  places_.push_back({check, charge});
}

Quick QuotaPart::take_quickly(QuotaGate& gate) {
  for (std::size_t i = 0; i < leased_; ++i) {
    QuotaCharge& quota = all_[i];
    const bool known_bad = quota.outcome.too_large;  // its cost could not be read
    const Quick answer = known_bad ? Quick::denied : gate.try_take(quota, at);
    if (answer == Quick::done || (answer == Quick::denied && !quota.binding)) continue;
    for (QuotaCharge& earlier : leased().first(i)) {
      if (earlier.taken != nullptr) gate.put_back(earlier);
    }
    return answer;
  }
  return Quick::done;
}

Quick QuotaPart::peek_quickly(QuotaGate& gate) {
  if (has_strict()) return Quick::wait;
  for (QuotaCharge& quota : leased()) {
    if (quota.outcome.too_large) continue;
    if (gate.try_peek(quota, at) == Quick::wait) return Quick::wait;
  }
  return Quick::done;
}

void QuotaPart::describe() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Check& check = run_.checks[places_[i].check];
    if (check.request() == nullptr || !all_[i].subject.empty()) continue;
    all_[i].subject = quota_subject(check.match_of(places_[i].charge).rule->source, *check.request());
    for (const Attribute& attribute : check.request()->attributes) {
      if (attribute.name == "tenant") all_[i].tenant = attribute.value;
    }
  }
  name_strict();
}

// The checks of a run are charged together, so the first one names them all.
void QuotaPart::name_strict() {
  const Request* const first = run_.checks.front().request();
  if (!has_strict() || first == nullptr || first->once_name.empty()) return;
  once = "take " + std::string(first->once_name) + "." + std::to_string(first->once_part);
  std::uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a: it tells apart what one caller asks under one key
  const auto add = [&sum](std::string_view text) {
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    sum = (sum ^ 0xffU) * 0x100000001b3U;
  };
  for (const QuotaCharge& quota : strict()) {
    add(quota.rule);
    add(quota.subject);
    add(std::to_string(quota.cost));
  }
  once_request = std::to_string(sum);
}

void QuotaPart::hand_out() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    run_.checks[places_[i].check].outcomes()[places_[i].charge] = all_[i].outcome;
  }
}

bool QuotaPart::counts_beyond(std::size_t quota) const {
  const QuotaCharge& charge = all_[quota];
  if (quota >= leased_ || charge.binding || charge.outcome.status != Code::ok || charge.outcome.admitted) return false;
  return !run_.checks[places_[quota].check].match_of(places_[quota].charge).bad_cost;
}

bool QuotaPart::counts_beyond() const {
  for (std::size_t i = 0; i < leased_; ++i) {
    if (counts_beyond(i)) return true;
  }
  return false;
}

std::optional<std::size_t> QuotaPart::refusing() const {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const QuotaCharge& quota = all_[i];
    if (!quota.binding) continue;
    if (quota.outcome.status == Code::ok) {
      if (!quota.outcome.admitted) return i;
      continue;
    }
    const Rule& rule = run_.checks[places_[i].check].match_of(places_[i].charge).rule->source;
    if (failure_policy_of(rule).policy == FailurePolicy::deny) return i;
  }
  return std::nullopt;
}

}  // namespace weir::engine
