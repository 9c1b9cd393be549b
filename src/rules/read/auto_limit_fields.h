// A rule's `limit`: a number, `unlimited`, or of a concurrency rule `{auto: {min: 2, max: 50}}`. Pure, apart from the
// error list of a FieldAt.
#pragma once

#include "rules/read/field_at.h"
#include "rules/read/yaml_text.h"
#include "weir/rule.h"

namespace weir::rules {

// With `auto` the rule's mode becomes shadow, unless a field that is read later says otherwise.
void read_rule_limit(const FieldAt& at, Rule& rule);
YamlText write_rule_limit(const Rule& rule);

}  // namespace weir::rules
