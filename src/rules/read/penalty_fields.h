// The fields of a rule's `penalty` and `candidate`: read, written and documented, as in rule_fields.h. Pure, apart from
// the error list of a FieldAt.
#pragma once

#include <optional>
#include <span>

#include "rules/read/rule_fields.h"
#include "weir/rule.h"

namespace weir::rules {

std::span<const Field<Penalty>> penalty_fields();

void read_penalty(const FieldAt& at, std::optional<Penalty>& penalty);
YamlText write_penalty(const Penalty& penalty);

// Numbers as in a plan.
void read_candidate(const FieldAt& at, std::optional<AllowanceChange>& candidate);
YamlText write_candidate(const AllowanceChange& candidate);

}  // namespace weir::rules
