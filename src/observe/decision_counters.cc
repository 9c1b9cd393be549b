#include "observe/decision_counters.h"

#include <algorithm>
#include <cassert>

namespace weir::observe {
namespace {

void increment(DecisionCounters::Counter& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

Outcome outcome_of(const RuleOutcome& rule) {
  if (rule.store_failed) return rule.allowed ? Outcome::failed_open : Outcome::failed_closed;
  if (rule.allowed) return Outcome::allowed;
  if (rule.mode == Mode::shadow) return Outcome::shadow_denied;
  return rule.too_large ? Outcome::too_large : Outcome::denied;
}

bool is_near_limit(const RuleOutcome& rule) {
  return rule.allowed && !rule.unlimited && !rule.store_failed && rule.remaining * kNearLimitShare < rule.limit;
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  constexpr std::string_view kNames[kOutcomeCount] = {"allowed",       "denied",      "too_large",
                                                      "shadow_denied", "failed_open", "failed_closed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

DecisionCounters::~DecisionCounters() {
  for (std::atomic<Chunk*>& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

void DecisionCounters::on_decision(const Decision& decision) {
  increment(decisions_[static_cast<std::size_t>(decision.reason)][decision.allowed ? 1 : 0]);
  if (decision.degraded) increment(degraded_);
  for (const RuleOutcome& rule : decision.rules) {
    Row& counts = row(std::min(rule.ordinal, kOtherRule));
    increment(counts.checks[static_cast<std::size_t>(rule.algorithm)][static_cast<std::size_t>(outcome_of(rule))]);
    if (is_near_limit(rule)) increment(counts.near_limit);
  }
}

std::uint64_t DecisionCounters::checks(std::uint32_t rule, Algorithm algorithm, Outcome outcome) const {
  const Row* counts = row_if_used(rule);
  if (counts == nullptr) return 0;
  return counts->checks[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(outcome)].load(
      std::memory_order_relaxed);
}

std::uint64_t DecisionCounters::near_limit(std::uint32_t rule) const {
  const Row* counts = row_if_used(rule);
  return counts == nullptr ? 0 : counts->near_limit.load(std::memory_order_relaxed);
}

std::uint64_t DecisionCounters::decisions(Reason reason, bool allowed) const {
  return decisions_[static_cast<std::size_t>(reason)][allowed ? 1 : 0].load(std::memory_order_relaxed);
}

DecisionCounters::Row& DecisionCounters::row(std::uint32_t rule) {
  std::atomic<Chunk*>& slot = chunks_[rule / kRowsPerChunk];
  Chunk* chunk = slot.load(std::memory_order_relaxed);
  if (chunk == nullptr) [[unlikely]] {
    chunk = new Chunk();
    slot.store(chunk, std::memory_order_release);  // readers must not see the pointer before the zeros behind it
  }
  return chunk->rows[rule % kRowsPerChunk];
}

const DecisionCounters::Row* DecisionCounters::row_if_used(std::uint32_t rule) const {
  assert(rule <= kOtherRule);
  const Chunk* chunk = chunks_[rule / kRowsPerChunk].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk->rows[rule % kRowsPerChunk];
}

}  // namespace weir::observe
