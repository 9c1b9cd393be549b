#include "tests/contract/store_contract.h"

#include <algorithm>

namespace weir::contract {

std::string contract_name(const testing::TestParamInfo<ContractParameters>& info) {
  std::string name = std::get<0>(info.param).name + "_" + std::string(algorithm_name(std::get<1>(info.param)));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Charge StoreContract::charge(std::uint64_t number, std::int64_t cost) const {
  return charge_of(spread_key(number), allowance_, cost);
}

std::vector<ChargeOutcome> StoreContract::run(Action action, std::vector<Charge> charges) {
  OwnedCall call(action, now_, std::move(charges));
  store_->answer(call);
  EXPECT_EQ(call.status, Code::ok);
  for (const ChargeOutcome& outcome : call.results()) EXPECT_EQ(outcome.status, Code::ok);
  return call.results();
}

std::int64_t StoreContract::left(const Charge& charge) {
  Charge look = charge;
  look.cost = 0;
  return peek(look).remaining;
}

}  // namespace weir::contract
