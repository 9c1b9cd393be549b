#include "rules/compile/match_issues.h"

namespace weir::rules {
namespace {

// Threads get shards in turn.
std::size_t shard_of_thread(std::size_t shards) {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t own = next.fetch_add(1, std::memory_order_relaxed);
  return own % shards;
}

}  // namespace

std::string_view match_issue_name(MatchIssue issue) {
  constexpr std::array<std::string_view, kMatchIssueCount> kNames = {"unknown_plan", "bad_cost", "missing_attribute"};
  return kNames[static_cast<std::size_t>(issue)];
}

void MatchIssueCounters::count(const MatchIssues& issues) {
  Shard& shard = shards_[shard_of_thread(kShards)];
  for (std::size_t i = 0; i < kMatchIssueCount; ++i) {
    if (issues.has(static_cast<MatchIssue>(i))) shard.counts[i].fetch_add(1, std::memory_order_relaxed);
  }
}

std::uint64_t MatchIssueCounters::total(MatchIssue issue) const {
  std::uint64_t sum = 0;
  for (const Shard& shard : shards_) {
    sum += shard.counts[static_cast<std::size_t>(issue)].load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace weir::rules
