// FallbackTimes: since when the store has not answered for a rule, and its failure policy has.
//
// A spell begins with the first charge that the store does not answer, and ends when it answers one after kSettled
// without a failure: a store that answers now and then is not back. A rule without requests does not notice the
// store, so a spell also ends after a time without a failure (quiet_after): what follows is another spell.
//
// Shared by the engines of a process. Thread-safe and lock-free; while no rule is in a spell, a check costs one load.
// Slots come in chunks that are allocated at the first failure of a rule in them, and never move.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "rules/compile/rule_names.h"
#include "weir/time.h"

namespace weir::engine {

class FallbackTimes {
 public:
  static constexpr Duration kSettled = std::chrono::seconds(5);

  FallbackTimes() = default;
  ~FallbackTimes();
  FallbackTimes(const FallbackTimes&) = delete;
  FallbackTimes& operator=(const FallbackTimes&) = delete;

  // How long a rule may be without a failure before its spell is over, by how long its first policy answers.
  static Duration quiet_after(std::optional<Duration> term) {
    return std::max(kSettled, term.value_or(std::chrono::minutes(1)));
  }

  // The store did not answer for the rule. How long the spell has lasted; 0: it begins.
  Duration failed(std::uint32_t ordinal, TimePoint now, Duration quiet);
  // The store answered for the rule.
  void answered(std::uint32_t ordinal, TimePoint now);
  // How often the store has not answered for the rule in its spell, or in the last one if it has ended.
  std::uint64_t failures(std::uint32_t ordinal) const;
  // Some rule is in a spell.
  bool any() const { return spells_.load(std::memory_order_relaxed) > 0; }

  struct Spell {
    std::uint32_t ordinal = 0;
    TimePoint since;
    TimePoint last_failure;
  };
  // By ordinal. Not one moment's picture while checks are running.
  std::vector<Spell> spells() const;
  // Ends a spell: the rule is no longer loaded, or has been quiet for too long.
  void forget(std::uint32_t ordinal);

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  static constexpr std::uint32_t kSlots = 1'024;
  static constexpr std::uint32_t kChunks = rules::kMaxRuleNames / kSlots + 1;
  struct Slot {
    std::atomic<std::int64_t> since_us{kNone};
    std::atomic<std::int64_t> last_failure_us{kNone};
    std::atomic<std::uint64_t> failures{0};
  };
  using Chunk = std::array<Slot, kSlots>;

  Slot& slot(std::uint32_t ordinal);
  Slot* slot_if_used(std::uint32_t ordinal) const;
  void end(Slot& slot, std::int64_t since_us);

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};  // owned; each set once
  std::atomic<std::int64_t> spells_{0};
};

}  // namespace weir::engine
