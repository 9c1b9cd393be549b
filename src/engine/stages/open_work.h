// OpenWork: how much of what this node has admitted is still being done.
//
// Leases and reservations count from their taking until they are ended here or lapse. Work of plain checks counts by
// the durations that callers report: durations reported in a time, divided by that time, is how much of it was open on
// average (Little's law), whatever part of the callers reports.
//
// Shared by the engines of a process. Thread-safe. At most kMost leases and reservations; more are not counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "weir/bucket_key.h"
#include "weir/time.h"

namespace weir::engine {

class OpenWork {
 public:
  static constexpr std::size_t kMost = 100'000;
  // Reported durations are averaged over about this time.
  static constexpr Duration kAveraged = std::chrono::seconds(10);
  static constexpr Duration kLongestReport = std::chrono::hours(1);

  // Taken, or renewed: open until `expires` by this node's clock.
  void opened(const BucketKey& id, TimePoint expires);
  void closed(const BucketKey& id);
  // Work that took `duration` has ended.
  void reported(Duration duration, TimePoint now);

  // Without lapsed ones.
  std::int64_t open(TimePoint now);

 private:
  using Id = std::pair<std::uint64_t, std::uint64_t>;
  void drop_lapsed(std::int64_t now_us);
  void publish();
  std::int64_t average(std::int64_t now_us) const;

  std::mutex mutex_;
  std::map<Id, std::int64_t> expiries_;                // guarded by mutex_, like the next
  std::map<std::pair<std::int64_t, Id>, char> order_;  // by expiry
  std::atomic<std::int64_t> count_{0};
  std::atomic<std::int64_t> next_us_{std::numeric_limits<std::int64_t>::max()};
  // Microseconds of work, as of averaged_us_; loses a share with time.
  std::atomic<std::int64_t> work_us_{0};
  std::atomic<std::int64_t> averaged_us_{0};
};

}  // namespace weir::engine
