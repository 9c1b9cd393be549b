// ChargeTape: every charge of a replay, kept to be played again with other limits.
//
// Kept in an unlinked temporary file, so that memory stays bounded; at most kMaxRecords, of which full() tells. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "weir/bucket_key.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::simulate {

// One charge. The rule is an index that the writer chose; rule and cost share a word.
class TapeRecord {
 public:
  static constexpr std::uint32_t kMaxRule = (1U << 20U) - 1;

  TapeRecord() = default;
  // Preconditions: rule <= kMaxRule, 0 <= cost <= kMaxUnits.
  TapeRecord(const BucketKey& who, TimePoint time, std::uint32_t rule, std::int64_t cost)
      : key_(who), time_us_(micros(time)), packed_(static_cast<std::uint64_t>(cost) << 20U | rule) {}

  const BucketKey& key() const { return key_; }
  TimePoint time() const { return from_micros(time_us_); }
  std::uint32_t rule() const { return static_cast<std::uint32_t>(packed_) & kMaxRule; }
  std::int64_t cost() const { return static_cast<std::int64_t>(packed_ >> 20U); }

 private:
  BucketKey key_;
  std::int64_t time_us_ = 0;
  std::uint64_t packed_ = 0;
};
static_assert(sizeof(TapeRecord) == 32);

class ChargeTape {
 public:
  static constexpr std::uint64_t kMaxRecords = std::uint64_t{1} << 27;  // 4 GiB

  // The failure says that there is no room for temporary files.
  static Result<std::unique_ptr<ChargeTape>> create();
  ~ChargeTape();
  ChargeTape(const ChargeTape&) = delete;
  ChargeTape& operator=(const ChargeTape&) = delete;

  // What does not fit is not kept.
  void add(const TapeRecord& record);
  bool full() const { return full_; }
  // In the order added. The failure says that the file cannot be read.
  Status play(const std::function<void(const TapeRecord&)>& use);

 private:
  explicit ChargeTape(std::FILE* file) : file_(file) { block_.reserve(kBlock); }
  static constexpr std::size_t kBlock = 16'384;
  void write_block();

  std::FILE* const file_;
  std::vector<TapeRecord> block_;
  std::uint64_t written_ = 0;
  bool full_ = false;
};

}  // namespace weir::simulate
