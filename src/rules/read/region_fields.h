// The fields of a rule about its regions: read from a file and turned into YAML. Used by the table in rule_fields.cc.
#pragma once

#include <optional>

#include "rules/read/field_at.h"
#include "rules/read/yaml_text.h"
#include "weir/rule.h"

namespace weir::rules {

// `none`, `slices`, `reconcile` or `central`.
void read_region(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_region(const Rule& rule);

// `hold` or `continue`.
void read_on_partition(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_on_partition(const Rule& rule);

void read_home(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_home(const Rule& rule);

}  // namespace weir::rules
