// Leases on real servers: what a call costs, damaged values, several nodes, servers that forget, a change of master.
// What a lease means is in the contract (tests/contract/lease_contract.cc).
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kLimit = 5;
constexpr Duration kTtl = seconds(30);

RedisOptions with_given_time(const std::string& url) {
  RedisOptions options = parse_redis_url(url).value();
  options.time = TimeSource::node;
  options.deadline = seconds(2);
  return options;
}

// One node, and the leases that its callers believe they have.
class LeaseNode {
 public:
  explicit LeaseNode(RedisOptions options) : harness(std::move(options)) {
    concurrency_ = make_concurrency({.algorithm = {}, .limit = kLimit, .window = Duration{0}}, kTtl).value();
    harness.settle(slot(0));
  }

  Charge slot(std::uint64_t number, std::uint64_t tag = 1) const {
    Charge charge = charge_of(concurrency_, number, tag);
    charge.kind = ChargeKind::lease;
    return charge;
  }
  // Code::ok, or why there was no answer.
  Code ask(Action action, const std::vector<Charge>& charges, HoldStep& hold, TimePoint now) {
    TestCall call(action, charges, now);
    call.hold = &hold;
    harness.run(call);
    return call.status;
  }
  HoldStep acquire(std::uint64_t id, const std::vector<Charge>& charges, TimePoint now, bool named = false) {
    HoldStep hold;
    hold.id = {id * 0x9E3779B97F4A7C15, id};
    hold.ttl = kTtl;
    hold.named = named;
    EXPECT_EQ(ask(Action::take, charges, hold, now), Code::ok);
    return hold;
  }
  std::int64_t held(const Charge& charge, TimePoint now) {
    std::vector<ListedHold> listed;
    HoldStep hold;
    hold.listed = &listed;
    EXPECT_EQ(ask(Action::list, {charge}, hold, now), Code::ok);
    return static_cast<std::int64_t>(listed.size());
  }

  StoreHarness harness;

 private:
  Allowance concurrency_;
};

class RedisLeases : public ::testing::Test {
 protected:
  static RedisServer& server() {
    static auto* const instance = new RedisServer;
    return *instance;
  }
  void SetUp() override { server().ask({"FLUSHALL"}); }

