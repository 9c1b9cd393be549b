// Shedder: refuses requests when this node has too much to do, the least important classes first (docs/shedding.md).
//
// The load is the larger of two shares:
//   rate       admitted requests fill a bucket that empties at the rate of the capacity and holds kBucket of it, or
//              kLeastBucket requests if that is more. A node that is asked for less than its capacity has a load near
//              0; one that is asked for more fills up, and admits as much as it can do
//   in flight  open work (open_work.h) divided by `in_flight`
//
// A class is refused while the load is at its `shed_at` or above, so more important classes find the rest free. From
// then on, and until the load has been kBand below for kCalm, the class is being shed: requests of those that have had
// more than their fair share of the class are refused kBand earlier, which leaves that band to the others. Shares are
// counted by 128 cohorts of the values of `fair_by`. Which values share a cohort changes every kRotation, so that no
// one stays behind a busy neighbour.
//
// Shared by the engines of a process; lock-free but for one thread every kTick. Counters of several threads are added
// up without order: the shares are estimates, the bucket is exact.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/stages/open_work.h"
#include "rules/compile/shedding_classes.h"
#include "weir/request.h"
#include "weir/time.h"

namespace weir::engine {

class Shedder {
 public:
  static constexpr Duration kBucket = std::chrono::milliseconds(100);
  static constexpr std::int64_t kLeastBucket = 10;
  static constexpr std::size_t kCohorts = 128;
  static constexpr Duration kTick = std::chrono::milliseconds(100);
  static constexpr Duration kRotation = std::chrono::seconds(10);
  static constexpr Duration kCalm = std::chrono::seconds(1);
  static constexpr std::int64_t kBand = 100;  // of 1,000
  // A refused caller is to wait this long, and up to kLongestSpread more, at random.
  static constexpr Duration kLeastWait = std::chrono::seconds(1);
  static constexpr Duration kLongestSpread = std::chrono::seconds(30);

  Shedder();
  // For tests: the same seed makes the same cohorts and waits.
  explicit Shedder(std::uint64_t seed) : seed_(seed) {}

  // None: admitted, and counted as work. Else refused, and to be tried again after this. `version` tells rules apart.
  std::optional<Duration> refuse(const rules::SheddingClasses& rules, std::uint64_t version,
                                 const rules::SheddingClasses::Place& place, TimePoint now);
  OpenWork& open_work() { return open_work_; }

  // For metrics. Classes of all rules so far, by name.
  struct ClassCount {
    std::string name;
    std::uint64_t admitted = 0;
    std::uint64_t shed = 0;
    bool shedding = false;  // at the moment
  };
  std::vector<ClassCount> counts() const;
  // Of 1,000. 0 before the first request under rules that have a capacity.
  std::int64_t load() const;

 private:
  static constexpr std::uint32_t kAnyShare = 0xffffffff;
  // Everything in parts of a request. What is recent loses a share in each tick.
  struct Cohort {
    std::atomic<std::uint64_t> admitted{0};   // ever
    std::atomic<std::uint64_t> forgotten{0};  // of these; the rest is recent
    std::atomic<std::uint32_t> refused{0};    // recent
    std::uint32_t recent() const;
  };
  struct Class {
    std::atomic<std::int64_t> calm_below_ns{0};  // filled less than this, the bucket concerns no one
    std::array<Cohort, kCohorts> cohorts;
    std::atomic<std::uint32_t> fair{kAnyShare};  // what a cohort may have of what was admitted
    std::atomic<std::int64_t> spread_us{1'000'000};
    std::atomic<bool> shedding{false};
    std::atomic<std::int64_t> busy_us{0};         // when the load was last within the band
    std::atomic<std::uint64_t> never_refused{0};  // admitted without a cohort: the class is never shed
    std::atomic<std::uint64_t> shed{0};
    std::uint64_t folded = 0;  // of admitted(), counted under another name; guarded by mutex_

    std::uint64_t admitted() const;
  };
  struct Totals {
    std::uint64_t admitted = 0;
    std::uint64_t shed = 0;
  };

  void use(const rules::SheddingClasses& rules, std::uint64_t version);
  void fold_counts();
  void tick(std::size_t classes, std::int64_t now_us);
  void decay(Class& each, std::int64_t ticks);
  void share_out(Class& each);
  Cohort& cohort_of(Class& each, std::string_view value, std::int64_t now_us);
  std::optional<Duration> weigh(const rules::SheddingClasses& rules, const rules::SheddingClasses::Place& place,
                                TimePoint now);
  bool is_shedding(Class& each, std::int64_t load, std::int64_t shed_at, std::int64_t now_us);
  bool take(const rules::SheddingClasses& rules, std::int64_t mark, std::int64_t now_us);
  bool take_calmly(const rules::SheddingClasses& rules, const Class& own, std::int64_t now_us);
  std::int64_t load_at(const rules::SheddingClasses& rules, TimePoint now);
  Duration wait(const Class& each);

  const std::uint64_t seed_;
  OpenWork open_work_;
  std::array<Class, kMaxSheddingClasses> classes_;
  // When the bucket is empty, in nanoseconds.
  std::atomic<std::int64_t> empty_at_ns_{0};
  std::atomic<std::int64_t> next_tick_us_{0};
  // What the last request found.
  std::atomic<std::int64_t> last_filled_ns_{0};
  std::atomic<std::int64_t> last_open_load_{0};
  std::atomic<std::int64_t> load_unit_ns_{0};  // of the bucket: one of 1,000; 0: the capacity has no rate
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<std::uint64_t> version_{0};

  mutable std::mutex mutex_;
  std::vector<std::string> names_;        // of classes_; guarded by mutex_, like the next
  std::map<std::string, Totals> folded_;  // what classes_ counted under other rules
};

}  // namespace weir::engine
