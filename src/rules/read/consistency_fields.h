// The fields of a rule about a store that several nodes share: read from a file and turned into YAML. Used by the table
// in rule_fields.cc.
#pragma once

#include <optional>

#include "rules/read/field_at.h"
#include "rules/read/yaml_text.h"
#include "weir/rule.h"

namespace weir::rules {

void read_consistency(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_consistency(const Rule& rule);

// Units, or percent of the capacity.
void read_tolerance(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_tolerance(const Rule& rule);

void read_sync_interval(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_sync_interval(const Rule& rule);

// `show`, `lease` or `off`.
void read_hot_keys(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_hot_keys(const Rule& rule);

void read_hash_tag(const FieldAt& at, Rule& rule);
std::optional<YamlText> write_hash_tag(const Rule& rule);

}  // namespace weir::rules
