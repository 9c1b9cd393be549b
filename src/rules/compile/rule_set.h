// RuleSet: rules checked and compiled for matching. Immutable, so any number of threads may read one.
//
// The cost of a match does not depend on rules that do not match: each rule is filed under its most selective
// equality (or each value of a list), and only the rules filed under a value that the request carries are checked,
// plus the few rules that have no equality at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/compile/explanation.h"
#include "rules/compile/match_issues.h"
#include "rules/compile/rule_names.h"
#include "rules/compile/rules_stamp.h"
#include "rules/compile/window_lengths.h"
#include "weir/allowance.h"
#include "weir/draw_step.h"
#include "weir/inline_vector.h"
#include "weir/region_terms.h"
#include "weir/request.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/store.h"

namespace weir::rules {

// A request's attribute names, resolved once per check: `ids[i]` is the rule set's number for attributes[i].name, or
// kUnknownName when no rule mentions it.
using NameId = std::uint16_t;
inline constexpr NameId kUnknownName = 0xffff;
struct ResolvedNames {
  NameId ids[kMaxAttributes];
  std::uint64_t carried;  // name_bit() (request_view.h) of every name that a rule mentions
};

// One rule as the engine needs it. Constant after compilation.
struct CompiledRule {
  // What every request needs that the rule applies to comes first, so that it is close together.
  RuleName name;                                  // interned: outlives the rule set
  Mode mode = Mode::enforce;                      // global shadow applied
  Charge charge;                                  // all but its key, its allowance, its cost and whether it binds
  std::vector<NameId> per;                        // the subject's attributes, in the order written
  std::vector<std::vector<NameId>> alternatives;  // instead of `per`, if an entry has several names (subject_names.h)

  Rule source;                           // as written
  std::string_view message;              // interned: outlives the rule set
  std::optional<Allowance> local_limit;  // of an enforced rule: a shadow rule denies nothing
  // What accompanies `charge`: all but key, tag and `of`. Of a penalty also the allowance, of a candidate the cost.
  Charge penalty_charge;    // its `penalty` is null: the rule has none
  Charge candidate_charge;  // only of a rule with a candidate
  // Of a rule with a candidate.
  std::optional<Allowance> candidate;
  const Allowance* own = nullptr;     // that applies without a plan or an override; null: unlimited
  TimePoint candidate_since{};        // when rules with this candidate were first loaded, by the wall clock
  std::vector<Allowance> adapted;     // of a rule with an auto_limit: one for each limit from its min to its max
  std::optional<NameId> distinct;     // the attribute whose values are counted
  WindowLengths windows;              // several() only if plans or overrides have or had other windows than the rule
  std::optional<SliceTerms> slices;   // none: every decision asks the store
  std::optional<RegionTerms> region;  // none: the limit is each region's own
};

// A rule that applies to a request: it matches, and the request carries every attribute of `per`.
struct Match {
  const CompiledRule* rule = nullptr;
  const Allowance* allowance = nullptr;  // after emergency > override > plan > rule; null: unlimited
  std::int64_t cost = 1;                 // after the rule's cost model: 0 to kMaxUnits; at least 1 under a limit of 0
  Mode mode = Mode::enforce;             // the rule's, or that of an override; never off
  bool bad_cost = false;  // the rule denies the request because it cannot read the cost, and `cost` fits no limit of it
  bool overridden = false;  // the allowance is that of an override
};

using Matches = InlineVector<Match, 8>;

// Whether rules have been checked: those of a rules file have been, line by line, while it was read.
enum class RulesAre : std::uint8_t { unchecked, checked };

// What a rule set is compiled for: a version of a RuleBook, and its counters. Both may be absent.
class RuleSet;
struct RuleSetOrigin {
  std::uint64_t version = 0;
  std::shared_ptr<MatchIssueCounters> issues = nullptr;
  TimePoint loaded{};
  const RuleSet* before = nullptr;  // the rules that these replace; checked only while compiling
  std::shared_ptr<const RulesStamp> stamp = nullptr;
};

class SheddingClasses;

class RuleSet {
 public:
  // The failure lists every fault found, one line each, "rule search-per-key: burst: …" when made in code.
  static Result<std::shared_ptr<const RuleSet>> compile(Rules rules, RuleNames& names,
                                                        RulesAre are = RulesAre::unchecked, RuleSetOrigin origin = {});
  ~RuleSet();

