// HeavySketch: which keys occur most often, in a table of fixed size (HeavyKeeper).
//
// A key belongs to one set of kWays places. A key without a place makes the least frequent key of its set lose a count,
// the less probably the more counts that has, and takes its place at zero. So frequent keys stay, and a flood of keys
// that occur once cannot push them out. Counts are never too high, except after two keys had the same place.
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "weir/bucket_key.h"

namespace weir::observe {

// A subject of a rule.
struct SubjectKey {
  BucketKey subject;
  std::uint32_t ordinal = 0;  // of the rule
  friend bool operator==(const SubjectKey&, const SubjectKey&) = default;
};

class HeavySketch {
 public:
  static constexpr std::size_t kSets = 64;
  static constexpr std::size_t kWays = 8;

  struct Place {
    SubjectKey key;
    std::uint32_t count = 0;  // 0: free
    bool shared = false;      // the subject is the one that newcomers share
  };

  // `random` is any number of which the low 32 bits are random.
  void add(const SubjectKey& key, bool shared, std::uint64_t random);

  // Those with a count, in no order.
  template <typename See>
  void each(See see) const {
    for (const auto& set : sets_) {
      for (const Place& place : set) {
        if (place.count > 0) see(place);
      }
    }
  }
  void clear() { sets_ = {}; }

 private:
  using Set = std::array<Place, kWays>;
  std::array<Set, kSets> sets_{};
};

}  // namespace weir::observe
