// Shares of a limit: how a coordinator divides the limit of one key between regions, and what a node may use of it.
//
// A region with the share s runs a bucket of (s · rate, s · burst). Two rules make the regions together admit no more
// than one bucket of (rate, burst) would:
//
//   1. Only free share is given: what another region may still use, because its lease has not ended, is not free. A
//      share that is cut stays occupied until the lease under which it was given ends, because the answer that cuts it
//      may be lost.
//   2. A share that grows arrives empty: the region's bucket gets the room, and time fills it (scaled_bucket.h).
//
// Each region has a floor, which it may use without asking and never loses: what is left of the limit is divided by
// demand, max-min: a region gets what it asks for before another gets more than its equal part.
//
// Pure: no clock, no I/O. The coordinator's rows are read and written in one transaction (coordinator.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/time.h"

namespace weir::regions {

// Shares are in parts of a million.
using Ppm = std::int64_t;
inline constexpr Ppm kWhole = 1'000'000;
inline constexpr Ppm kFloorsTogether = 300'000;
// Of a demand; more is no reason for more.
inline constexpr Ppm kMaxDemand = 16 * kWhole;

constexpr Ppm floor_share(std::size_t regions) {
  return kFloorsTogether / static_cast<Ppm>(regions == 0 ? 1 : regions);
}

// What the coordinator keeps of one node's share of one key.
struct ShareRow {
  std::size_t region = 0;
  std::string node = {};
  Ppm share = 0;
  TimePoint ends{};  // of the lease, by the coordinator's clock
  Ppm held = 0;      // more than the share, until held_until: it was cut, and the node may not know
  TimePoint held_until{};
  std::int64_t epoch = 0;  // grows with each answer
  Ppm demand = 0;          // of the limit
};

struct ShareRequest {
  std::size_t region = 0;
  std::string node = {};
  Ppm demand = 0;          // what was asked for, denials included, in parts of the limit
  Ppm share = 0;           // that the node uses now
  std::int64_t epoch = 0;  // of the last answer that it knows
};

struct ShareTerms {
  std::size_t regions = 1;
  Duration lease{0};
  bool learning = false;  // the rows may have been lost: nothing is given
};

struct ShareAnswer {
  bool granted = false;  // false: nothing changes
  Ppm share = 0;
  Duration lasts{0};  // from the moment when the request was sent
  std::int64_t epoch = 0;
  bool rows_lost = false;  // the node knows more than the rows say
};

// Answers a request and writes its row, which is added if there is none. `rows`: all of the key.
ShareAnswer decide_share(std::vector<ShareRow>& rows, const ShareRequest& request, TimePoint now,
                         const ShareTerms& terms);

// What each region should have by demand, whatever each holds now. `demands` and the answer are by region; their sum is
// at most kWhole, and none is below the floor.
std::vector<Ppm> divide_by_demand(const std::vector<Ppm>& demands);

// What one node holds of one key's limit. Not thread-safe.
class HeldShare {
 public:
  explicit HeldShare(Ppm floor) : floor_(floor), share_(floor) {}

  // What may be used now: the floor when the lease has ended.
  Ppm at(TimePoint now) const { return now < ends_ ? share_ : floor_; }
  std::int64_t epoch() const { return epoch_; }
  TimePoint ends() const { return ends_; }

  // `sent`: when the request was, by the node's clock. Smaller shares are used at once, larger ones after grown().
  void answered(const ShareAnswer& answer, TimePoint sent, TimePoint now);

  // A larger share that was given: before it is used, the bucket must have been told (scaled_bucket.h) that its share
  // goes from `from` to `to`.
  struct Growth {
    Ppm from = 0;
    Ppm to = 0;
    std::int64_t epoch = 0;
  };
  std::optional<Growth> growth(TimePoint now) const;
  // The bucket was told. Ignored if something else has happened since.
  void grown(const Growth& growth, TimePoint now);

 private:
  Ppm floor_;
  Ppm share_;
  TimePoint ends_{};
  Ppm given_ = 0;  // more than share_: not used yet
  std::int64_t epoch_ = 0;
};

}  // namespace weir::regions
