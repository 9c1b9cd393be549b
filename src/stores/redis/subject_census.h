// SubjectCensus: about how many subjects each rule has in Redis, without asking Redis in a decision.
//
// A subject counts while its bucket lives: every answer says until when (reset_after). Keys are keyed hashes, so those
// whose last bits are zero are a fair sample: `level` bits, one subject in 2^level. A sample has at most some thousand
// subjects, and of few subjects it has all.
//
// A rule with max_subjects: its sample is a sorted set in Redis, shared by all nodes, at the level at which
// max_subjects has 2,048 to 4,096 in it. Nodes send what is new in their part now and then (CensusExchange) and learn
// how many there are. Up to 4,096 subjects the count is exact; beyond, its standard error is at most 1/√2048 = 2.2 %.
// On top come the subjects of the last moment: each node tells as soon as it has a sixteenth of the bound to tell, and
// else every second. A subject may count for an eighth of its time, at least a second, longer than its bucket lives, so
// that it need not be told at each request.
//
// Other rules: this node's own sample of up to 1,024, for the metrics. Its standard error is at most 1/√256 = 6.3 %.
//
// Thread-safe: one mutex, held for a lookup. One census for all loops of a node.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/store.h"

namespace weir::redis {

class SubjectCensus {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kSharedSample = 4'096;  // at the bound
  static constexpr std::size_t kOwnSample = 1'024;
  static constexpr std::size_t kMaxRules = 2'000;  // further rules are not counted, unless they have a bound
  static constexpr std::size_t kTellShare = 16;
  static constexpr std::size_t kMaxNews = 16'384;
  static constexpr std::chrono::seconds kTellPeriod{1};

  // Whether newcomers of the charge's rule are beyond its bound. `due`: the caller is to exchange() for the rule now.
  struct View {
    bool full = false;
    bool due = false;
  };
  // Precondition: charge.max_subjects > 0.
  View look(const Charge& charge, Time now);

  // The charge's bucket lives for `lifetime` from now.
  void record(const Charge& charge, Duration lifetime, Time now);

  // What is to be told to the set of a rule.
  struct News {
    std::string rule;
    unsigned level = 0;
    struct Subject {
      std::uint64_t id = 0;
      std::int64_t lives_us = 0;  // from now
    };
    std::vector<Subject> subjects;
  };
  // Only after look() has said that it is due; then told() or failed() must follow.
  News news(std::uint32_t number, Time now);
  // `sampled`: how many the set has.
  void told(std::uint32_t number, std::int64_t sampled, Time now);
  void failed(std::uint32_t number, Time now);

  struct Count {
    std::uint32_t number = 0;
    std::int64_t subjects = 0;
  };
  std::vector<Count> counts(Time now);
  std::uint64_t failures() const;

 private:
  struct Rule {
    std::string id;
    std::uint32_t max_subjects = 0;  // 0: the sample is this node's own
    unsigned level = 0;
    std::unordered_map<std::uint64_t, Time> lives_until;  // with a bound: as it was told
    Time settled{};                                       // own: the sample is whole from then on
    std::vector<News::Subject> news;                      // lives_us from the clock's beginning
    std::int64_t shared = 0;                              // the last answer, times 2^level
    Time told_at{};
    bool telling = false;
  };

  static unsigned level_for(std::uint32_t max_subjects);
  static bool is_sampled(std::uint64_t id, unsigned level) { return (id & ((std::uint64_t{1} << level) - 1)) == 0; }
  Rule* rule_of(const Charge& charge);
  static void bound(Rule& rule, std::uint32_t max_subjects);
  static void forget_idle(Rule& rule, Time now);
  static void make_room(Rule& rule, Time now);
  static std::int64_t shared_count(Rule& rule, Time now);
  static std::int64_t own_count(Rule& rule, Time now);

  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, Rule> rules_;  // guarded by mutex_
  std::uint64_t failures_ = 0;                     // guarded by mutex_
};

}  // namespace weir::redis
