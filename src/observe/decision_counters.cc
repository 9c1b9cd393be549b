#include "observe/decision_counters.h"

#include <cassert>
#include <utility>

namespace weir::observe {
namespace {

constexpr std::size_t kNoAlgorithm = kAlgorithmCount;
constexpr ChargeKind kKindRows[] = {ChargeKind::lease, ChargeKind::quota};  // after it

std::size_t row_of_outcome(const RuleOutcome& rule) {
  for (std::size_t i = 0; i < std::size(kKindRows); ++i) {
    if (rule.kind == kKindRows[i]) return kNoAlgorithm + 1 + i;
  }
  return rule.algorithm ? static_cast<std::size_t>(*rule.algorithm) : kNoAlgorithm;
}

void increment(DecisionCounters::Counter& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

Outcome outcome_of(const RuleOutcome& rule) {
  if (rule.store_failed) return rule.allowed ? Outcome::failed_open : Outcome::failed_closed;
  if (rule.allowed) return Outcome::allowed;
  if (rule.mode == Mode::shadow) return Outcome::shadow_denied;
  return rule.too_large && rule.limit > 0 ? Outcome::too_large : Outcome::denied;
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

std::string_view algorithm_row_name(std::size_t row) {
  if (row > kNoAlgorithm) return charge_kind_name(kKindRows[row - kNoAlgorithm - 1]);
  return row == kNoAlgorithm ? "none" : algorithm_name(static_cast<Algorithm>(row));
}

DecisionCounters::DecisionCounters(std::shared_ptr<const RuleLabels> labels) : labels_(std::move(labels)) {}

DecisionCounters::~DecisionCounters() {
  for (std::atomic<Chunk*>& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

void DecisionCounters::on_decision(const Decision& decision) {
  increment(decisions_[static_cast<std::size_t>(decision.reason)][decision.allowed ? 1 : 0]);
  if (decision.degraded) increment(degraded_);
  if (const RuleOutcome* const denying = decision.allowed ? nullptr : decision.decisive()) {
    increment(row_of(denying->ordinal).denials[static_cast<std::size_t>(decision.reason)][denying->shared ? 1 : 0]);
  }
  for (const RuleOutcome& rule : decision.rules) {
    Row& counts = row_of(rule.ordinal);
    increment(counts.checks[row_of_outcome(rule)][static_cast<std::size_t>(outcome_of(rule))]);
    // Of a quota nothing is known if another rule has denied: the ledger was not asked.
    if (is_near_limit(rule) && (decision.allowed || rule.kind != ChargeKind::quota)) increment(counts.near_limit);
    if (rule.shared) [[unlikely]]
      increment(counts.shared);
    if (rule.candidate != CandidateVerdict::none || rule.mode == Mode::shadow) [[unlikely]]
      rollout_.note(decision, rule);
  }
}

void DecisionCounters::add_counts(std::uint32_t index, std::uint32_t tenure, RuleCounts& into) const {
  const Row* counts = row_if_used(index);
  if (counts == nullptr || counts->tenure.load(std::memory_order_acquire) != tenure) return;
  RuleCounts read;
  for (std::size_t a = 0; a < read.checks.size(); ++a) {
    for (std::size_t o = 0; o < kOutcomeCount; ++o) {
      read.checks[a][o] = counts->checks[a][o].load(std::memory_order_relaxed);
    }
  }
  for (std::size_t r = 0; r < kReasonCount; ++r) {
    for (std::size_t s = 0; s < 2; ++s) read.denials[r][s] = counts->denials[r][s].load(std::memory_order_relaxed);
  }
  read.shared = counts->shared.load(std::memory_order_relaxed);
  read.near_limit = counts->near_limit.load(std::memory_order_relaxed);
  // Another rule may have got the row meanwhile; then these counts belong to no rule.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (counts->tenure.load(std::memory_order_relaxed) != tenure) return;
  for (std::size_t a = 0; a < read.checks.size(); ++a) {
    for (std::size_t o = 0; o < kOutcomeCount; ++o) into.checks[a][o] += read.checks[a][o];
  }
  into.near_limit += read.near_limit;
  into.shared += read.shared;
  for (std::size_t r = 0; r < kReasonCount; ++r) {
    for (std::size_t s = 0; s < 2; ++s) into.denials[r][s] += read.denials[r][s];
  }
}

std::uint64_t DecisionCounters::decisions(Reason reason, bool allowed) const {
  return decisions_[static_cast<std::size_t>(reason)][allowed ? 1 : 0].load(std::memory_order_relaxed);
}

DecisionCounters::Row& DecisionCounters::row_of(std::uint32_t ordinal) {
  if (const std::uint64_t version = labels_->version(); version != table_version_) [[unlikely]] {
    table_ = labels_->table();
    table_version_ = version;
  }
  const std::uint32_t index = table_->row(ordinal);
  Row& counts = row(index);
  const std::uint32_t tenure = table_->tenures[index];
  if (counts.tenure.load(std::memory_order_relaxed) != tenure) [[unlikely]]
    empty(counts, tenure);
  return counts;
}

// In an order that lets a reader notice: no rule's, zeros, the new rule's.
void DecisionCounters::empty(Row& row, std::uint32_t tenure) {
  row.tenure.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (auto& outcomes : row.checks) {
    for (Counter& counter : outcomes) counter.store(0, std::memory_order_relaxed);
  }
  row.near_limit.store(0, std::memory_order_relaxed);
  row.shared.store(0, std::memory_order_relaxed);
  for (auto& of_reason : row.denials) {
    for (Counter& counter : of_reason) counter.store(0, std::memory_order_relaxed);
  }
  row.tenure.store(tenure, std::memory_order_release);
}

DecisionCounters::Row& DecisionCounters::row(std::uint32_t index) {
  std::atomic<Chunk*>& slot = chunks_[index / kRowsPerChunk];
  Chunk* chunk = slot.load(std::memory_order_relaxed);
  if (chunk == nullptr) [[unlikely]] {
    chunk = new Chunk();
    slot.store(chunk, std::memory_order_release);  // readers must not see the pointer before the zeros behind it
  }
  return chunk->rows[index % kRowsPerChunk];
}

const DecisionCounters::Row* DecisionCounters::row_if_used(std::uint32_t index) const {
  assert(index <= kOtherRule);
  const Chunk* chunk = chunks_[index / kRowsPerChunk].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk->rows[index % kRowsPerChunk];
}

RolloutReport rollout_report(const std::vector<const DecisionCounters*>& loops, std::uint32_t ordinal,
                             RolloutCounts::Kind kind) {
  RolloutReport report;
  for (const DecisionCounters* loop : loops) loop->rollout().add_to(report, ordinal, kind);
  finish_report(report);
  return report;
}

}  // namespace weir::observe
