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

}  // namespace

void Check::protect(const Request& request, const rules::ResolvedNames& names, const ActiveRules& rules) {
  if (rules.set->has_distinct()) count_values(request, names, rules);
  if (rules.set->has_penalties()) add_penalties();
  if (rules.set->has_candidates()) add_candidates();
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

// A charge that only accompanies the deciding charge `of`: made from what the rule has prepared, and from what differs
// between requests. `bits`: of its key.
[[gnu::always_inline]] inline Charge& Check::accompany(std::size_t of, const Charge& prepared, std::uint64_t bits) {
  // One word at a time: what was just written in halves cannot be read whole without waiting for it.
  const BucketKey subject = subject_of(of);
  const std::uint64_t tag_high = charges_[of].tag.high;
  const std::uint64_t tag_low = charges_[of].tag.low;
  outcomes_.append();
  Charge& companion = charges_.append(prepared);
  companion.key.high = subject.high ^ bits;
  companion.key.low = subject.low;
  companion.tag.high = tag_high;
  companion.tag.low = tag_low;
  companion.of = static_cast<std::uint8_t>(std::min(of, kMaxCharges));
  return companion;
}

void Check::add_penalties() {
  std::size_t next = 0;
  for (const rules::Match& match : matches_) {
    if (match.allowance == nullptr) continue;
    const std::size_t i = next++;
    const Charge& prepared = match.rule->penalty_charge;
    if (prepared.penalty == nullptr) continue;
    charges_[i].penalty = prepared.penalty;
    accompany(i, prepared, kPenaltyBits).allowance = match.allowance;
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
    if (!rule.candidate || match.allowance != rule.own) continue;
    const std::uint64_t value = charges_[i].value;
    Charge& charge = accompany(i, rule.candidate_charge, kCandidateBits);
    charge.cost = match.cost;
    charge.value = value;
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

void Check::note_work(AdaptiveLimits& limits, Duration took, bool succeeded, TimePoint now) const {
  std::size_t charge = 0;
  for (const rules::Match& match : matches_) {
    if (match.allowance == nullptr) continue;
    const Charge& charged = charges_[charge++];
    const rules::CompiledRule& rule = *match.rule;
    if (rule.adapted.empty() || charged.allowance != rule.own) continue;
    limits.reported(rule.name.id, charged.key, *rule.source.auto_limit, took, succeeded, now);
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
