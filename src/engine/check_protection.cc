// The charges of rules that are more than a limit: values that are counted once, penalties, candidates.
#include <algorithm>

#include "engine/check.h"

namespace weir::engine {
namespace {

using keys::KeyEncoder;
using keys::SipHash;

// Keys that differ from their bucket's in bits that say nothing of its place in memory, so that they are beside it.
constexpr std::uint64_t kNotOfThePlace = ~std::uint64_t{0} >> 10;
constexpr std::uint64_t kPenaltyBits = 0x70656e616c747921 & kNotOfThePlace;
constexpr std::uint64_t kCandidateBits = 0x63616e6469646174 & kNotOfThePlace;

// What a charge has in common with those that only accompany it. They are made from the rule's, not copied from it: a
// copy of what was just written waits for it.
class Accompanied {
 public:
  Accompanied(const Charge& charge, std::size_t place)
      : tag_high_(charge.tag.high),
        tag_low_(charge.tag.low),
        allowance_(charge.allowance),
        cost_(charge.cost),
        value_(charge.value),
        place_(static_cast<std::uint8_t>(std::min(place, kMaxCharges))) {}

  // Precondition: a copy of CompiledRule::charge.
  void fill(Charge& companion, const BucketKey& key) const {
    companion.key.high = key.high;
    companion.key.low = key.low;
    companion.tag.high = tag_high_;
    companion.tag.low = tag_low_;
    companion.allowance = allowance_;
    companion.cost = cost_;
    companion.value = value_;
    companion.of = place_;
    companion.binding = false;
    companion.number = companion.max_subjects = 0;
    companion.slices = nullptr;
  }

 private:
  std::uint64_t tag_high_;
  std::uint64_t tag_low_;
  const Allowance* allowance_;
  std::int64_t cost_;
  std::uint64_t value_;
  std::uint8_t place_;
};

}  // namespace

void Check::protect(const Request& request, const rules::ResolvedNames& names, const ActiveRules& rules) {
  count_values(request, names, rules);
  add_penalties();
  add_candidates();
}

// A value is counted, whatever the request costs.
void Check::count_values(const Request& request, const rules::ResolvedNames& names, const ActiveRules& rules) {
  constexpr unsigned kUnusedBits = 64 - 52;  // stores tell values apart by 52 bits
  std::size_t charge = 0;
  for (rules::Match& match : matches_) {
    if (match.allowance == nullptr) continue;
    if (match.rule->distinct) {
      SipHash hash = rules.seed(*match.rule);
      for (std::size_t i = 0; i < request.attributes.size(); ++i) {
        if (names.ids[i] == *match.rule->distinct) KeyEncoder::add_value(hash, request.attributes[i].value);
      }
      match.cost = std::min<std::int64_t>(match.cost, 1);
      charges_[charge].cost = match.cost;
      charges_[charge].value = std::max<std::uint64_t>(1, hash.finish().high >> kUnusedBits);
    }
    ++charge;
  }
}

void Check::add_penalties() {
  std::size_t next = 0;
  for (const rules::Match& match : matches_) {
    if (match.allowance == nullptr) continue;
    const std::size_t i = next++;
    const std::optional<Penalty>& penalty = match.rule->source.penalty;
    if (!penalty) continue;
    charges_[i].penalty = &*penalty;
    const BucketKey subject = subject_of(i);
    const Accompanied accompanied(charges_[i], i);
    Charge& guard = charges_.append(match.rule->charge);
    accompanied.fill(guard, {subject.high ^ kPenaltyBits, subject.low});
    guard.kind = ChargeKind::penalty;
    guard.penalty = &*penalty;
    guard.cost = 0;
    guard.value = 0;
    guard.count_denied = false;
    outcomes_.append();
  }
}

BucketKey Check::candidate_key(const BucketKey& subject) { return {subject.high ^ kCandidateBits, subject.low}; }

// Only the rule's own numbers have a candidate: those of a plan or an override were chosen for someone.
void Check::add_candidates() {
  std::size_t next = 0;
  for (const rules::Match& match : matches_) {
    if (match.allowance == nullptr) continue;
    const std::size_t i = next++;
    const rules::CompiledRule& rule = *match.rule;
    if (!rule.candidate || charges_[i].allowance != rule.own) continue;
    const BucketKey subject = subject_of(i);
    const Accompanied accompanied(charges_[i], i);
    Charge& charge = charges_.append(rule.charge);
    accompanied.fill(charge, candidate_key(subject));
    charge.allowance = &*rule.candidate;
    charge.candidate = true;
    outcomes_.append();
  }
}

void Check::use_adaptive_limits(AdaptiveLimits& limits) {
  std::size_t charge = 0;
  for (rules::Match& match : matches_) {
    if (match.allowance == nullptr) continue;
    Charge& charged = charges_[charge++];
    const rules::CompiledRule& rule = *match.rule;
    if (rule.adapted.empty() || charged.allowance != rule.own) continue;
    const std::int64_t limit = limits.limit(rule.name.id, charged.key, *rule.source.auto_limit);
    match.allowance = &rule.adapted[static_cast<std::size_t>(limit - rule.source.auto_limit->min)];
    if (charged.binding) charged.allowance = match.allowance;
  }
}

void Check::drop_candidates() {
  std::size_t kept = charges_.size();
  while (kept > deciding_ && charges_[kept - 1].candidate) --kept;
  charges_.resize(kept);
  outcomes_.resize(kept);
}

// A success clears the buckets of rules that ask for a challenge.
void Check::prepare_report(bool success) {
  for (std::size_t i = 0; i < charges_.size(); ++i) {
    const std::size_t deciding = charges_[i].candidate ? charges_[i].of : i;
    const bool clears = success && charges_[i].kind == ChargeKind::bucket && deciding < deciding_ &&
                        match_of(deciding).rule->source.on_exceed == OnExceed::challenge;
    charges_[i].cost = clears ? 1 : 0;
  }
}

}  // namespace weir::engine
