#include "engine/check.h"

#include <algorithm>
#include <cassert>

#include "engine/ad_hoc.h"
#include "rules/compile/subject_names.h"

namespace weir::engine {
namespace {

using keys::KeyEncoder;
using keys::SipHash;

// Of a rule with alternatives: an API key and an address that read the same are different subjects.
BucketKey alternative_key(const Request& request, const rules::ResolvedNames& names, const rules::CompiledRule& rule,
                          SipHash hash) {
  rules::SubjectNames subject;
  subject.choose(rule, {names.ids, request.attributes.size()});
  for (const rules::NameId id : subject.names()) {
    std::string_view name;
    std::size_t values = 0;
    for (std::size_t i = 0; i < request.attributes.size(); ++i) {
      if (names.ids[i] != id) continue;
      KeyEncoder::add_value(hash, request.attributes[i].value);
      name = request.attributes[i].name;
      ++values;
    }
    KeyEncoder::add_choice(hash, name, values);
  }
  return hash.finish();
}

// All values of a repeated name count, in the order given.
BucketKey subject_key(const Request& request, const rules::ResolvedNames& names, const rules::CompiledRule& rule,
                      SipHash hash) {
  if (!rule.alternatives.empty()) [[unlikely]]
    return alternative_key(request, names, rule, hash);
  for (const rules::NameId id : rule.per) {
    for (std::size_t i = 0; i < request.attributes.size(); ++i) {
      if (names.ids[i] == id) KeyEncoder::add_value(hash, request.attributes[i].value);
    }
  }
  return hash.finish();
}

void add_values_of(SipHash& hash, const Request& request, std::string_view name) {
  for (const Attribute& attribute : request.attributes) {
    if (attribute.name == name) KeyEncoder::add_value(hash, attribute.value);
  }
}

// True when the request's subject has this attribute in it: of alternatives only the one that is counted.
bool counts_by(const Request& request, const rules::ResolvedNames& names, const rules::CompiledRule& rule,
               std::string_view name) {
  if (rule.alternatives.empty()) [[likely]] {
    return std::find(rule.source.per.begin(), rule.source.per.end(), name) != rule.source.per.end();
  }
  rules::SubjectNames subject;
  subject.choose(rule, {names.ids, request.attributes.size()});
  for (std::size_t i = 0; i < request.attributes.size(); ++i) {
    if (request.attributes[i].name == name) return subject.contains(names.ids[i]);
  }
  return false;
}

// Which slot of a cluster the bucket lives in: by tenant unless the rule says otherwise. Only attributes
// that the rule counts by may decide it: the tag is part of the bucket's name, and a rule per address must not get a
// bucket for each tenant that the address names.
BucketKey tag_key(const Request& request, const rules::ResolvedNames& names, const rules::CompiledRule& rule,
                  const BucketKey& subject, const KeyEncoder& encoder) {
  const HashTag tag = rule.source.hash_tag.value_or(HashTag::tenant);
  if (tag == HashTag::subject || !counts_by(request, names, rule, "tenant")) return subject;
  SipHash hash = encoder.tag_seed();
  add_values_of(hash, request, "tenant");
  if (tag == HashTag::tenant_action && counts_by(request, names, rule, "action"))
    add_values_of(hash, request, "action");
  return hash.finish();
}

}  // namespace

rules::MatchIssues Check::plan(const Request& request, TimePoint wall, const ActiveRules& rules,
                               const KeyEncoder& encoder, bool with_tags, const rules::ResolvedNames* resolved) {
  rules::ResolvedNames own_names;
  planned_ = true;
  requested_cost_ = request.cost.units;
  request_ = &request;
  rules_ = rules.set.get();
  const rules::MatchIssues issues = resolved == nullptr ? rules.set->match(request, wall, own_names, matches_)
                                                        : rules.set->match_resolved(request, wall, *resolved, matches_);
  const rules::ResolvedNames& names = resolved == nullptr ? own_names : *resolved;
  if (request.by_operator != nullptr) [[unlikely]]
    show_to_operator(*request.by_operator);
  for (const rules::Match& match : matches_) {
    if (match.allowance == nullptr) continue;
    const rules::CompiledRule& rule = *match.rule;
    const BucketKey key = subject_key(request, names, rule, rules.seed(rule));
    Charge& charge = charges_.append(rule.charge);
    charge.key = key;
    charge.allowance = match.allowance;
    charge.cost = match.cost;
    charge.binding = match.mode == Mode::enforce;
    if (with_tags) charge.tag = tag_key(request, names, rule, key, encoder);
    outcomes_.append();
  }
  deciding_ = charges_.size();
  if (!rules.set->is_plain()) [[unlikely]] {
    planned_at_ = wall;
    plan_rest(request, names, rules);
  }
  return issues;
}

// Of rules that are more than a limit.
void Check::plan_rest(const Request& request, const rules::ResolvedNames& names, const ActiveRules& rules) {
  const rules::RuleSet& set = *rules.set;
  is_plain_ = false;
  may_have_local_limits_ = set.has_local_limits();
  may_have_hidden_rules_ = set.has_hidden() && request.by_operator == nullptr;
  denies_unmatched_ = set.denies_unmatched();
  may_have_slices_ = set.has_slices();
  may_have_protection_ = set.has_protection();
  has_quotas_ = set.has_quotas() && std::any_of(charges_.begin(), charges_.end(),
                                                [](const Charge& charge) { return charge.kind == ChargeKind::quota; });
  if (set.has_max_subjects()) bounding_ = &rules;
  may_have_windows_ = set.has_several_windows();
  if (may_have_windows_) record_in_other_windows();
  if (may_have_protection_) protect(request, names, rules);
}

void Check::show_to_operator(const OperatorView& view) {
  if (view.rules.empty()) return;
  std::size_t kept = 0;
  for (const rules::Match& match : matches_) {
    const bool wanted = std::find(view.rules.begin(), view.rules.end(), match.rule->name.id) != view.rules.end();
    if (wanted) matches_[kept++] = match;
  }
  matches_.resize(kept);
}

void Check::plan(const AdHocCharge& charge, const Allowance& allowance, const KeyEncoder& encoder) {
  planned_ = true;
  requested_cost_ = charge.cost.units;
  charges_.push_back(make_ad_hoc_charge(charge, allowance, encoder));
  outcomes_.append();
}

RequestContext Check::context(const Decision& decision) const {
  RequestContext context;
  if (request_ != nullptr) {
    context.attributes = request_->attributes;
    context.trace = request_->trace;
  }
  if (kept_ != nullptr) {
    context.attributes = kept_->attributes();
    context.trace = kept_->trace();
  }
  context.complete = request_ != nullptr || (kept_ != nullptr && kept_->complete());
  if (rules_ != nullptr) {
    context.rules_version = rules_->told_version();
    context.rules_hash = rules_->told_hash();
  }
  const RuleOutcome* const decisive = decision.decisive();
  if (decisive == nullptr) return context;
  const auto place = static_cast<std::size_t>(decision.deciding);
  // Each rule is at the place of its match, unless only the one that denies was described.
  if (decision.rules.size() == matches_.size()) [[likely]] {
    context.per = matches_[place].rule->source.per;
    return context;
  }
  for (const rules::Match& match : matches_) {
    if (match.rule->name.ordinal == decisive->ordinal) context.per = match.rule->source.per;
  }
  return context;
}

void make_record_charge(const BucketKey& id, std::span<const Charge> charges, Charge& record) {
  static constexpr Allowance kNone;
  record.key = id;
  record.tag = charges.empty() ? id : charges.front().tag;
  record.allowance = &kNone;
  record.kind = ChargeKind::record;
}

void Check::reserve(std::int64_t amount, const BucketKey& id) {
  const auto follows = [](const rules::CompiledRule& rule) {
    const CostModel::Kind kind = rule.source.cost.kind;
    return rule.source.kind != ChargeKind::lease && !rule.distinct &&
           (kind == CostModel::Kind::request || kind == CostModel::Kind::attribute);
  };
  for (Charge& charge : charges_) charge.follows = false;
  for (rules::Match& match : matches_) {
    if (!follows(*match.rule)) continue;
    match.cost = amount;
    match.bad_cost = false;
    for (Charge& charge : charges_) {
      if (charge.rule.data() != match.rule->name.id.data()) continue;  // a rule's id is in one place
      charge.cost = amount;
      charge.follows = true;
    }
  }
  requested_cost_ = amount;
  const std::size_t planned = charges_.size();
  Charge& record = charges_.append();
  make_record_charge(id, charges().first(planned), record);
  outcomes_.append();
}

void Check::drop_bad_costs() {
  for (std::size_t i = 0; i < deciding_; ++i) {
    if (match_of(i).bad_cost) charges_[i].cost = 0;
  }
}

bool Check::change_cost(std::int64_t units) {
  // A limit of 0 has a least cost of its own.
  const auto is_plain = [](const rules::Match& match) {
    return match.rule->source.cost.kind == CostModel::Kind::request && !match.rule->distinct &&
           (match.allowance == nullptr || match.allowance->limit > 0);
  };
  if (!std::all_of(matches_.begin(), matches_.end(), is_plain)) return false;
  requested_cost_ = units;
  for (rules::Match& match : matches_) match.cost = units;
  for (Charge& charge : charges_) {
    if (charge.kind != ChargeKind::penalty) charge.cost = units;
  }
  return true;
}

const rules::Match& Check::match_of(std::size_t charge) const {
  std::size_t charged = 0;
  const auto* found = std::find_if(matches_.begin(), matches_.end(), [&](const rules::Match& match) {
    return match.allowance != nullptr && charged++ == charge;
  });
  assert(found != matches_.end());
  return *found;
}

}  // namespace weir::engine
