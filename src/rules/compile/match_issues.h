// MatchIssues: mistakes in a request that no rule reports as an error, and the counts of them.
//
// A request with an unknown plan, an unreadable cost or a missing attribute still gets a decision, so without these
// counts such mistakes would stay unnoticed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::rules {

enum class MatchIssue : std::uint8_t {
  unknown_plan,       // a rule that applies has plans, and not the one that the request names
  bad_cost,           // the attribute that a rule takes the cost from is not a whole number from 0 to kMaxUnits
  missing_attribute,  // a rule would apply, but the request does not carry an attribute of its `per`
};
inline constexpr std::size_t kMatchIssueCount = 3;
std::string_view match_issue_name(MatchIssue issue);

// Of one request.
class MatchIssues {
 public:
  void add(MatchIssue issue) { bits_ |= 1U << static_cast<unsigned>(issue); }
  bool has(MatchIssue issue) const { return (bits_ >> static_cast<unsigned>(issue) & 1U) != 0; }
  bool any() const { return bits_ != 0; }

 private:
  unsigned bits_ = 0;
};

// Of all requests: each issue counts once for each request that has it. Thread-safe. Threads count in different cache
// lines, so that a flood of bad requests does not make loops wait for each other.
class MatchIssueCounters {
 public:
  void count(const MatchIssues& issues);
  std::uint64_t total(MatchIssue issue) const;

 private:
  static constexpr std::size_t kShards = 16;
  struct alignas(64) Shard {
    std::array<std::atomic<std::uint64_t>, kMatchIssueCount> counts{};
  };
  std::array<Shard, kShards> shards_;
};

}  // namespace weir::rules
