// The checks of the fields of a quota rule: part of the `check` column of rules/read/rule_fields.cc. Reads the time
// zone that a rule names; otherwise pure.
#pragma once

#include <string_view>

#include "rules/compile/rule_check.h"
#include "weir/rule.h"

namespace weir::rules {

// "hour", "day" and so on.
std::string_view period_name(PeriodUnit unit);
// "mon" to "sun". Precondition: 1 to 7.
std::string_view weekday_name(int day);

void check_share(FieldPath field, const Share& share, std::int64_t least, RuleFaults& faults);

// Fields of a quota in a rule that is none, and fields of other rules in a quota.
void check_period(const Rule& rule, RuleFaults& faults);
void check_timezone(const Rule& rule, RuleFaults& faults);
void check_anchor_day(const Rule& rule, RuleFaults& faults);
void check_grace(const Rule& rule, RuleFaults& faults);
void check_overage(const Rule& rule, RuleFaults& faults);
void check_enforcement(const Rule& rule, RuleFaults& faults);
void check_plan_change(const Rule& rule, RuleFaults& faults);
void check_notify(const Rule& rule, RuleFaults& faults);
// Of a quota: what answers when the ledger does not. A part of check_on_store_failure.
void check_quota_policy(const Rule& rule, RuleFaults& faults);

}  // namespace weir::rules
