// AdaptiveLimits: an AdaptiveLimit for each subject of the rules with `limit: {auto: …}`. A subject is its bucket's
// key.
//
// Shared by the engines of a process; what other nodes release is not seen here, and each node finds the limit from its
// own part of the leases. Thread-safe. At most kMaxSubjects, of which the least recently used make room for others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/adaptive_limit.h"
#include "weir/bucket_key.h"

namespace weir::engine {

class AdaptiveLimits {
 public:
  static constexpr std::size_t kMaxSubjects = 10'000;
  static constexpr Duration kLeaseMemory = std::chrono::minutes(10);

  struct Standing {
    std::string rule;
    BucketKey key;
    std::int64_t limit = 0;
    Duration baseline{0};
  };

  // The limit that applies now. One that was not known begins within the bounds.
  std::int64_t limit(std::string_view rule, const BucketKey& key, const AutoLimit& bounds);
  // False: nothing has ever been asked for, and nothing below does anything.
  bool used() const { return used_.load(std::memory_order_relaxed); }
  void refused(const BucketKey& key);
  // A lease was released. From then on, for kLeaseMemory, reports() of the subject are left out: the same work would
  // count twice.
  void completed(const BucketKey& key, Duration held, TimePoint now);
  // Work of the subject took so long, as its caller has said. Work that failed sooner than work usually ends says
  // nothing about capacity and is left out.
  void reported(std::string_view rule, const BucketKey& key, const AutoLimit& bounds, Duration took, bool succeeded,
                TimePoint now);
  // Of at most `count` subjects, the most recently used first.
  std::vector<Standing> list(std::size_t count) const;

 private:
  struct Subject {
    std::string rule;
    BucketKey key;
    AutoLimit bounds;
    AdaptiveLimit limit;
    bool by_reports = false;  // what the limit has learned from
    TimePoint lease_ended{};  // the last one; the epoch: none
  };
  struct KeyHash {
    std::size_t operator()(const BucketKey& key) const { return static_cast<std::size_t>(key.low ^ key.high); }
  };
  Subject* find(const BucketKey& key);
  Subject& find_or_add(std::string_view rule, const BucketKey& key, const AutoLimit& bounds);

  std::atomic<bool> used_{false};
  mutable std::mutex mutex_;
  std::list<Subject> subjects_;  // guarded by mutex_, like the next: the most recently used first
  std::unordered_map<BucketKey, std::list<Subject>::iterator, KeyHash> places_;
};

}  // namespace weir::engine
