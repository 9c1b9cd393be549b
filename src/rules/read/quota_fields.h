// The fields of a quota rule: read from a file and turned into YAML. Used by the table in rule_fields.cc.
#pragma once

#include <optional>
#include <string_view>

#include "rules/read/field_at.h"
#include "rules/read/yaml_text.h"
#include "weir/rule.h"

namespace weir::rules {

// Fields that only quota rules have.
bool is_quota_field(std::string_view name);

void read_period(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_period(const Rule& rule);

// A day of the month, or `mon` to `sun` with period: week.
void read_anchor_day(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_anchor_day(const Rule& rule);

// A number of units, or percent.
void read_share(const FieldAt& at, std::int64_t least, Share& share);
YamlText write_share(const Share& share);

// `refuse` or `record`.
void read_overage(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_overage(const Rule& rule);

void read_enforcement(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_enforcement(const Rule& rule);

void read_plan_change(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_plan_change(const Rule& rule);

// One threshold or a list.
void read_notify(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_notify(const Rule& rule);

}  // namespace weir::rules
