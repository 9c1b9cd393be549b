// DecisionCounters: what one event loop decided, counted at the price of a few plain stores.
//
// One writer (the loop that owns it) and any number of readers. A count is a relaxed load and a relaxed store, so the
// hot path has no locked instruction and no line shared with another loop; readers see each count whole, and the
// counts of one decision perhaps a moment apart. Rows come in chunks that are allocated when their first rule is
// used and never move.
//
// The rules that have a label (rule_labels.h) have a row each; all others share the row kOtherRule. A row that gets
// another rule begins at zero: the writer empties it at the first decision of the new rule, and until then readers see
// that the row is not that rule's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "observe/charge_counters.h"
#include "observe/rollout_counts.h"
#include "observe/rule_labels.h"
#include "weir/options.h"

namespace weir::observe {

// What one rule said to one check.
enum class Outcome : std::uint8_t {
  allowed,
  denied,
  too_large,      // can never be allowed: the cost cannot fit
  shadow_denied,  // would have been denied, was not
  failed_open,    // the store did not answer, the rule's policy let it pass
  failed_closed,  // the store did not answer, the rule's policy denied
};
inline constexpr std::size_t kOutcomeCount = 6;
std::string_view outcome_name(Outcome outcome);

// An allowed check that leaves less than a fifth of the limit is near it.
inline constexpr std::int64_t kNearLimitShare = 5;

// One for each algorithm, one for outcomes that are not an algorithm's, and one for each other kind of rule.
inline constexpr std::size_t kAlgorithmRows = kAlgorithmCount + 3;
// "token-bucket", …, "none".
std::string_view algorithm_row_name(std::size_t row);

class DecisionCounters final : public Observer {
 public:
  using Counter = std::atomic<std::uint64_t>;

  explicit DecisionCounters(std::shared_ptr<const RuleLabels> labels);
  ~DecisionCounters() override;
  DecisionCounters(const DecisionCounters&) = delete;
  DecisionCounters& operator=(const DecisionCounters&) = delete;

  // On the owning loop only.
  void on_decision(const Decision& decision) override;
  void on_charge(std::string_view space, const ChargeOutcome& outcome) override { charges_.count(space, outcome); }

  // What was counted of one rule.
  struct RuleCounts {
    std::array<std::array<std::uint64_t, kOutcomeCount>, kAlgorithmRows> checks{};
    std::uint64_t near_limit = 0;
    std::array<std::array<std::uint64_t, 2>, kReasonCount> denials{};  // that report it; [1]: of its shared bucket
    std::uint64_t shared = 0;                                          // in the bucket of newcomers beyond max_subjects
  };

  // From any thread. Adds what the row has counted in this tenure (RuleLabels::Table).
  void add_counts(std::uint32_t row, std::uint32_t tenure, RuleCounts& into) const;
  std::uint64_t decisions(Reason reason, bool allowed) const;
  std::uint64_t degraded() const { return degraded_.load(std::memory_order_relaxed); }
  const ChargeCounters& charges() const { return charges_; }
  const RolloutCounts& rollout() const { return rollout_; }

 private:
  struct Row {
    std::atomic<std::uint32_t> tenure{0};  // of what is counted here
    std::array<std::array<Counter, kOutcomeCount>, kAlgorithmRows> checks{};
    Counter near_limit{0};
    std::array<std::array<Counter, 2>, kReasonCount> denials{};
    Counter shared{0};
  };
  static constexpr std::uint32_t kRowsPerChunk = 64;
  static constexpr std::uint32_t kChunks = kOtherRule / kRowsPerChunk + 1;
  struct Chunk {
    std::array<Row, kRowsPerChunk> rows;
  };

  Row& row_of(std::uint32_t ordinal);
  Row& row(std::uint32_t index);
  const Row* row_if_used(std::uint32_t index) const;
  static void empty(Row& row, std::uint32_t tenure);

  const std::shared_ptr<const RuleLabels> labels_;
  std::shared_ptr<const RuleLabels::Table> table_;  // of the owning loop
  std::uint64_t table_version_ = 0;

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};  // owned; set once by the writer
  std::array<std::array<Counter, 2>, kReasonCount> decisions_{};
  Counter degraded_{0};
  ChargeCounters charges_;
  RolloutCounts rollout_;
};

// What was counted on all loops.
RolloutReport rollout_report(const std::vector<const DecisionCounters*>& loops, std::uint32_t ordinal,
                             RolloutCounts::Kind kind);

}  // namespace weir::observe
