// The contract of all stores, on every topology. Servers are started once for the whole program and emptied before each
// scenario.
#include <map>

#include "tests/contract/candidate_contract.h"
#include "tests/contract/distinct_contract.h"
#include "tests/contract/draw_contract.h"
#include "tests/contract/lease_contract.h"
#include "tests/contract/penalty_contract.h"
#include "tests/contract/reservation_contract.h"
#include "tests/contract/store_contract.h"
#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using contract::CandidateContract;
using contract::DistinctContract;
using contract::DrawContract;
using contract::LeaseContract;
using contract::PenaltyContract;
using contract::ReservationContract;
using contract::RunningStore;
using contract::StoreContract;
using contract::StoreFactory;

// One of each, made when first needed.
class Servers final : public ::testing::Environment {
 public:
  static Servers& get() {
    static auto* const environment = static_cast<Servers*>(::testing::AddGlobalTestEnvironment(new Servers));
    return *environment;
  }
  void TearDown() override {
    standalone_.reset();
    sentinels_.reset();
    cluster_.reset();
  }
  RedisServer& standalone() { return made(standalone_); }
  SentinelGroup& sentinels() { return made(sentinels_); }
  ClusterGroup& cluster() { return made(cluster_); }

 private:
  template <typename Group>
  Group& made(std::unique_ptr<Group>& group) {
    if (!group) group = std::make_unique<Group>();
    return *group;
  }
  std::unique_ptr<RedisServer> standalone_;
  std::unique_ptr<SentinelGroup> sentinels_;
  std::unique_ptr<ClusterGroup> cluster_;
};

RedisOptions with_given_time(const std::string& url) {
  RedisOptions options = parse_redis_url(url).value();
  options.time = TimeSource::node;
  options.deadline = std::chrono::seconds(2);
  return options;
}

class RunningRedis final : public RunningStore {
 public:
  // With `spread`, each bucket gets a tag of its own, so that calls over several buckets span slots.
  explicit RunningRedis(const std::string& url, bool spread = false) : harness_(with_given_time(url)), spread_(spread) {
    const Allowance any = allowance_of(Algorithm::gcra, 1, std::chrono::seconds(1));
    harness_.settle(charge_of(any, 0));
  }

  void answer(StoreCall& call) override {
    std::vector<Charge> charges(call.charges.begin(), call.charges.end());
    for (Charge& charge : charges) {
      const bool belongs = charge.kind == ChargeKind::penalty || charge.candidate;
      if (spread_) charge.tag = belongs ? charges[charge.of].key : charge.key;
    }
    TestCall inner(call.action, charges, call.now);
    inner.hold = call.hold;
    inner.draw = call.draw;
    harness_.run(inner);
    call.status = inner.status;
    call.atomic = inner.atomic;
    std::copy(inner.outcomes.begin(), inner.outcomes.end(), call.outcomes.begin());
  }

 private:
  StoreHarness harness_;
  const bool spread_;
};

std::unique_ptr<RunningStore> on_cluster(bool spread) {
  ClusterGroup& cluster = Servers::get().cluster();
  for (std::size_t i = 0; i < cluster.size(); ++i) cluster.server(i).ask({"FLUSHALL"});
  return std::make_unique<RunningRedis>(cluster.url(), spread);
}

const StoreFactory kStandalone{"redis", [] {
                                 RedisServer& server = Servers::get().standalone();
                                 server.ask({"FLUSHALL"});
                                 return std::make_unique<RunningRedis>(server.url());
                               }};
const StoreFactory kSentinel{"sentinel", [] {
                               SentinelGroup& group = Servers::get().sentinels();
                               group.server(0).ask({"FLUSHALL"});
                               return std::make_unique<RunningRedis>(group.url());
                             }};
const StoreFactory kCluster{"cluster", [] { return on_cluster(false); }};
const StoreFactory kAcrossSlots{"across_slots", [] { return on_cluster(true); }, true};

auto with_all_algorithms(const StoreFactory& factory) {
  return ::testing::Combine(::testing::Values(factory), ::testing::ValuesIn(contract::all_algorithms()));
}

INSTANTIATE_TEST_SUITE_P(Standalone, StoreContract, with_all_algorithms(kStandalone), contract::contract_name);
INSTANTIATE_TEST_SUITE_P(Sentinel, StoreContract, with_all_algorithms(kSentinel), contract::contract_name);
INSTANTIATE_TEST_SUITE_P(Cluster, StoreContract, with_all_algorithms(kCluster), contract::contract_name);
INSTANTIATE_TEST_SUITE_P(AcrossSlots, StoreContract, with_all_algorithms(kAcrossSlots), contract::contract_name);

INSTANTIATE_TEST_SUITE_P(Standalone, DrawContract, with_all_algorithms(kStandalone), contract::contract_name);
INSTANTIATE_TEST_SUITE_P(Cluster, DrawContract, with_all_algorithms(kCluster), contract::contract_name);

INSTANTIATE_TEST_SUITE_P(Redis, LeaseContract, ::testing::Values(kStandalone, kSentinel, kCluster, kAcrossSlots),
                         contract::lease_contract_name);

INSTANTIATE_TEST_SUITE_P(Redis, PenaltyContract, ::testing::Values(kStandalone, kSentinel, kCluster, kAcrossSlots),
                         contract::penalty_contract_name);
INSTANTIATE_TEST_SUITE_P(Redis, DistinctContract, ::testing::Values(kStandalone, kSentinel, kCluster, kAcrossSlots),
                         contract::distinct_contract_name);
INSTANTIATE_TEST_SUITE_P(Redis, CandidateContract, ::testing::Values(kStandalone, kSentinel, kCluster, kAcrossSlots),
                         contract::candidate_contract_name);
INSTANTIATE_TEST_SUITE_P(Standalone, ReservationContract, with_all_algorithms(kStandalone), contract::contract_name);
INSTANTIATE_TEST_SUITE_P(Sentinel, ReservationContract, with_all_algorithms(kSentinel), contract::contract_name);
INSTANTIATE_TEST_SUITE_P(Cluster, ReservationContract, with_all_algorithms(kCluster), contract::contract_name);
INSTANTIATE_TEST_SUITE_P(AcrossSlots, ReservationContract, with_all_algorithms(kAcrossSlots), contract::contract_name);

}  // namespace
}  // namespace weir::redis::testing
