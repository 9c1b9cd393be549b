// The answer of `weir rules estimate --scale`: a plan for many nodes and regions, for people and for machines.
#pragma once

#include <iosfwd>

#include "cli/terminal.h"
#include "scale/deployment.h"

namespace weir::cli {

void show_plan(const scale::Plan& plan, const Terminal& terminal);
void show_plan_json(const scale::Plan& plan, std::ostream& out);

}  // namespace weir::cli
