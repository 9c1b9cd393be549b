// The checks of a rule's fields that are more than a range: the `check` column of rules/read/rule_fields.cc. Pure.
#pragma once

#include "rules/compile/rule_check.h"
#include "weir/rule.h"

namespace weir::rules {

// Parts that several fields have.
void check_conditions(const FieldPath& field, const std::vector<Condition>& conditions, RuleFaults& faults);
void check_change(const Rule& rule, const FieldPath& field, const AllowanceChange& change, RuleFaults& faults,
                  std::string_view expected = "limit, window, burst, queue or unlimited");

// A plan or an override has another window than the rule.
bool changes_window(const Rule& rule);

void check_id(const Rule& rule, RuleFaults& faults);
void check_match(const Rule& rule, RuleFaults& faults);
void check_per(const Rule& rule, RuleFaults& faults);
void check_descriptor(const Rule& rule, RuleFaults& faults);
void check_replaces(const Rule& rule, RuleFaults& faults);
// The rule's own limit, window, burst, queue and buckets, which depend on each other and on the algorithm.
void check_own_numbers(const Rule& rule, RuleFaults& faults);
void check_lease(const Rule& rule, RuleFaults& faults);
void check_count_denied(const Rule& rule, RuleFaults& faults);
// Leases cannot be counted on a node of their own: they could not be renewed and released on the others.
void check_on_store_failure(const Rule& rule, RuleFaults& faults);
void check_cost(const Rule& rule, RuleFaults& faults);
// A rule that denies costs which it cannot read needs limits below the largest cost.
void check_on_bad_cost(const Rule& rule, RuleFaults& faults);
void check_plans(const Rule& rule, RuleFaults& faults);
void check_overrides(const Rule& rule, RuleFaults& faults);
// One that the rule has, or could have.
void check_override(const Rule& rule, const FieldPath& field, const Override& override, RuleFaults& faults);
// One that is added to a rule without faults: distinct, consistency, hot_keys and region need numbers that fit them.
void check_added_override(const Rule& rule, const Override& override, RuleFaults& faults);
void check_message(const Rule& rule, RuleFaults& faults);
void check_static_limit(const Rule& rule, RuleFaults& faults);
void check_max_subjects(const Rule& rule, RuleFaults& faults);
void check_overdraft(const Rule& rule, RuleFaults& faults);
void check_estimate(const Rule& rule, RuleFaults& faults);
void check_on_expiry(const Rule& rule, RuleFaults& faults);
void check_local_limit(const Rule& rule, RuleFaults& faults);
// protection_checks.cc
void check_on_exceed(const Rule& rule, RuleFaults& faults);
void check_penalty(const Rule& rule, RuleFaults& faults);
void check_distinct(const Rule& rule, RuleFaults& faults);
void check_candidate(const Rule& rule, RuleFaults& faults);
void check_auto_limit(const Rule& rule, RuleFaults& faults);
// consistency_checks.cc
void check_consistency(const Rule& rule, RuleFaults& faults);
void check_tolerance(const Rule& rule, RuleFaults& faults);
void check_sync_interval(const Rule& rule, RuleFaults& faults);
void check_hot_keys(const Rule& rule, RuleFaults& faults);
// region_rules.cc
void check_region(const Rule& rule, RuleFaults& faults);
void check_on_partition(const Rule& rule, RuleFaults& faults);
void check_home(const Rule& rule, RuleFaults& faults);

}  // namespace weir::rules
