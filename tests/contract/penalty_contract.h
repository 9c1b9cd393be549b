// What every store owes to penalties. A store joins as for store_contract.h, with one INSTANTIATE_TEST_SUITE_P of
// PenaltyContract over its StoreFactory.
#pragma once

#include "tests/contract/store_contract.h"
#include "weir/penalty.h"

namespace weir::contract {

std::string penalty_contract_name(const testing::TestParamInfo<StoreFactory>& info);

class PenaltyContract : public testing::TestWithParam<StoreFactory> {
 protected:
  PenaltyContract() : store_(GetParam().make()) {}

  // Cost against the bucket `number`, of 2 per 10 s, and the penalty of its subject. The penalty is the second charge.
  std::vector<Charge> guarded(std::uint64_t number, std::int64_t cost = 1) const;
  // Cost against a bucket of 1 per 10 s without a penalty.
  Charge plain(std::uint64_t number) const { return charge_of(spread_key(700 + number), one_); }

  std::vector<ChargeOutcome> run(Action action, const std::vector<Charge>& charges);
  ChargeOutcome take(std::uint64_t number = 1, std::int64_t cost = 1) {
    return run(Action::take, guarded(number, cost))[0];
  }
  ChargeOutcome report(Action action, std::uint64_t number = 1) { return run(action, guarded(number, 0))[0]; }
  // Strikes that are denials: each in a window of its own, so that the bucket's own wait is over before the next.
  void deny(int times);

  const std::unique_ptr<RunningStore> store_;
  Allowance rate_ = allowance_of(Algorithm::fixed_window, 2, seconds(10));
  Allowance one_ = allowance_of(Algorithm::fixed_window, 1, seconds(10));
  Penalty penalty_{.after = 3,
                   .within = std::chrono::minutes(10),
                   .block = seconds(30),
                   .factor = 2,
                   .max = seconds(100),
                   .decay = std::chrono::hours(1)};
  TimePoint now_ = from_micros(1'800'000'000'000'000);
};

}  // namespace weir::contract
