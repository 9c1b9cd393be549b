// Estimates: what settled reservations have really cost, for each rule with an `estimate` and each value of the
// attribute that it learns by; and by how much estimates were wrong.
//
// At most kMaxSketches values are learned apart; newcomers beyond them share one sketch for each rule. Thread-safe: the
// engines of all loops share one.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/quantile_sketch.h"
#include "weir/bucket_key.h"

namespace weir::engine {

class Estimates {
 public:
  static constexpr std::size_t kMaxSketches = 4'096;  // about 5 MB
  static constexpr std::size_t kMaxRules = 1'024;     // with errors and a shared sketch of their own

  // What a rule learns from one reservation.
  struct Subject {
    BucketKey value;  // a keyed hash of the rule and the attribute's value
    BucketKey rule;   // the same without a value
    friend bool operator==(const Subject&, const Subject&) = default;
  };

  // Nothing: nothing was learned yet.
  std::optional<std::int64_t> quantile(const Subject& subject, int percent) const;
  void learn(const Subject& subject, std::int64_t actual);

  struct Errors {
    std::string rule;
    std::uint64_t settled = 0;  // reservations that were made with an estimate
    std::uint64_t over = 0;     // units that they reserved beyond what it was
    std::uint64_t under = 0;    // units that they reserved too little
  };
  void count_error(std::string_view rule, std::int64_t reserved, std::int64_t actual);
  std::vector<Errors> errors() const;

  // For files.
  struct Learned {
    BucketKey key;
    QuantileSketch sketch;
  };
  std::vector<Learned> learned() const;
  // What is there already stays.
  void restore(const Learned& learned);

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  static Key key_of(const BucketKey& key) { return {key.high, key.low}; }

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<Key, QuantileSketch> sketches_;
  std::map<std::string, Errors, std::less<>> errors_;
};

}  // namespace weir::engine
