#include "engine/stages/local_limit.h"

#include <algorithm>

#include "engine/stages/inline_call.h"

namespace weir::engine {
namespace {

// The store may hold a bucket of the rule itself (on_store_failure: local). A keyed hash with some of its bits
// inverted is still one, so no caller can make the two equal.
constexpr std::uint64_t kCapBits = 0x6c6f'6361'6c63'6170;  // "localcap"

bool waits_longer(const ChargeOutcome& a, const ChargeOutcome& b) {
  if (a.too_large != b.too_large) return a.too_large;
  return a.retry_after > b.retry_after;
}

}  // namespace

LocalLimits::Answer LocalLimits::ask(const Check& check, Action action, const Reading& at) {
  InlineVector<Charge, 8> charges;
  InlineVector<std::uint32_t, 8> index;
  for (std::size_t i = 0; i < check.deciding(); ++i) {
    const rules::Match& match = check.match_of(i);
    const rules::CompiledRule& rule = *match.rule;
    if (!rule.local_limit || match.mode != Mode::enforce) continue;
    Charge charge = check.charges()[i];
    charge.key = check.subject_of(i);
    charge.key.high ^= kCapBits;
    charge.allowance = &*rule.local_limit;
    charge.count_denied = false;
    charge.value = 0;
    charge.kind = ChargeKind::bucket;
    charge.number = charge.max_subjects = 0;
    charges.push_back(charge);
    index.push_back(static_cast<std::uint32_t>(i));
  }
  Answer answer;
  if (charges.empty()) return answer;

  InlineVector<ChargeOutcome, 8> outcomes;
  outcomes.resize(charges.size());
  InlineCall call(action, at, {charges.data(), charges.size()}, {outcomes.data(), outcomes.size()});
  call.ask(store_);
  const bool room = std::all_of(call.outcomes.begin(), call.outcomes.end(),
                                [](const ChargeOutcome& outcome) { return outcome.status == Code::ok; });
  if (!room || (action != Action::take && action != Action::peek)) return answer;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (outcomes[i].admitted || (answer.denied && !waits_longer(outcomes[i], answer.outcome))) continue;
    answer.denied = index[i];
    answer.outcome = outcomes[i];
  }
  answer.taken = action == Action::take && !answer.denied;
  if (action == Action::take && answer.denied) denials_.fetch_add(1, std::memory_order_relaxed);
  return answer;
}

}  // namespace weir::engine
