// RolloutCounts: what candidate numbers of rules (Rule::candidate), and rules in shadow mode, would have changed: how
// many requests, and which subjects most. One for each event loop, whose decisions it sees; reports are added up.
//
// A request counts as treated differently only if the answer would have been another one: the other enforced rules
// admit it. A candidate whose numbers change warms up again, and with that its report starts again.
//
// Bounded: kMaxRules rules, of each the kSubjects subjects that differ most (space-saving: counts may be too high by
// that of the subject which made room). Thread-safe; a lock that is hardly ever contended is taken only for such rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "weir/decision.h"

namespace weir::observe {

struct RolloutSubject {
  BucketKey key;
  bool shared = false;
  std::uint64_t would_deny = 0;
  std::uint64_t would_allow = 0;

  std::uint64_t differs() const { return would_deny + would_allow; }
};

struct RolloutReport {
  TimePoint since{};           // the first request that it judged; epoch: none so far
  std::uint64_t requests = 0;  // judged, without those while it was warming up
  std::uint64_t warming = 0;
  std::uint64_t would_deny = 0;          // and pass now
  std::uint64_t would_allow = 0;         // and are denied now
  std::vector<RolloutSubject> subjects;  // those that differ most first
};

class RolloutCounts {
 public:
  static constexpr std::size_t kMaxRules = 256;
  static constexpr std::size_t kSubjects = 64;
  static constexpr std::size_t kShown = 20;
  enum class Kind : std::uint8_t { candidate, shadow };

  // Of a rule of this decision that has a candidate or is in shadow mode.
  void note(const Decision& decision, const RuleOutcome& rule);
  // Adds what was counted of the rule with this ordinal.
  void add_to(RolloutReport& report, std::uint32_t ordinal, Kind kind) const;

 private:
  void note_candidate(const Decision& decision, const RuleOutcome& rule);
  void note_shadow(const Decision& decision, const RuleOutcome& rule);
  RolloutReport* find(std::uint32_t ordinal, Kind kind);

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, RolloutReport> rules_;  // guarded by mutex_; by ordinal and kind
};

// Sorts, and keeps the kShown that differ most.
void finish_report(RolloutReport& report);

}  // namespace weir::observe
