// The fields of `shedding` in a rules file: read, written and documented, as in rule_fields.h. Pure, apart from the
// error list of a FieldAt.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "rules/read/rule_fields.h"
#include "weir/rule.h"

namespace weir::rules {

// The map itself, what is in `capacity`, and a class.
std::span<const Field<Shedding>> shedding_fields();
std::span<const Field<Shedding>> capacity_fields();
std::span<const Field<SheddingClass>> shedding_class_fields();

// Reads and checks. `shedding` must be empty: only one file of a folder may have it.
void read_shedding(const FieldAt& at, std::optional<Shedding>& shedding);
YamlText write_shedding(const Shedding& shedding);

}  // namespace weir::rules
