#include "rules/compile/rule_set.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "rules/compile/per_entry.h"
#include "rules/compile/region_rules.h"
#include "rules/compile/rollout.h"
#include "rules/compile/rule_check.h"
#include "rules/compile/rule_set_matcher.h"
#include "rules/compile/selectivity.h"
#include "rules/compile/shedding_classes.h"
#include "rules/compile/slice_terms.h"
#include "rules/compile/subject_names.h"

namespace weir::rules {
namespace {

// Mode off, and no override that would change it.
bool is_off(Mode mode, const Rule& rule) {
  return mode == Mode::off && std::none_of(rule.overrides.begin(), rule.overrides.end(),
                                           [](const Override& override) { return override.mode.has_value(); });
}

// What rules keep from their version before.
class RulesBefore {
 public:
  explicit RulesBefore(const RuleSetOrigin& origin) : origin_(origin) {}

  // Since when the rule has had its candidate: one that was loaded before stays as warm as it is.
  TimePoint candidate_since(const Rule& rule) {
    const CompiledRule* const found = find(rule);
    if (found == nullptr) return origin_.loaded;
    const Rule& before = found->source;
    const bool same = before.candidate == rule.candidate && before.allowance == rule.allowance;
    return same ? found->candidate_since : origin_.loaded;
  }

  // The lengths that it counted in. Another algorithm has other buckets.
  WindowLengths window_lengths(const Rule& rule) {
    const CompiledRule* const found = counts_windows(rule.allowance.algorithm) ? find(rule) : nullptr;
    if (found == nullptr || found->source.kind != rule.kind ||
        found->source.allowance.algorithm != rule.allowance.algorithm)
      return {};
    if (!found->windows.recording().empty()) return found->windows.as_former(origin_.loaded);
    WindowLengths only;
    if (found->own != nullptr) only.add(*found->own);
    return only.as_former(origin_.loaded);
  }

 private:
  const CompiledRule* find(const Rule& rule) {
    if (before_.empty() && origin_.before != nullptr) {
      for (const CompiledRule& each : origin_.before->rules()) before_.emplace(each.source.id, &each);
    }
    const auto found = before_.find(rule.id);
    return found == before_.end() ? nullptr : found->second;
  }

