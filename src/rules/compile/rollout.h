// Gradual rollout: whether a subject belongs to the first N percent of a rule.
//
// The same on every node and after every restart, so the hash has no key; raising the percentage only ever adds
// subjects. Different rules take different subjects first.
#pragma once

#include "rules/compile/request_view.h"

namespace weir::rules {

// 0 to 99. Precondition: the request carries the rule's subject.
int rollout_place(const CompiledRule& rule, const RequestView& view);

}  // namespace weir::rules
