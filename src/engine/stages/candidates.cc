#include "engine/stages/candidates.h"

namespace weir::engine {
namespace {

// One window after it was loaded, a bucket that began empty has seen all that counts.
CandidateVerdict verdict_of(const rules::CompiledRule& rule, const ChargeOutcome& outcome, TimePoint wall) {
  if (outcome.status != Code::ok) return CandidateVerdict::none;
  if (wall - rule.candidate_since < rule.candidate->window) return CandidateVerdict::warming;
  return outcome.admitted ? CandidateVerdict::allows : CandidateVerdict::denies;
}

// Where the rule of a deciding charge is among those of the decision. Unlimited ones have no charge.
std::size_t place_of(std::size_t charge, const Check& check, const Decision& decision) {
  if (decision.rules.size() == check.deciding()) [[likely]]
    return charge;
  std::size_t place = 0;
  for (std::size_t limited = 0; decision.rules[place].unlimited || limited++ < charge;) ++place;
  return place;
}

}  // namespace

void judge_candidates(const Check& check, bool answered, TimePoint wall, Decision& decision) {
  // A prepared check's decision may have those of the last time.
  for (RuleOutcome& rule : decision.rules) rule.candidate = CandidateVerdict::none;
  if (!answered) return;
  const std::span<const Charge> charges = check.charges();
  for (std::size_t i = charges.size(); i > check.deciding() && charges[i - 1].candidate; --i) {
    const std::size_t place = place_of(charges[i - 1].of, check, decision);
    RuleOutcome& rule = decision.rules[place];
    if (rule.penalized) continue;
    rule.candidate = verdict_of(*check.matches()[place].rule, check.outcomes()[i - 1], wall);
  }
}

}  // namespace weir::engine
