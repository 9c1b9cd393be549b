// What a SyncedStore has under way: questions about one bucket, and the parts of calls that it cannot answer itself.
//
// Owned by the store and used again; each lives until the store behind it has answered.
#pragma once

#include <cstdint>

#include "base/partial_call.h"
#include "weir/store.h"

namespace weir::synced {

class SyncedStore;

// Reports what was admitted of a bucket, and learns what it has left. May carry a call of one charge, which is then
// decided by the store.
class Exchange final : public StoreCall {
 public:
  explicit Exchange(SyncedStore& owner) : owner_(owner) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  void complete() override;

  Charge charge;  // its allowance is the copy below
  Allowance allowance;
  const Allowance* asked_under = nullptr;  // compared, never read
  std::uint64_t version = 0;
  ChargeOutcome outcome;
  DrawStep step;
  TimePoint sent{};
  std::uint64_t epoch = 0;
  StoreCall* carried = nullptr;

 private:
  SyncedStore& owner_;
};

// A call some of whose charges are answered by what is known.
struct Split {
  StoreCall* call = nullptr;
  std::uint64_t covered = 0;  // a bit for each charge

  bool covers(std::size_t i) const { return (covered >> i & 1U) != 0; }
};

// The other charges, as a call of its own.
class Remainder final : public base::PartialCall {
 public:
  explicit Remainder(SyncedStore& owner) : owner_(owner) {}
  void complete() override;

  Split split;

 private:
  SyncedStore& owner_;
};

}  // namespace weir::synced
