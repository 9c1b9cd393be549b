// What every store owes to counts of different values. A store joins as for store_contract.h, with one
// INSTANTIATE_TEST_SUITE_P of DistinctContract over its StoreFactory.
#pragma once

#include "tests/contract/store_contract.h"

namespace weir::contract {

std::string distinct_contract_name(const testing::TestParamInfo<StoreFactory>& info);

class DistinctContract : public testing::TestWithParam<StoreFactory> {
 protected:
  DistinctContract() : store_(GetParam().make()) {}

  static Charge value(std::uint64_t value, const Allowance& allowance, std::uint64_t bucket = 1,
                      std::int64_t cost = 1) {
    Charge charge = charge_of(spread_key(900 + bucket), allowance, cost);
    charge.value = value;
    return charge;
  }
  ChargeOutcome run(Action action, const Charge& charge) { return run_all(action, {charge})[0]; }
  ChargeOutcome take(const Charge& charge) { return run(Action::take, charge); }
  std::vector<ChargeOutcome> run_all(Action action, const std::vector<Charge>& charges);

  const std::unique_ptr<RunningStore> store_;
  const Allowance window_ = allowance_of(Algorithm::fixed_window, 3, seconds(60));
  const Allowance log_ = allowance_of(Algorithm::sliding_log, 3, seconds(60));
  TimePoint now_ = from_micros(1'800'000'000'000'000);  // windows begin here
};

}  // namespace weir::contract
