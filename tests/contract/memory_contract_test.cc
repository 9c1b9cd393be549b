#include "stores/memory/memory_store.h"
#include "tests/contract/candidate_contract.h"
#include "tests/contract/distinct_contract.h"
#include "tests/contract/draw_contract.h"
#include "tests/contract/lease_contract.h"
#include "tests/contract/penalty_contract.h"
#include "tests/contract/reservation_contract.h"
#include "tests/contract/store_contract.h"

namespace weir::contract {
namespace {

class RunningMemoryStore final : public RunningStore {
 public:
  void answer(StoreCall& call) override { ASSERT_TRUE(store_.begin(call)); }

 private:
  memory::MemoryStore store_;
};

const StoreFactory kMemory{"memory", [] { return std::make_unique<RunningMemoryStore>(); }};

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract,
                         testing::Combine(testing::Values(kMemory), testing::ValuesIn(all_algorithms())),
                         contract_name);

INSTANTIATE_TEST_SUITE_P(Memory, DrawContract,
                         testing::Combine(testing::Values(kMemory), testing::ValuesIn(all_algorithms())),
                         contract_name);

INSTANTIATE_TEST_SUITE_P(Memory, LeaseContract, testing::Values(kMemory), lease_contract_name);

INSTANTIATE_TEST_SUITE_P(Memory, PenaltyContract, testing::Values(kMemory), penalty_contract_name);

INSTANTIATE_TEST_SUITE_P(Memory, DistinctContract, testing::Values(kMemory), distinct_contract_name);

INSTANTIATE_TEST_SUITE_P(Memory, CandidateContract, testing::Values(kMemory), candidate_contract_name);

INSTANTIATE_TEST_SUITE_P(Memory, ReservationContract,
                         testing::Combine(testing::Values(kMemory), testing::ValuesIn(all_algorithms())),
                         contract_name);

}  // namespace
}  // namespace weir::contract