  const RuleSetOrigin& origin_;
  std::unordered_map<std::string_view, const CompiledRule*> before_;
};

std::vector<Allowance> adapted_allowances(const Rule& rule) {
  std::vector<Allowance> allowances;
  for (std::int64_t limit = rule.auto_limit->min; limit <= rule.auto_limit->max; ++limit) {
    allowances.push_back(changed_allowance(rule, {.limit = limit}).value());
  }
  return allowances;
}

// Also what overrides would enforce is only recorded.
void put_overrides_into_shadow(Rule& rule) {
  for (Override& override : rule.overrides) {
    if (override.mode == Mode::enforce) override.mode = Mode::shadow;
  }
}

}  // namespace

RuleSet::RuleSet() = default;
RuleSet::~RuleSet() = default;

Result<std::shared_ptr<const RuleSet>> RuleSet::compile(Rules rules, RuleNames& names, RulesAre are,
                                                        RuleSetOrigin origin) {
  if (are == RulesAre::unchecked) {
    if (Status checked = check_rules(rules); !checked.ok()) return checked.failure();
  }
  const std::shared_ptr<RuleSet> set(new RuleSet);
  set->origin_ = std::move(origin);
  set->denies_unmatched_ = rules.on_no_rule == NoRulePolicy::deny;
  set->rules_.reserve(rules.rules.size());
  RulesBefore before(set->origin_);
  for (Rule& rule : rules.rules) {
    const Result<RuleName> name = names.intern(rule.id);
    if (!name.ok()) return name.failure();
    const Result<std::string_view> message = names.intern_message(rule.message);
    if (!message.ok()) return message.failure();
    CompiledRule compiled;
    compiled.name = name.value();
    compiled.message = message.value();
    const bool active = !is_off(rule.mode, rule);
    if (rules.global_shadow) put_overrides_into_shadow(rule);
    compiled.mode = rules.global_shadow && rule.mode == Mode::enforce ? Mode::shadow : rule.mode;
    if (rule.local_limit && compiled.mode == Mode::enforce) {
      compiled.local_limit = make_allowance(local_limit_spec(*rule.local_limit)).value();
      set->has_local_limits_ = true;
    }
    set->has_max_subjects_ = set->has_max_subjects_ || (rule.max_subjects && active);
    if (rule.kind == ChargeKind::lease && active) {
      set->has_leases_ = true;
      set->lease_rules_.push_back(static_cast<std::uint32_t>(set->rules_.size()));
    }
    set->has_quotas_ = set->has_quotas_ || (rule.kind == ChargeKind::quota && active);
    if (rule.candidate) {
      compiled.candidate = changed_allowance(rule, *rule.candidate).value();
      compiled.candidate_since = before.candidate_since(rule);
    }
    if (rule.auto_limit) {
      compiled.adapted = adapted_allowances(rule);
      set->has_auto_limits_ = set->has_auto_limits_ || active;
    }
    set->has_penalties_ = set->has_penalties_ || (active && rule.penalty);
    set->has_candidates_ = set->has_candidates_ || (active && rule.candidate);
    set->has_distinct_ = set->has_distinct_ || (active && !rule.distinct.empty());
    set->has_protection_ = set->has_protection_ || set->has_penalties_ || set->has_candidates_ || set->has_distinct_ ||
                           (active && rule.on_exceed != OnExceed::deny);
    set->has_hidden_ = set->has_hidden_ || (rule.hidden != Hidden::no && active);
    compiled.windows = before.window_lengths(rule);
    compiled.source = std::move(rule);
    set->rules_.push_back(std::move(compiled));
  }
  set->origin_.before = nullptr;
  auto matcher = std::make_unique<Matcher>(set->rules_, set->origin_.issues.get());
  if (rules.shedding) {
    set->shedding_ = std::make_unique<const SheddingClasses>(std::move(*rules.shedding), matcher->names());
  }
  set->matcher_ = std::move(matcher);
  set->find_changes();
  for (CompiledRule& rule : set->rules_) {
    if (rule.slices) rule.slices->version = set->origin_.version;
    rule.region = region_terms(rule.source);
    set->has_slices_ = set->has_slices_ || ((rule.slices || rule.region) && !is_off(rule.mode, rule.source));
  }
  set->has_several_windows_ = std::any_of(set->rules_.begin(), set->rules_.end(),
                                          [](const CompiledRule& rule) { return rule.windows.several(); });
  set->prepare_charges();
  set->is_plain_ = !set->denies_unmatched_ && !set->has_local_limits_ && !set->has_hidden_ && !set->has_max_subjects_ &&
                   !set->has_quotas_ && !set->has_protection_ && !set->has_auto_limits_ && !set->has_several_windows_ &&
                   !set->has_slices_;
  return std::shared_ptr<const RuleSet>(set);
}

// After the rules have got their places: charges refer to them.
void RuleSet::prepare_charges() {
  for (CompiledRule& rule : rules_) {
    rule.charge.rule = rule.name.id;
    rule.charge.kind = rule.source.kind;
    rule.charge.count_denied = rule.source.count_denied;
    rule.charge.follows = rule.source.count_denied && rule.source.overdraft.has_value();
    rule.charge.number = rule.name.ordinal + 1;
    rule.charge.max_subjects = static_cast<std::uint32_t>(rule.source.max_subjects.value_or(0));
    // A rule that counts in windows of several lengths is asked of the store: what is recorded must be what was
    // decided.
    if (rule.slices && !rule.windows.several()) rule.charge.slices = &*rule.slices;
    if (rule.region) rule.charge.region = &*rule.region;
    prepare_companions(rule);
  }
}

// They bind nothing, are no subjects of their own, and are asked of the store.
void RuleSet::prepare_companions(CompiledRule& rule) {
  Charge companion = rule.charge;
  companion.binding = false;
  companion.number = companion.max_subjects = 0;
  companion.slices = nullptr;
  if (rule.source.penalty) {
    rule.penalty_charge = companion;
    rule.penalty_charge.kind = ChargeKind::penalty;
    rule.penalty_charge.penalty = &*rule.source.penalty;
    rule.penalty_charge.cost = 0;
    rule.penalty_charge.count_denied = false;
  }
  if (rule.candidate) {
    rule.candidate_charge = companion;
    rule.candidate_charge.allowance = &*rule.candidate;
    rule.candidate_charge.candidate = true;
  }
}

std::optional<std::int64_t> RuleSet::lease_limit(std::string_view id) const {
  for (const std::uint32_t i : lease_rules_) {
    const Rule& rule = rules_[i].source;
    if (rule.id != id) continue;
    if (!rule.plans.empty() || !rule.overrides.empty()) return std::nullopt;
    return rule.allowance.limit;
  }
  return std::nullopt;
}

void RuleSet::find_changes() {
  for (const CompiledRule& rule : rules_) {
    for (const Override& override : rule.source.overrides) {
      if (override.until) changes_.push_back(*override.until);
    }
    rule.windows.for_each_change([this](TimePoint change) { changes_.push_back(change); });
  }
  std::sort(changes_.begin(), changes_.end());
}

RuleSet::Period RuleSet::period_of(TimePoint now) const {
  const auto next = std::upper_bound(changes_.begin(), changes_.end(), now);
  Period period;
  if (next != changes_.begin()) period.from = *(next - 1);
  if (next != changes_.end()) period.until = *next;
  return period;
}

void RuleSet::count_again(const MatchIssues& issues) const {
  if (issues.any() && origin_.issues != nullptr) origin_.issues->count(issues);
}

void RuleSet::find_replaced(std::span<const Request> requests, std::span<bool> replaced) const {
  matcher_->find_replaced(requests, replaced);
}

RuleSet::Matcher::Matcher(std::vector<CompiledRule>& rules, MatchIssueCounters* counters)
    : rules_(rules), counters_(counters) {
  Selectivity selectivity;
  for (const CompiledRule& rule : rules) selectivity.count(rule.source.match);
  std::vector<ValueIndex::Filing> filings;
  parts_.reserve(rules.size());
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    const bool by_descriptor = !rules[i].source.descriptor.empty();
    const Condition* filed = by_descriptor ? nullptr : selectivity.best(rules[i].source.match);
    parts_.push_back(compile(rules[i], filed));
    if (by_descriptor) {
      const Status added = descriptors_.add(rules[i].source.descriptor, i);
      assert(added.ok());
      static_cast<void>(added);
      continue;
    }
    if (is_off(rules[i].mode, rules[i].source)) continue;
    if (filed == nullptr) {
      always_.push_back(i);
    } else {
      const NameId name = names_.add(filed->attribute);
      for (const std::string& value : filed->patterns) filings.push_back({name, value, i});
    }
  }
  index_ = ValueIndex(std::move(filings));
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].own = plain_allowance(parts_[i], rules[i]);
    rules[i].own = parts_[i].choice.own();
  }
  compile_replaces();
  rule_names_ = names_.size();
}

