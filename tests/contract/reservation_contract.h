// What every store owes to reservations, with each algorithm. A store joins as for store_contract.h, with one
// INSTANTIATE_TEST_SUITE_P of ReservationContract over its StoreFactory and all algorithms.
#pragma once

#include "base/paged_id.h"
#include "tests/contract/store_contract.h"
#include "weir/hold_step.h"

namespace weir::contract {

// Of ids that clients made and ids that a process made, in turn: a store may keep them differently.
inline BucketKey reservation_id(std::uint64_t number) {
  return number % 2 == 0 ? spread_key(1'000 + number) : base::paged_id_at(4'711, number);
}

class ReservationContract : public testing::TestWithParam<ContractParameters> {
 protected:
  static constexpr std::int64_t kLimit = 10;
  static constexpr Duration kWindow = seconds(10);
  static constexpr Duration kTtl = seconds(60);

  ReservationContract() : store_(std::get<0>(GetParam()).make()) {
    allowance_ = allowance_of(algorithm(), kLimit, kWindow);
    other_ = allowance_of(Algorithm::token_bucket, 5, kWindow);
    slots_ = make_concurrency({.algorithm = {}, .limit = 1, .window = Duration{0}}, kTtl).value();
  }

  static Algorithm algorithm() { return std::get<1>(GetParam()); }
  static bool is_debt() {
    return algorithm() == Algorithm::token_bucket || algorithm() == Algorithm::gcra ||
           algorithm() == Algorithm::leaky_bucket;
  }

  // A leaky bucket admits any cost that may join its queue, also one that does not fit into what is left.
  static bool has_queue() { return algorithm() == Algorithm::leaky_bucket; }

  // The bucket `number` under allowance_; its cost follows the reservation's amount.
  Charge bucket(std::uint64_t number = 1) const;
  // A bucket of 5 per 10 s with a cost of its own.
  Charge fixed(std::int64_t cost) const;
  // A concurrency bucket with one slot.
  Charge slot() const;

  struct Result {
    std::vector<ChargeOutcome> outcomes;
    HoldStep hold;
    bool taken() const { return hold.state == HoldState::taken; }
  };
  // The call's charges and the reservation's record.
  Result run(Action action, std::vector<Charge> charges, HoldStep hold);
  Result reserve(std::uint64_t id, std::int64_t amount, std::vector<Charge> charges = {}, Duration ttl = kTtl,
                 bool partial = false);
  Result extend(std::uint64_t id, std::int64_t add, Duration ttl = Duration{0}, bool partial = false);
  Result commit(std::uint64_t id, std::int64_t actual, std::vector<Charge> charges = {});
  Result release(std::uint64_t id, std::vector<Charge> charges = {});
  Result get(std::uint64_t id);
  std::vector<ListedHold> list();

  ChargeOutcome plain(Action action, Charge charge, std::int64_t cost);
  std::int64_t left(const Charge& charge) { return plain(Action::peek, charge, 0).remaining; }
  std::int64_t left() { return left(bucket()); }
  bool take(std::int64_t cost) { return plain(Action::take, bucket(), cost).admitted; }

  const std::unique_ptr<RunningStore> store_;
  Allowance allowance_;
  Allowance other_;
  Allowance slots_;
  TimePoint now_ = from_micros(1'800'000'000'000'000);  // a multiple of the window: aligned windows begin here

 private:
  Allowance record_;
};

}  // namespace weir::contract
