// What every store owes to candidates (Charge::candidate). A store joins as for store_contract.h, with one
// INSTANTIATE_TEST_SUITE_P of CandidateContract over its StoreFactory.
#pragma once

#include "tests/contract/store_contract.h"
#include "weir/penalty.h"

namespace weir::contract {

std::string candidate_contract_name(const testing::TestParamInfo<StoreFactory>& info);

class CandidateContract : public testing::TestWithParam<StoreFactory> {
 protected:
  CandidateContract() : store_(GetParam().make()) {}

  // Cost against a bucket of 3 per 10 s, and its candidate, which allows `limit`. The candidate is the second charge.
  std::vector<Charge> judged(const Allowance& candidate, std::uint64_t number = 1, std::int64_t cost = 1) const;
  // Cost against another bucket, of 1 per 10 s.
  Charge other(std::uint64_t number, std::int64_t cost = 1) const {
    return charge_of(spread_key(1'700 + number), one_, cost);
  }
  std::vector<ChargeOutcome> run(Action action, const std::vector<Charge>& charges);
  std::vector<ChargeOutcome> take(const std::vector<Charge>& charges) { return run(Action::take, charges); }
  // What is left in the bucket of one of the charges.
  std::int64_t left(std::vector<Charge> charges, std::size_t i);

  const std::unique_ptr<RunningStore> store_;
  const Allowance active_ = allowance_of(Algorithm::fixed_window, 3, seconds(10));
  const Allowance smaller_ = allowance_of(Algorithm::fixed_window, 1, seconds(10));
  const Allowance larger_ = allowance_of(Algorithm::fixed_window, 5, seconds(10));
  const Allowance one_ = allowance_of(Algorithm::fixed_window, 1, seconds(10));
  TimePoint now_ = from_micros(1'800'000'000'000'000);
};

}  // namespace weir::contract