// Only when all names are known: beyond 64 of them several names share a bit.
const Allowance* RuleSet::Matcher::plain_allowance(const Parts& parts, const CompiledRule& rule) const {
  const bool plain = names_.size() <= 64 && rule.alternatives.empty() && parts.conditions_to_try == 0 &&
                     parts.rollout == 100 && parts.cost.is_the_requests() && parts.choice.simple();
  const bool closed = plain && parts.choice.own() != nullptr && parts.choice.own()->limit == 0;
  return plain && !closed ? parts.choice.own() : nullptr;
}

void RuleSet::Matcher::compile_replaces() {
  if (std::none_of(rules_.begin(), rules_.end(), [](const auto& rule) { return !rule.source.replaces.empty(); }))
    return;
  std::unordered_map<std::string_view, std::uint32_t> by_id;
  for (std::uint32_t i = 0; i < rules_.size(); ++i) by_id.emplace(rules_[i].source.id, i);
  for (const CompiledRule& rule : rules_) {
    std::vector<std::uint32_t>& replaced = replaces_.emplace_back();
    for (const std::string& id : rule.source.replaces) replaced.push_back(by_id.at(id));
  }
}

void RuleSet::Matcher::find_replaced(std::span<const Request> requests, std::span<bool> replaced) const {
  if (replaces_.empty()) return;
  std::vector<std::optional<std::uint32_t>> reached;
  for (const Request& request : requests) reached.push_back(descriptors_.find(request.sent()));
  for (const std::optional<std::uint32_t>& rule : reached) {
    if (!rule) continue;
    for (const std::uint32_t gone : replaces_[*rule]) {
      for (std::size_t i = 0; i < reached.size(); ++i) replaced[i] = replaced[i] || reached[i] == gone;
    }
  }
}

