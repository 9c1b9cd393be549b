// RuleLabels: which of the rules that are loaded have a series of their own in a scrape.
//
// At most kMaxRuleLabels rules have a label, so that neither memory nor a scrape grows with the rules. A rule keeps its
// label as long as it stays loaded; a label that becomes free goes to the first rule of the file that has none. All
// other rules are counted together as rule="other".
//
// update() from one thread at a time; the rest from any. Tables are immutable and shared.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::observe {

inline constexpr std::uint32_t kMaxRuleLabels = 1'000;
inline constexpr std::uint32_t kOtherRule = kMaxRuleLabels;  // the row of all rules without a label

// A rule as decisions name it: RuleOutcome::rule and ordinal.
struct LabelledRule {
  std::string_view id;  // must stay alive
  std::uint32_t ordinal = 0;
  std::string subject = {};         // what it counts by: "tenant+ip", "all"
  std::string_view algorithm = {};  // "token-bucket", "quota"; must stay alive. Empty: not known
  std::uint32_t reasons = 0;        // a bit for each Reason that it may deny for
  bool shares = false;              // newcomers may share a bucket (max_subjects)
};

class RuleLabels {
 public:
  struct Table {
    std::vector<std::uint16_t> rows;  // by ordinal: below kMaxRuleLabels, or kOtherRule
    // By row: which rule has it, as a number that no other rule, and no later turn of the same rule, ever has. 0: free.
    std::array<std::uint32_t, kMaxRuleLabels + 1> tenures{};
    std::array<std::string_view, kMaxRuleLabels + 1> ids{};  // by row
    std::array<std::string, kMaxRuleLabels + 1> subjects;    // by row
    std::array<std::string_view, kMaxRuleLabels + 1> algorithms{};
    std::array<std::uint32_t, kMaxRuleLabels + 1> reasons{};
    std::array<bool, kMaxRuleLabels + 1> shares{};
    std::uint64_t without_label = 0;

    Table() {
      tenures[kOtherRule] = 1;
      ids[kOtherRule] = "other";
      subjects[kOtherRule] = "other";
    }

    std::uint32_t row(std::uint32_t ordinal) const { return ordinal < rows.size() ? rows[ordinal] : kOtherRule; }
  };

  // `loaded` in the order of the file.
  void update(std::span<const LabelledRule> loaded);

  // Grows with every update.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const Table> table() const;

 private:
  std::uint32_t last_tenure_ = 1;  // of update()
  mutable std::mutex mutex_;
  std::shared_ptr<const Table> table_ = std::make_shared<const Table>();  // guarded by mutex_
  std::atomic<std::uint64_t> version_{1};
};

}  // namespace weir::observe
