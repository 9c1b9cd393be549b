#include "engine/stages/blocks.h"

namespace weir::engine {

const Block* find_block(const ActiveRules& rules, const Request& request, Action action, TimePoint wall) {
  if (rules.intake->blocks == nullptr || (action != Action::take && action != Action::peek)) return nullptr;
  return rules.intake->blocks->find(request, wall);
}

void refuse_blocked(const Request& request, Decision& decision) {
  decision.allowed = false;
  decision.reason = Reason::blocked;
  decision.cost = request.cost.units;
  decision.source = "block";
}

}  // namespace weir::engine
