#include "engine/stages/candidates.h"

namespace weir::engine {
namespace {

// One window after it was loaded, a bucket that began empty has seen all that counts.
CandidateVerdict verdict_of(const rules::CompiledRule& rule, const ChargeOutcome& outcome, TimePoint wall) {
  if (outcome.status != Code::ok) return CandidateVerdict::none;
  if (wall - rule.candidate_since < rule.candidate->window) return CandidateVerdict::warming;
  return outcome.admitted ? CandidateVerdict::allows : CandidateVerdict::denies;
}

}  // namespace

void judge_candidates(const Check& check, bool answered, TimePoint wall, Decision& decision) {
  std::size_t charge = 0;
  for (RuleOutcome& rule : decision.rules) {
    rule.candidate = CandidateVerdict::none;  // a prepared check's decision may have that of the last time
    if (rule.unlimited) continue;
    const std::size_t of = charge++;
    if (!answered || rule.penalized) continue;
    for (std::size_t i = check.charges().size(); i > check.deciding() && check.charges()[i - 1].candidate; --i) {
      if (check.charges()[i - 1].of != of) continue;
      rule.candidate = verdict_of(*check.match_of(of).rule, check.outcomes()[i - 1], wall);
    }
  }
}

}  // namespace weir::engine
