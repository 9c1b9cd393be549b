// What a LeasedStore has under way: draws, the calls that wait for them, and parts of calls that the store is asked
// for.
//
// Owned by the store and used again; each lives until the store behind it has answered.
#pragma once

#include <cstdint>
#include <vector>

#include "base/partial_call.h"
#include "stores/leased/slice.h"
#include "weir/inline_vector.h"
#include "weir/store.h"

namespace weir::leased {

class LeasedStore;

// Units that a slice gave for one charge of a call. The end of a slice tells which one it was.
struct Spent {
  std::int64_t units = 0;
  TimePoint slice_ends{};
};

// A call that is not answered yet.
struct Waiter {
  StoreCall* call = nullptr;
  std::uint64_t covered = 0;          // a bit for each charge that slices cover
  std::size_t charge = 0;             // the one that it waits for
  InlineVector<Spent, 8> spent = {};  // of each charge, of a refund none; units only where covered

  bool covers(std::size_t i) const { return (covered >> i & 1U) != 0; }
};

// A draw of one bucket.
class Ask final : public StoreCall {
 public:
  explicit Ask(LeasedStore& owner) : owner_(owner) {}
  Ask(const Ask&) = delete;
  Ask& operator=(const Ask&) = delete;
  void complete() override;

  Charge charge;  // its allowance is the copy below
  Allowance allowance;
  const Allowance* asked_under = nullptr;  // compared, never read
  SliceTerms terms;
  ChargeOutcome outcome;
  DrawStep step;
  TimePoint sent{};
  std::uint64_t epoch = 0;
  int round = 0;  // how often its waiters have waited before
  std::vector<Waiter> waiting;

 private:
  LeasedStore& owner_;
};

// The charges of a call that slices do not cover, as a call of its own.
class PartOfCall final : public base::PartialCall {
 public:
  explicit PartOfCall(LeasedStore& owner) : owner_(owner) {}
  void complete() override;

  Waiter waiter;

 private:
  LeasedStore& owner_;
};

}  // namespace weir::leased
