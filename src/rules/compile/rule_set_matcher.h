// RuleSet::Matcher: the compiled form of a rule set. Private to rule_set.cc and explanation.cc.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "rules/compile/allowance_choice.h"
#include "rules/compile/compiled_cost.h"
#include "rules/compile/conditions.h"
#include "rules/compile/descriptor_tree.h"
#include "rules/compile/name_table.h"
#include "rules/compile/request_view.h"
#include "rules/compile/rule_set.h"
#include "rules/compile/value_index.h"

namespace weir::rules {

class RuleSet::Matcher {
 public:
  // `rules` must be checked, and must outlive the matcher at the same address. Fills their `per`. `counters` may be
  // null; they, too, outlive the matcher.
  Matcher(std::vector<CompiledRule>& rules, MatchIssueCounters* counters);

  MatchIssues match(const RequestView& view, TimePoint now, Matches& matches) const;
  RuleExplanation explain(std::size_t rule, const RequestView& view, TimePoint now) const;
  RequestView resolve(const Request& request, ResolvedNames& resolved) const {
    assert(request.attributes.size() <= kMaxAttributes);
    std::uint64_t carried = 0;
    for (std::size_t i = 0; i < request.attributes.size(); ++i) {
      const NameId id = names_.find(request.attributes[i].name);
      resolved.ids[i] = id;
      if (id < rule_names_) carried |= name_bit(id);
    }
    resolved.carried = carried;
    return {request, resolved.ids, carried};
  }
  // For others who look at the names of requests, to add theirs. They are in no RequestView::carried.
  NameTable& names() { return names_; }
  void find_replaced(std::span<const Request> requests, std::span<bool> replaced) const;

 private:
  // One rule's parts. The condition that the rule is filed under comes last: it is true for every request that finds
  // the rule through the index.
  struct Parts {
    std::uint64_t needs = 0;    // name_bit of attributes without which the rule cannot apply
    std::uint64_t subject = 0;  // those of them that are in `per`
    const Allowance* own =
        nullptr;  // set for a plain rule: requests that carry what it needs get this, at their own cost
    std::vector<CompiledCondition> conditions;
    std::size_t conditions_to_try = 0;
    int rollout = 100;
    CompiledCost cost;
    AllowanceChoice choice;
  };

  Parts compile(CompiledRule& rule, const Condition* filed);
  const Allowance* plain_allowance(const Parts& parts, const CompiledRule& rule) const;
  void compile_subject(CompiledRule& rule, Parts& parts);
  void compile_replaces();
  bool carries_subject(const CompiledRule& rule, const RequestView& view) const;
  void consider(std::uint32_t rule, const RequestView& view, TimePoint now, Matches& matches,
                MatchIssues& issues) const;
  void look_closer(std::uint32_t rule, const RequestView& view, TimePoint now, Matches& matches,
                   MatchIssues& issues) const;
  std::string joined_names(const std::vector<NameId>& names) const;
  static bool conditions_hold(const Parts& parts, const RequestView& view);
  void note_missing(std::uint32_t rule, const RequestView& view, MatchIssues& issues) const;
  struct Choice {
    Match match;
    AllowanceChoice::Chosen chosen;
  };
  static Choice choose(const Parts& parts, const CompiledRule& rule, const RequestView& view, TimePoint now,
                       MatchIssues& issues);
  static void append_in_order(Matches& matches, const Match& match);
  static void insert_in_order(Matches& matches, const Match& match);

  const std::vector<CompiledRule>& rules_;
  MatchIssueCounters* const counters_;
  NameTable names_;
  std::size_t rule_names_ = 0;                        // the first so many names are those of rules
  std::vector<Parts> parts_;                          // by place in rules_
  ValueIndex index_;                                  // of the rules that have an equality and are not off
  std::vector<std::uint32_t> always_;                 // the others that are not off
  DescriptorTree descriptors_;                        // of the rules that have one, which are in neither of the above
  std::vector<std::vector<std::uint32_t>> replaces_;  // by place in rules_; empty when no rule replaces another
};

}  // namespace weir::rules
