// RequestCounters: what one event loop decided, by the request's action, by tenant for a configured list of them, and
// how much was left of each rule, of a sample.
//
// One writer (the loop that owns it) and any number of readers, at the price of DecisionCounters: plain loads and
// stores. Labels are bounded: the first kMaxActions actions that were seen have a row each and all later ones share
// one; tenants are those of the list, and everyone else is counted together.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/metrics.h"
#include "observe/rule_labels.h"
#include "weir/options.h"

namespace weir::observe {

class RequestCounters final : public RequestObserver {
 public:
  static constexpr std::size_t kMaxActions = 100;
  static constexpr std::size_t kMaxActionBytes = 128;
  static constexpr std::size_t kMaxTenants = 100;
  static constexpr std::uint32_t kSampled = 16;  // one decision in so many is in the histogram

  // Precondition: at most kMaxTenants.
  RequestCounters(std::shared_ptr<const RuleLabels> labels, const std::vector<std::string>& tenants);

  Scope scope() const override { return Scope::every_decision; }
  // On the owning loop only.
  void on_decision(const Decision& decision, const RequestContext& context) override;

 private:
  friend void add_request_counts(const std::vector<std::shared_ptr<RequestCounters>>& loops, const std::string& region,
                                 Facts& facts);

  using Counter = std::atomic<std::uint64_t>;
  using Answers = std::array<Counter, 2>;  // denied, allowed

  static constexpr std::size_t kOther = kMaxActions;     // all later actions
  static constexpr std::size_t kNone = kMaxActions + 1;  // requests without an action
  static constexpr std::size_t kSteps = kRemainingBounds.size() + 1;
  struct Left {
    std::atomic<std::uint32_t> tenure{0};  // of what is counted here
    std::array<Counter, kSteps> counts{};
  };

  std::size_t action_row(const RequestContext& context);
  void sample_left(const Decision& decision);

  const std::shared_ptr<const RuleLabels> labels_;
  const std::vector<std::string> tenants_;
  std::unordered_map<std::string_view, std::size_t> tenant_rows_;  // into tenants_
  std::array<std::string, kMaxActions> actions_;                   // those below used_ stay as they are
  std::atomic<std::size_t> used_{0};
  std::array<Answers, kMaxActions + 2> by_action_{};
  std::vector<Answers> by_tenant_;  // the last one: everyone else
  std::uint32_t tick_ = 0;
  std::shared_ptr<const RuleLabels::Table> table_;  // of the owning loop
  std::uint64_t table_version_ = 0;
  std::vector<Left> left_;  // by row
};

// What all loops counted, for a scrape. `region` is the node's; it may be empty.
void add_request_counts(const std::vector<std::shared_ptr<RequestCounters>>& loops, const std::string& region,
                        Facts& facts);

}  // namespace weir::observe