  TimePoint now_ = from_micros(1'800'000'000'000'000);
};

TEST_F(RedisLeases, EachCallIsOneScriptCallWhateverElseIsCharged) {
  LeaseNode node(with_given_time(server().url()));
  const Allowance rate = allowance_of(Algorithm::token_bucket, 10, seconds(10));
  const std::vector<Charge> charges = {node.slot(1), charge_of(rate, 2), node.slot(3)};
  const auto calls = [&] { return node.harness.store().stats().script_calls.load(); };
  const auto before = calls();
  HoldStep hold = node.acquire(1, charges, now_);
  EXPECT_EQ(hold.state, HoldState::taken);
  EXPECT_EQ(calls() - before, 1u);
  EXPECT_EQ(node.ask(Action::renew, charges, hold, now_), Code::ok);
  EXPECT_EQ(node.ask(Action::settle, charges, hold, now_), Code::ok);
  EXPECT_EQ(hold.state, HoldState::ended);
  EXPECT_EQ(calls() - before, 3u);
}

TEST_F(RedisLeases, AKeyLivesAsLongAsItsLeasesMatter) {
  LeaseNode node(parse_redis_url(server().url()).value());
  const auto lives_ms = [&](std::uint64_t number) {
    return std::stoll(server().ask({"PTTL", bucket_name(node.slot(number))}));
  };
  node.acquire(1, {node.slot(1)}, {});
  EXPECT_GT(lives_ms(1), 25'000);
  EXPECT_LE(lives_ms(1), 31'000) << "the ttl and a second of grace";
  node.acquire(2, {node.slot(2)}, {}, /*named=*/true);
  EXPECT_GT(lives_ms(2), 55'000) << "an id made by a client is known for another ttl";
  EXPECT_LE(lives_ms(2), 61'000);
}

TEST_F(RedisLeases, ADamagedValueIsAnErrorOfItsKeyOnly) {
  LeaseNode node(with_given_time(server().url()));
  const std::string name = bucket_name(node.slot(1));
  node.acquire(9, {node.slot(1)}, now_);
  const std::string whole = server().ask({"GET", name});
  ASSERT_EQ(whole.size(), 36u + 37u + 7u);
  const std::string later_version = std::string("S\x02") + whole.substr(2);
  for (const std::string& damaged : {whole.substr(0, whole.size() - 1), whole + "x", std::string("S"), later_version,
                                     std::string("something that another program wrote")}) {
    server().ask({"SET", name, damaged});
    const std::size_t told = node.harness.bad_buckets.size();
    HoldStep hold;
    hold.ttl = kTtl;
    EXPECT_NE(node.ask(Action::take, {node.slot(1)}, hold, now_), Code::ok) << damaged;
    EXPECT_EQ(server().ask({"GET", name}), damaged) << "it is not overwritten";
    EXPECT_LE(node.harness.bad_buckets.size(), told + 1);
    EXPECT_EQ(node.acquire(1, {node.slot(2)}, now_).state, HoldState::taken) << "other keys are not concerned";
    server().ask({"DEL", bucket_name(node.slot(2))});
  }
  ASSERT_FALSE(node.harness.bad_buckets.empty());
  EXPECT_NE(node.harness.bad_buckets[0].find("BADSTATE"), std::string::npos) << node.harness.bad_buckets[0];
}

// Bytes changed at random, as a program that can write to Redis may do: an error, or an answer within its bounds, and
// never one that concerns the server.
TEST_F(RedisLeases, AnyValueGivesAnErrorOrAnAnswerWithinItsBounds) {
  LeaseNode node(with_given_time(server().url()));
  for (std::uint64_t i = 0; i < 3; ++i) node.acquire(i, {node.slot(1)}, now_, i == 1);
  const std::string name = bucket_name(node.slot(1));
  const std::string whole = server().ask({"GET", name});
  SideClient side(server().port());
  std::mt19937_64 random(20'261'118);
  int answered = 0;
  for (int round = 0; round < 1'500; ++round) {
    std::string damaged = whole;
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      damaged[2 + random() % (damaged.size() - 2)] = static_cast<char>(random());
    }
    side.ask({"SET", name, damaged});
    HoldStep hold;
    hold.id = {(random() % 5) * 0x9E3779B97F4A7C15, random() % 5};
    hold.ttl = kTtl;
    hold.named = random() % 2 == 0;
    hold.expires = now_ + kTtl;
    std::vector<ListedHold> listed;
    hold.listed = &listed;
    constexpr Action kActions[] = {Action::take, Action::renew, Action::settle, Action::list};
    TestCall call(kActions[random() % 4], {node.slot(1)}, now_);
    call.hold = &hold;
    node.harness.run(call);
    if (call.status != Code::ok) continue;
    ++answered;
    EXPECT_GE(call.outcomes[0].remaining, 0);
    EXPECT_LE(call.outcomes[0].remaining, kLimit);
    EXPECT_LE(listed.size(), 4u);
  }
  EXPECT_GT(answered, 100);
  EXPECT_TRUE(node.harness.changes.empty()) << "the breaker stayed closed";
}

// A bucket of another algorithm under the same key is empty for leases, as after a change of the rule.
TEST_F(RedisLeases, ABucketOfAnotherAlgorithmCountsAsEmpty) {
  LeaseNode node(with_given_time(server().url()));
  const Allowance rate = allowance_of(Algorithm::token_bucket, 10, seconds(10));
  TestCall call(Action::take, {charge_of(rate, 1)}, now_);
  node.harness.run(call);
  EXPECT_EQ(node.acquire(1, {node.slot(1)}, now_).state, HoldState::taken);
  TestCall again(Action::take, {charge_of(rate, 1)}, now_);
  node.harness.run(again);
  EXPECT_EQ(again.outcomes[0].remaining, 9);
}

// The script forgets what is over, so that a value has a bound.
TEST_F(RedisLeases, AValueDoesNotGrowWithLeasesThatAreOver) {
  LeaseNode node(with_given_time(server().url()));
  std::size_t largest = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    now_ += seconds(1);
    HoldStep hold = node.acquire(i, {node.slot(1)}, now_, /*named=*/true);
    ASSERT_EQ(hold.state, HoldState::taken) << i;
    node.ask(Action::settle, {node.slot(1)}, hold, now_);
    largest = std::max(largest, server().ask({"GET", bucket_name(node.slot(1))}).size());
  }
  EXPECT_LE(largest, 36u + 7u + 64u * 37u) << "30 ids are remembered at a time";
}

// Slots of one lease in several slots of a cluster. At random, with ids that come again: no bucket ever holds more than
// its limit, and what was released everywhere is held nowhere.
TEST(RedisLeasesAcrossSlots, NeverHoldMoreThanTheLimit) {
  ClusterGroup cluster;
  LeaseNode node(with_given_time(cluster.url()));
  TimePoint now = from_micros(1'800'000'000'000'000);
  std::mt19937_64 random(20'261'118);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  std::map<std::uint64_t, std::pair<HoldStep, std::vector<Charge>>> believed;
  std::uint64_t last_token = 0;
  for (std::uint64_t step = 0; step < 600; ++step) {
    now += milliseconds(below(3'000));
    if (below(2) == 0 || believed.empty()) {
      std::vector<Charge> charges;
      for (std::uint64_t i = 1; i <= 3; ++i) {
        if (below(3) != 0) charges.push_back(node.slot(i, i));
      }
      if (charges.empty()) continue;
      const HoldStep hold = node.acquire(step, charges, now, below(2) == 0);
      if (hold.state != HoldState::taken) continue;
      ASSERT_GT(hold.token, last_token) << "whichever slots it has";
      last_token = hold.token;
      believed[step] = {hold, charges};
    } else {
      auto at = believed.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(below(believed.size())));
      auto& [hold, charges] = at->second;
      const Action action = below(2) == 0 ? Action::renew : Action::settle;
      ASSERT_EQ(node.ask(action, charges, hold, now), Code::ok);
      if (hold.state != HoldState::live) believed.erase(at);
    }
    for (std::uint64_t i = 1; i <= 3; ++i) {
      const auto key = node.slot(i, i).key;
      const auto holders = std::count_if(believed.begin(), believed.end(), [&](const auto& each) {
        const auto& [hold, charges] = each.second;
        return hold.expires > now &&
               std::any_of(charges.begin(), charges.end(), [&](const Charge& charge) { return charge.key == key; });
      });
      ASSERT_LE(holders, kLimit) << "step " << step;
      ASSERT_EQ(node.held(node.slot(i, i), now), holders) << "step " << step << ", slot " << i;
    }
  }
}

TEST(RedisLeasesAcrossSlots, AnIdChargesOtherSlotsOnce) {
  ClusterGroup cluster;
  LeaseNode node(with_given_time(cluster.url()));
  const TimePoint now = from_micros(1'800'000'000'000'000);
  const Allowance rate = allowance_of(Algorithm::token_bucket, 10, seconds(10));
  const std::vector<Charge> charges = {node.slot(1, 1), charge_of(rate, 2, 2)};
  const auto left = [&] {
    TestCall call(Action::peek, {charge_of(rate, 2, 2)}, now);
    node.harness.run(call);
    return call.outcomes[0].remaining;
  };
  const HoldStep first = node.acquire(1, charges, now, /*named=*/true);
  EXPECT_EQ(first.state, HoldState::taken);
  EXPECT_EQ(left(), 9);
  const HoldStep again = node.acquire(1, charges, now, /*named=*/true);
  EXPECT_EQ(again.state, HoldState::live);
  EXPECT_EQ(again.token, first.token);
  node.harness.run_until("it is undone", [&] { return left() == 9; });
  HoldStep ended = first;
  ASSERT_EQ(node.ask(Action::settle, {node.slot(1, 1)}, ended, now), Code::ok);
  EXPECT_EQ(node.acquire(1, charges, now, /*named=*/true).state, HoldState::gone);
  node.harness.run_until("it is undone", [&] { return left() == 9; });
}

// Their tokens differ, and there is no lease to write the larger one to.
TEST(RedisLeasesAcrossSlots, ACostOfNothingIsAnsweredAndTakesNoSlot) {
  ClusterGroup cluster;
  LeaseNode node(with_given_time(cluster.url()));
  const TimePoint now = from_micros(1'800'000'000'000'000);
  std::vector<Charge> charges = {node.slot(1, 1), node.slot(2, 2), node.slot(3, 3)};
  node.acquire(1, {charges[0]}, now);
  node.acquire(2, {charges[1]}, now + seconds(1));
  for (Charge& charge : charges) charge.cost = 0;
  for (const bool named : {false, true}) {
    EXPECT_EQ(node.acquire(named ? 4 : 3, charges, now, named).state, HoldState::taken);
  }
  charges[2].cost = 1;
  EXPECT_EQ(node.acquire(5, charges, now).state, HoldState::taken);
  EXPECT_EQ(node.held(charges[0], now), 1);
  EXPECT_EQ(node.held(charges[2], now), 1);
}

// What the page on leases says of a Redis that loses its keys: for at most one TTL, twice the limit.
TEST_F(RedisLeases, AfterFlushallThereAreAtMostTwiceAsManyHoldersForOneTtl) {
  LeaseNode node(with_given_time(server().url()));
  std::vector<HoldStep> old_holders;
  for (std::int64_t i = 0; i < kLimit; ++i) {
    old_holders.push_back(node.acquire(static_cast<std::uint64_t>(i), {node.slot(1)}, now_));
  }
  now_ += seconds(5);
  server().ask({"FLUSHALL"});
  std::int64_t newcomers = 0;
  for (std::uint64_t i = 100; i < 103; ++i) {
    newcomers += node.acquire(i, {node.slot(1)}, now_).state == HoldState::taken ? 1 : 0;
  }
  EXPECT_EQ(newcomers, 3);
  // The first to renew have the slots that are left, and the others are told.
  std::int64_t kept = 0;
  for (HoldStep& each : old_holders) {
    ASSERT_EQ(node.ask(Action::renew, {node.slot(1)}, each, now_), Code::ok);
    ASSERT_TRUE(each.state == HoldState::live || each.state == HoldState::gone);
    kept += each.state == HoldState::live ? 1 : 0;
  }
  EXPECT_EQ(kept + newcomers, kLimit) << "each holder has renewed, and the limit is kept";
  EXPECT_EQ(node.held(node.slot(1), now_), kLimit);
}

TEST_F(RedisLeases, AServerThatIsAwayChangesNothing) {
  RedisServer own;
  RedisOptions options = with_given_time(own.url());
  options.deadline = milliseconds(100);
  LeaseNode node(options);
  HoldStep hold = node.acquire(1, {node.slot(1)}, now_);
  own.kill();
  node.harness.run_until("the call fails", [&] {
    HoldStep renewed = hold;
    renewed.state = HoldState::none;
    return node.ask(Action::renew, {node.slot(1)}, renewed, now_) != Code::ok && renewed.state == HoldState::none;
  });
}

// The replicas have what the master had, unless it died before it sent it: then those holders are told at their next
// renewal, as after FLUSHALL.
TEST(RedisLeasesWithSentinel, SurviveAChangeOfTheMaster) {
  SentinelGroup group;
  RedisOptions options = parse_redis_url(group.url()).value();
  options.deadline = milliseconds(500);
  LeaseNode node(options);
  std::vector<HoldStep> holders;
  for (std::int64_t i = 0; i < kLimit; ++i)
    holders.push_back(node.acquire(static_cast<std::uint64_t>(i), {node.slot(1)}, {}));
  const int old_master = group.master_index();
  ASSERT_GE(old_master, 0);
  group.server(static_cast<std::size_t>(old_master)).ask({"WAIT", "2", "1000"});
  group.server(static_cast<std::size_t>(old_master)).kill();
  eventually(
      "another master", [&] { return group.master_index() != old_master && group.master_index() >= 0; }, seconds(60));
  node.harness.settle(node.slot(0));
  EXPECT_EQ(node.acquire(100, {node.slot(1)}, {}).state, HoldState::none) << "all slots are taken there too";
  for (HoldStep& each : holders) {
    const std::uint64_t token = each.token;
    ASSERT_EQ(node.ask(Action::renew, {node.slot(1)}, each, {}), Code::ok);
    EXPECT_EQ(each.state, HoldState::live);
    EXPECT_EQ(each.token, token);
  }
  ASSERT_EQ(node.ask(Action::settle, {node.slot(1)}, holders[0], {}), Code::ok);
  const HoldStep next = node.acquire(101, {node.slot(1)}, {});
  EXPECT_EQ(next.state, HoldState::taken);
  EXPECT_GT(next.token, holders.back().token);
}

}  // namespace
}  // namespace weir::redis::testing
