// What every store owes to leases. A store joins as for store_contract.h, with one INSTANTIATE_TEST_SUITE_P of
// LeaseContract over its StoreFactory.
#pragma once

#include <map>

#include "tests/contract/store_contract.h"
#include "weir/hold_step.h"

namespace weir::contract {

std::string lease_contract_name(const testing::TestParamInfo<StoreFactory>& info);

class LeaseContract : public testing::TestWithParam<StoreFactory> {
 protected:
  static constexpr Duration kTtl = seconds(30);

  LeaseContract() : store_(GetParam().make()) {}

  // Units of the concurrency bucket `number`, of which `limit` may be held.
  Charge slot(std::uint64_t number, std::int64_t limit, std::int64_t cost = 1);
  // Cost against an ordinary bucket of 10 per 10 s.
  Charge bucket(std::uint64_t number, std::int64_t cost = 1) const;
  static BucketKey id(std::uint64_t number) { return spread_key(1'000 + number); }

  struct Result {
    std::vector<ChargeOutcome> outcomes;
    HoldStep hold;
    bool admitted() const { return hold.state == HoldState::taken || hold.state == HoldState::live; }
  };
  Result run(Action action, const std::vector<Charge>& charges, HoldStep hold);
  Result acquire(std::uint64_t number, const std::vector<Charge>& charges, bool named = false);
  Result renew(const Result& lease, const std::vector<Charge>& charges, Duration ttl = kTtl);
  Result release(const Result& lease, const std::vector<Charge>& charges);
  std::vector<ListedHold> list(const std::vector<Charge>& charges);
  // A call without a hold.
  std::vector<ChargeOutcome> plain(Action action, const std::vector<Charge>& charges);
  std::int64_t left(const Charge& charge) { return plain(Action::peek, {charge})[0].remaining; }

  const std::unique_ptr<RunningStore> store_;
  const Allowance rate_ = allowance_of(Algorithm::token_bucket, 10, seconds(10));
  TimePoint now_ = from_micros(1'800'000'000'000'000);

 private:
  std::map<std::int64_t, Allowance> concurrencies_;  // by limit
};

}  // namespace weir::contract