  // Resolves the names and appends the rules that apply, in the order of the file. Rules in mode off do not apply,
  // except where an override says so. Tells the overrides that apply (UseMark), unless the request is a peek.
  // Precondition: at most kMaxAttributes attributes; `matches` holds nothing of another rule set.
  // The mistakes that it found in the request have been counted.
  MatchIssues match(const Request& request, TimePoint now, ResolvedNames& names, Matches& matches) const;
  // The same in two steps, for callers that need the names before the rules.
  void resolve(const Request& request, ResolvedNames& names) const;
  MatchIssues match_resolved(const Request& request, TimePoint now, const ResolvedNames& names, Matches& matches) const;

  // For callers that keep what match() found. The same request has the same matches at every moment of the period, and
  // each further use of them counts the same mistakes.
  struct Period {
    TimePoint from = TimePoint::min();
    TimePoint until = TimePoint::max();  // not included
    bool contains(TimePoint time) const { return from <= time && time < until; }
  };
  Period period_of(TimePoint now) const;
  void count_again(const MatchIssues& issues) const;

  // Marks the requests of one call that count for nothing, because a rule that another of them leads to replaces theirs
  // (Rule::replaces). Precondition: as many marks as requests, all false.
  void find_replaced(std::span<const Request> requests, std::span<bool> replaced) const;

  // Why each rule applies or does not. Looks at every rule: for people, not for the hot path.
  Explanation explain(const Request& request, TimePoint now) const;

  const std::vector<CompiledRule>& rules() const { return rules_; }
  // No rule has anything of what the functions below ask for, except leases: the rules that match, and what they
  // charge, are all that there is to know.
  bool is_plain() const { return is_plain_; }
  // The version of the RuleBook that these rules are; 0: of none.
  std::uint64_t version() const { return origin_.version; }
  // What decisions by these rules are attributed to: the stamp's number and hash, or the version and 0 without a stamp.
  std::uint64_t told_version() const {
    return origin_.stamp == nullptr ? origin_.version : origin_.stamp->number.load(std::memory_order_relaxed);
  }
  std::uint64_t told_hash() const { return origin_.stamp == nullptr ? 0 : origin_.stamp->hash; }
  // A request that no rule counts is denied.
  bool denies_unmatched() const { return denies_unmatched_; }
  // Some rule has a local limit.
  bool has_local_limits() const { return has_local_limits_; }
  // Some rule is hidden.
  bool has_hidden() const { return has_hidden_; }
  // Some rule gives leases.
  bool has_leases() const { return has_leases_; }
  // Some rule has max_subjects.
  bool has_max_subjects() const { return has_max_subjects_; }
  // Some rule is a quota.
  bool has_quotas() const { return has_quotas_; }
  // When these rules were loaded, as given; quotas whose limit differs follow the rules that were loaded last.
  TimePoint loaded() const { return origin_.loaded; }
  // The limit of the concurrency rule with this id, if it is the same for every request: it has neither plans nor
  // overrides.
  std::optional<std::int64_t> lease_limit(std::string_view id) const;
  // Some rule has a penalty, counts different values, or has a candidate: its charges are more than a plain one.
  bool has_protection() const { return has_protection_; }
  // Each by itself: some rule counts different values, has a penalty, has a candidate.
  bool has_distinct() const { return has_distinct_; }
  bool has_penalties() const { return has_penalties_; }
  bool has_candidates() const { return has_candidates_; }
  // Some rule has an auto_limit.
  bool has_auto_limits() const { return has_auto_limits_; }
  // When to refuse requests because there is too much to do. Null: never.
  const SheddingClasses* shedding() const { return shedding_.get(); }
  // Some rule counts in windows of several lengths.
  bool has_several_windows() const { return has_several_windows_; }
  // Some rule has `slices` or `region`.
  bool has_slices() const { return has_slices_; }

 private:
  class Matcher;
  RuleSet();
  void find_changes();
  void prepare_charges();
  static void prepare_companions(CompiledRule& rule);

  RuleSetOrigin origin_;
  std::vector<CompiledRule> rules_;
  std::vector<TimePoint> changes_;  // when overrides end, and counts in new windows are complete, ascending
  bool is_plain_ = false;
  bool denies_unmatched_ = false;
  bool has_local_limits_ = false;
  bool has_hidden_ = false;
  bool has_several_windows_ = false;
  bool has_leases_ = false;
  bool has_max_subjects_ = false;
  bool has_quotas_ = false;
  bool has_protection_ = false;
  bool has_distinct_ = false;
  bool has_penalties_ = false;
  bool has_candidates_ = false;
  bool has_slices_ = false;
  bool has_auto_limits_ = false;
  std::unique_ptr<const SheddingClasses> shedding_;
  std::vector<std::uint32_t> lease_rules_;  // indexes of rules that give leases
  std::unique_ptr<const Matcher> matcher_;  // the compiled conditions, plans, overrides and cost models of rules_
};

}  // namespace weir::rules