RuleSet::Matcher::Parts RuleSet::Matcher::compile(CompiledRule& rule, const Condition* filed) {
  Parts parts{.needs = 0,
              .own = nullptr,
              .conditions = {},
              .conditions_to_try = 0,
              .rollout = rule.source.rollout,
              .cost = CompiledCost(rule.source.cost, rule.source.on_bad_cost, names_),
              .choice = AllowanceChoice(rule.source, names_)};
  // Most rules have one length, and have had no other.
  const bool one_length = parts.choice.simple() && !rule.windows.several();
  rule.windows = one_length ? WindowLengths() : parts.choice.window_lengths(std::move(rule.windows));
  rule.slices = slice_terms(rule.source, parts.choice, 0);
  const auto add = [&](const Condition& condition) {
    const NameId name = names_.add(condition.attribute);
    if (!accepts_absent(condition)) parts.needs |= name_bit(name);
    parts.conditions.push_back(CompiledCondition::compile(condition, name).value());
  };
  for (const Condition& condition : rule.source.match) {
    if (&condition != filed) add(condition);
  }
  std::stable_sort(parts.conditions.begin(), parts.conditions.end(),
                   [](const CompiledCondition& a, const CompiledCondition& b) { return a.expense() < b.expense(); });
  parts.conditions_to_try = parts.conditions.size();
  if (filed != nullptr) add(*filed);
  compile_subject(rule, parts);
  parts.needs |= parts.subject;
  return parts;
}

void RuleSet::Matcher::compile_subject(CompiledRule& rule, Parts& parts) {
  // A request without the value that is counted is not counted, like one without the subject.
  if (!rule.source.distinct.empty()) {
    rule.distinct = names_.add(rule.source.distinct);
    parts.subject |= name_bit(*rule.distinct);
  }
  for (const std::string& entry : rule.source.per) {
    const std::size_t before = rule.per.size();
    for_each_name(entry, [&](std::string_view name) { rule.per.push_back(names_.add(name)); });
    if (rule.per.size() == before + 1) parts.subject |= name_bit(rule.per.back());
  }
  if (rule.per.size() == rule.source.per.size()) return;
  rule.per.clear();
  for (const std::string& entry : rule.source.per) {
    std::vector<NameId>& names = rule.alternatives.emplace_back();
    for_each_name(entry, [&](std::string_view name) { names.push_back(names_.add(name)); });
  }
}

// Rules found through one value come in order; those found through several are merged here.
[[gnu::always_inline]] inline void RuleSet::Matcher::append_in_order(Matches& matches, const Match& match) {
  if (matches.empty() || matches[matches.size() - 1].rule < match.rule) [[likely]] {
    matches.append(match.rule, match.allowance, match.cost, match.mode, match.bad_cost, match.overridden);
  } else {
    insert_in_order(matches, match);
  }
}

[[gnu::always_inline]] inline void RuleSet::Matcher::consider(std::uint32_t index, const RequestView& view,
                                                              TimePoint now, Matches& matches,
                                                              MatchIssues& issues) const {
  const Parts& parts = parts_[index];
  if (const std::uint64_t missing = parts.needs & ~view.carried; missing != 0) {
    if ((missing & ~parts.subject) == 0) note_missing(index, view, issues);
    return;
  }
  if (parts.own == nullptr) return look_closer(index, view, now, matches, issues);
  append_in_order(matches, {&rules_[index], parts.own, CompiledCost::of_request(view), rules_[index].mode, false});
}

[[gnu::always_inline]] inline MatchIssues RuleSet::Matcher::match(const RequestView& view, TimePoint now,
                                                                  Matches& matches) const {
  MatchIssues issues;
  for (const std::uint32_t rule : always_) consider(rule, view, now, matches, issues);
  for (std::size_t i = 0; i < view.size(); ++i) {
    if (!index_.may_mention(view.ids[i])) continue;
    for (const std::uint32_t rule : index_.find(view.ids[i], view.value(i))) consider(rule, view, now, matches, issues);
  }
  if (!descriptors_.empty()) {
    const std::optional<std::uint32_t> rule = descriptors_.find(view.request.sent());
    if (rule && !is_off(rules_[*rule].mode, rules_[*rule].source)) consider(*rule, view, now, matches, issues);
  }
  if (issues.any() && counters_ != nullptr) [[unlikely]]
    counters_->count(issues);
  return issues;
}

