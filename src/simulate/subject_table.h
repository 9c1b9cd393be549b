// SubjectTable: what each subject of each rule asked for, with a bound on memory: of more subjects than fit, the ones
// that asked least are given up, so those that matter stay.
//
// Counts of a subject that was given up and came back begin again; floor() is the most that such a subject can have
// asked before. Below kMaxSubjects subjects every count is exact. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/bucket_key.h"
#include "weir/time.h"

namespace weir::simulate {

// One or two rule sets are compared.
inline constexpr std::size_t kMaxSets = 2;

struct SubjectCounts {
  BucketKey key;
  std::string rule;
  std::string text;  // "tenant=acme, api_key=k1"
  std::array<std::uint64_t, kMaxSets> requests{};
  std::array<std::uint64_t, kMaxSets> denied{};
  TimePoint first_denied{};  // under the last set; the epoch: never
  TimePoint last_denied{};
  std::uint64_t peak = 0;  // units in one window of the rule, windows beginning at multiples of it
  TimePoint peak_at{};     // when that window began
  // Of the window that is being counted.
  std::int64_t window = 0;
  std::uint64_t in_window = 0;
};

class SubjectTable {
 public:
  static constexpr std::size_t kMaxSubjects = 100'000;

  SubjectTable();

  // The subject's counts; `made` is true if it has just been added, and its rule and text are to be filled in. Good
  // until the next call.
  SubjectCounts& of(const BucketKey& key, bool& made);

  // How many subjects were ever given up.
  std::uint64_t given_up() const { return given_up_; }
  std::uint64_t floor() const { return floor_; }
  std::size_t size() const { return entries_.size(); }

  // The `count` largest by `weight`, those with weight 0 left out.
  std::vector<SubjectCounts> top(std::size_t count,
                                 const std::function<std::uint64_t(const SubjectCounts&)>& weight) const;

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 18;
  static constexpr std::uint32_t kEmpty = UINT32_MAX;

  std::size_t slot_of(const BucketKey& key) const;
  void give_up_half();

  std::vector<SubjectCounts> entries_;
  std::vector<std::uint32_t> slots_;  // open addressing: indexes of entries
  std::uint64_t given_up_ = 0;
  std::uint64_t floor_ = 0;
};

}  // namespace weir::simulate
