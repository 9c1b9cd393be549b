// RepeatedDenials: whole answers of a slow store to requests that several buckets decide about, to give again when the
// same is asked. Part of the prefilter.
//
// What one bucket is known to answer does not say which rule has the longest wait, nor whether another one denies where
// this one only asks for a challenge. So an answer is repeated only for the same charges of the same buckets, and only
// until the first of them could answer otherwise:
//   a bucket that denied could admit      the shortest of the waits
//   a bucket that admitted could deny     BucketGenerations::watch(): a charge has left less than was asked for
//   a refund, a reset, other numbers      BucketGenerations, as for single buckets
//   another node does one of these        Prefilter::kMaxHold; what buckets that admitted have left is as old as that
//
// A fixed number of entries, the newer overwriting the older. Not thread-safe: the prefilter locks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/bucket_generations.h"
#include "weir/store.h"

namespace weir::engine {

// True for a denial that is decided without asking the store: see prefilter.cc.
bool is_known_denial(std::span<const Charge> charges, std::size_t charge, const ChargeOutcome& outcome);
// The numbers that can differ between allowances of one bucket.
bool same_numbers(const Allowance& a, const Allowance& b);

class RepeatedDenials {
 public:
  static constexpr std::size_t kEntries = 4'096;
  static constexpr std::size_t kMostCharges = 16;

  explicit RepeatedDenials(BucketGenerations& generations) : generations_(generations), entries_(kEntries) {}

  // When the store was asked, by the time that it went by; and until when the answer is trusted, by our own.
  struct Moment {
    TimePoint asked;
    TimePoint trusted;
  };
  // Precondition: the store has answered a take, and no bucket's generation has changed since it was asked.
  void remember(std::span<const Charge> charges, std::span<const ChargeOutcome> outcomes, const Moment& moment);

  // False: nothing is known, and `outcomes` are as they were. `store_time` is what the store would go by.
  bool repeat(std::span<const Charge> charges, std::span<ChargeOutcome> outcomes, TimePoint now, TimePoint store_time);

 private:
  struct Part {
    BucketKey key;
    std::int64_t cost = 0;
    std::uint64_t value = 0;
    std::uint32_t generation = 0;
    Allowance allowance;
    ChargeOutcome outcome;
  };
  struct Entry {
    std::vector<Part> parts;
    TimePoint asked;
    TimePoint until;
    TimePoint trusted;
  };
  static std::size_t place_of(std::span<const Charge> charges);
  bool is_same(const Part& part, const Charge& charge) const;

  BucketGenerations& generations_;
  std::vector<Entry> entries_;
};

}  // namespace weir::engine