MatchIssues RuleSet::match(const Request& request, TimePoint now, ResolvedNames& names, Matches& matches) const {
  return matcher_->match(matcher_->resolve(request, names), now, matches);
}

void RuleSet::resolve(const Request& request, ResolvedNames& names) const {
  static_cast<void>(matcher_->resolve(request, names));
}

MatchIssues RuleSet::match_resolved(const Request& request, TimePoint now, const ResolvedNames& names,
                                    Matches& matches) const {
  return matcher_->match({request, names.ids, names.carried}, now, matches);
}

bool RuleSet::Matcher::carries_subject(const CompiledRule& rule, const RequestView& view) const {
  if (!rule.alternatives.empty()) return SubjectNames().choose(rule, view.names());
  // With few names the bits were exact.
  if (rule_names_ <= 64) return true;
  if (rule.distinct && view.first(*rule.distinct) == nullptr) return false;
  return std::all_of(rule.per.begin(), rule.per.end(), [&](NameId name) { return view.first(name) != nullptr; });
}

bool RuleSet::Matcher::conditions_hold(const Parts& parts, const RequestView& view) {
  const auto end = parts.conditions.begin() + static_cast<std::ptrdiff_t>(parts.conditions_to_try);
  return std::all_of(parts.conditions.begin(), end,
                     [&view](const CompiledCondition& condition) { return condition.holds(view); });
}

// A rule that does not apply only because the request carries no subject for it.
void RuleSet::Matcher::note_missing(std::uint32_t index, const RequestView& view, MatchIssues& issues) const {
  if (issues.has(MatchIssue::missing_attribute) || !conditions_hold(parts_[index], view)) return;
  issues.add(MatchIssue::missing_attribute);
}

void RuleSet::Matcher::look_closer(std::uint32_t index, const RequestView& view, TimePoint now, Matches& matches,
                                   MatchIssues& issues) const {
  const Parts& parts = parts_[index];
  const CompiledRule& rule = rules_[index];
  if (!carries_subject(rule, view)) return note_missing(index, view, issues);
  if (!conditions_hold(parts, view)) return;
  if (parts.rollout < 100 && rollout_place(rule, view) >= parts.rollout) return;
  const Choice choice = choose(parts, rule, view, now, issues);
  if (choice.chosen.use != nullptr && !view.request.peek) choice.chosen.use->use(now);
  if (choice.match.mode == Mode::off) return;
  append_in_order(matches, choice.match);
}

RuleSet::Matcher::Choice RuleSet::Matcher::choose(const Parts& parts, const CompiledRule& rule, const RequestView& view,
                                                  TimePoint now, MatchIssues& issues) {
  const AllowanceChoice::Chosen chosen = parts.choice.choose(view, now);
  if (chosen.unknown_plan) issues.add(MatchIssue::unknown_plan);
  MatchIssues own;
  std::int64_t cost = parts.cost.of(view, own);
  const bool bad_cost = own.has(MatchIssue::bad_cost);
  if (bad_cost) issues.add(MatchIssue::bad_cost);
  // A limit of 0 denies every request, also one that asks for nothing.
  if (chosen.allowance != nullptr && chosen.allowance->limit == 0) cost = std::max<std::int64_t>(cost, 1);
  const Mode mode = chosen.mode.value_or(rule.mode);
  const bool overridden = chosen.source == AllowanceChoice::Chosen::Source::override;
  return {{&rule, chosen.allowance, cost, mode, bad_cost && parts.cost.denies_bad_costs(), overridden}, chosen};
}

// One found twice (two values of a list) is kept once.
void RuleSet::Matcher::insert_in_order(Matches& matches, const Match& match) {
  Match* at = std::lower_bound(matches.begin(), matches.end(), match,
                               [](const Match& a, const Match& b) { return a.rule < b.rule; });
  if (at->rule == match.rule) return;
  const auto place = at - matches.begin();
  matches.push_back(match);
  std::rotate(matches.begin() + place, matches.end() - 1, matches.end());
}

}  // namespace weir::rules
