// OutageDebts: what failure policies have admitted while the shared store was unavailable, until it is charged there.
//
// Each unit is counted in a model of its rule's own bucket: what time has repaid by then, or a window that has ended,
// is not charged any more. At most one capacity of each bucket is owed. Bounded: beyond kMaxSubjects buckets, and where
// the model has no room, units are only counted as lost.
//
// Shared by the engines of a process, whose models must be one store. Thread-safe; owing() is one load.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "weir/region_terms.h"
#include "weir/store.h"

namespace weir::engine {

class OutageDebts {
 public:
  static constexpr std::size_t kMaxSubjects = 65'536;
  static constexpr int kAtOnce = 8;
  // After a store that answers some calls has failed to take a debt.
  static constexpr Duration kPause = std::chrono::seconds(1);

  // What one bucket is owed. `charge` points into it.
  struct Debt {
    Debt() = default;
    Debt(const Debt&) = delete;
    Debt& operator=(const Debt&) = delete;

    Charge charge;
    Allowance allowance;
    std::string rule;
    std::optional<RegionTerms> region;  // the limit is shared: the charge goes to this region's part of it
  };

  // Of units, since the start.
  struct Totals {
    std::uint64_t admitted = 0;       // by a policy, without the store
    std::uint64_t charged = 0;        // to the store afterwards
    std::uint64_t repaid = 0;         // by time, before the store was back
    std::uint64_t over_capacity = 0;  // never owed: the bucket owed one capacity already
    std::uint64_t lost = 0;           // not charged: no room, or it is not known whether the store has charged it
    std::size_t subjects = 0;         // that something is owed for now
  };

  // A policy has admitted `charge`. `model` must answer at once.
  void note(Store& model, const Charge& charge, const Reading& at);
  // Cost that was noted is given back.
  void give_back(Store& model, const Charge& charge, const Reading& at);
  // Something is owed.
  bool owing() const { return owing_.load(std::memory_order_relaxed); }

  // Takes the next debt that time has not repaid out of here, as a charge for the store. False: there is none, or the
  // pause is not over.
  bool next(Store& model, const Reading& at, Debt& debt);
  // Bounds how many are being charged at a time: each answer of the store lets some more begin, beside the requests.
  // False: enough are under way.
  bool begin_run() {
    if (runs_.fetch_add(1, std::memory_order_relaxed) < kAtOnce) return true;
    end_run();
    return false;
  }
  void end_run() { runs_.fetch_sub(1, std::memory_order_relaxed); }
  // What became of a debt that next() has given out.
  void charged(const Debt& debt);
  void lost(const Debt& debt);
  // The store has not charged it: it stays owed, and next() pauses.
  void put_back(Store& model, const Debt& debt, const Reading& at);

  Totals totals() const;

 private:
  struct Entry {
    BucketKey tag;
    Allowance allowance;
    std::string rule;
    std::optional<RegionTerms> region;
    std::int64_t owed = 0;  // as noted within the capacity, before time has repaid any
  };
  struct KeyHash {
    std::size_t operator()(const BucketKey& key) const { return key.low; }
  };

  void add(Store& model, const Charge& charge, const Reading& at);
  std::int64_t outstanding(Store& model, const BucketKey& key, const Entry& entry, const Reading& at) const;

  mutable std::mutex mutex_;
  std::unordered_map<BucketKey, Entry, KeyHash> entries_;  // guarded by mutex_, like the rest
  std::deque<BucketKey> order_;  // their keys: one that the store refuses has its turn after the others
  TimePoint not_before_{};
  Totals totals_;
  std::atomic<bool> owing_{false};
  std::atomic<int> runs_{0};
};

}  // namespace weir::engine
