// The store contract: what every store must do alike, whichever way it keeps its buckets.
//
// A store joins by a StoreFactory and one INSTANTIATE_TEST_SUITE_P (see memory_contract_test.cc); every scenario then
// runs on it with each algorithm. The scenarios pass time in, so a store under test must use the time it is given.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/contract/calls.h"
#include "weir/allowance.h"
#include "weir/store.h"

namespace weir::contract {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A store and whatever it needs to run: a server, a loop.
class RunningStore {
 public:
  virtual ~RunningStore() = default;
  // Returns when the call has been answered, now or later. Called from one thread at a time.
  virtual void answer(StoreCall& call) = 0;
};

struct StoreFactory {
  std::string name;
  std::function<std::unique_ptr<RunningStore>()> make;
  bool in_steps = false;  // each bucket is charged by itself, and charged back when another denies

  friend std::ostream& operator<<(std::ostream& out, const StoreFactory& factory) { return out << factory.name; }
};

using ContractParameters = std::tuple<StoreFactory, Algorithm>;

// "memory_token_bucket": gtest allows no hyphens.
std::string contract_name(const testing::TestParamInfo<ContractParameters>& info);

class ModelStore;

class StoreContract : public testing::TestWithParam<ContractParameters> {
 protected:
  static constexpr std::int64_t kLimit = 10;
  static constexpr Duration kWindow = seconds(10);

  StoreContract() : store_(std::get<0>(GetParam()).make()), allowance_(allowance_of(algorithm(), kLimit, kWindow)) {}

  static Algorithm algorithm() { return std::get<1>(GetParam()); }

  // A charge against the bucket `number`, under allowance_.
  Charge charge(std::uint64_t number, std::int64_t cost = 1) const;

  std::vector<ChargeOutcome> run(Action action, std::vector<Charge> charges);
  ChargeOutcome take(const Charge& charge) { return run(Action::take, {charge})[0]; }
  ChargeOutcome peek(const Charge& charge) { return run(Action::peek, {charge})[0]; }
  ChargeOutcome refund(const Charge& charge) { return run(Action::refund, {charge})[0]; }
  ChargeOutcome reset(const Charge& charge) { return run(Action::reset, {charge})[0]; }
  // What is left in a bucket, by a look that costs nothing.
  std::int64_t left(const Charge& charge);
  // Every action, several buckets, shadow and counted charges at random: the model's answers, to the microsecond.
  void expect_answers_of(ModelStore& model, bool clock_may_step_back);

  const std::unique_ptr<RunningStore> store_;
  const Allowance allowance_;
  TimePoint now_ = from_micros(1'800'000'000'000'000);  // a multiple of the window: aligned windows begin here
};

}  // namespace weir::contract
