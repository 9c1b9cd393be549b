// Reservations on real servers: what a call costs, damaged values, servers that forget, a change of master, slots of a
// cluster. What a reservation means is in the contract (tests/contract/reservation_contract.cc).
#include <gtest/gtest.h>

#include <random>

#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kCapacity = 100;
constexpr Duration kHeldFor = seconds(30);

RedisOptions reservation_options(const std::string& url) {
  RedisOptions options = parse_redis_url(url).value();
  options.time = TimeSource::node;
  options.deadline = seconds(2);
  return options;
}

// One node, and what its callers ask.
class ReservingNode {
 public:
  explicit ReservingNode(RedisOptions options) : harness(std::move(options)) {
    rate_ = allowance_of(Algorithm::fixed_window, kCapacity, std::chrono::hours(1));
    slots_ = make_concurrency({.algorithm = {}, .limit = 50, .window = Duration{0}}, kHeldFor).value();
    harness.settle(charge_of(rate_, 0));
  }

  Charge bucket(std::uint64_t number, std::uint64_t tag = 1) const {
    Charge charge = charge_of(rate_, number, tag);
    charge.follows = true;
    return charge;
  }
  Charge slot(std::uint64_t number, std::uint64_t tag = 1) const {
    Charge charge = charge_of(slots_, number, tag);
    charge.kind = ChargeKind::lease;
    return charge;
  }
  Charge record(std::uint64_t id, const Charge& first) const {
    Charge charge = charge_of(none_, 0);
    charge.key = id_of(id);
    charge.tag = first.tag;
    charge.kind = ChargeKind::record;
    return charge;
  }
  static BucketKey id_of(std::uint64_t id) { return {id * 0x9E3779B97F4A7C15, id}; }

  Code ask(Action action, std::uint64_t id, std::vector<Charge> charges, HoldStep& hold, TimePoint now) {
    hold.id = id_of(id);
    hold.reservation = true;
    if (hold.listed == nullptr) charges.push_back(record(id, charges.front()));
    TestCall call(action, charges, now);
    call.hold = &hold;
    harness.run(call);
    return call.status;
  }
  HoldStep reserve(std::uint64_t id, std::int64_t amount, const std::vector<Charge>& charges, TimePoint now) {
    HoldStep hold;
    hold.ttl = kHeldFor;
    hold.amount = amount;
    EXPECT_EQ(ask(Action::take, id, charges, hold, now), Code::ok);
    return hold;
  }
  HoldStep commit(std::uint64_t id, std::int64_t actual, const std::vector<Charge>& charges, TimePoint now) {
    HoldStep hold;
    hold.actual = actual;
    EXPECT_EQ(ask(Action::settle, id, charges, hold, now), Code::ok);
    return hold;
  }
  std::int64_t left(Charge charge, TimePoint now) {
    charge.cost = 0;
    charge.follows = false;
    TestCall call(Action::peek, {charge}, now);
    harness.run(call);
    EXPECT_EQ(call.status, Code::ok);
    return call.outcomes[0].remaining;
  }

  StoreHarness harness;

 private:
  Allowance rate_;
  Allowance slots_;
  Allowance none_;
};

class RedisReservations : public ::testing::Test {
 protected:
  static RedisServer& server() {
    static auto* const instance = new RedisServer;
    return *instance;
  }
  void SetUp() override { server().ask({"FLUSHALL"}); }

  TimePoint now_ = from_micros(1'800'000'000'000'000);
};

TEST_F(RedisReservations, EachStepIsOneScriptCallWhateverElseIsCharged) {
  ReservingNode node(reservation_options(server().url()));
  const std::vector<Charge> charges = {node.bucket(1), node.bucket(2), node.slot(3)};
  const auto calls = [&] { return node.harness.store().stats().script_calls.load(); };
  const auto before = calls();
  EXPECT_EQ(node.reserve(1, 10, charges, now_).state, HoldState::taken);
  EXPECT_EQ(calls() - before, 1u);
  HoldStep longer;
  longer.ttl = kHeldFor;
  longer.amount = 5;
  longer.partial = true;
  EXPECT_EQ(node.ask(Action::renew, 1, charges, longer, now_), Code::ok);
  EXPECT_EQ(longer.granted, 15);
  EXPECT_EQ(node.commit(1, 3, charges, now_).returned, 12);
  EXPECT_EQ(calls() - before, 3u);
  EXPECT_EQ(node.left(node.bucket(1), now_), kCapacity - 3);
}

TEST_F(RedisReservations, KeysLiveAsLongAsTheReservationMatters) {
  RedisOptions options = parse_redis_url(server().url()).value();
  ReservingNode node(options);
  const auto lives_ms = [&](const Charge& charge) { return std::stoll(server().ask({"PTTL", bucket_name(charge)})); };
  EXPECT_EQ(node.reserve(1, 0, {node.bucket(1)}, {}).state, HoldState::taken);
  EXPECT_GT(lives_ms(node.bucket(1)), 25'000);
  EXPECT_LE(lives_ms(node.bucket(1)), 31'000) << "nothing is charged: until the reservation lapses, and a second";
  EXPECT_GT(lives_ms(node.record(1, node.bucket(1))), 55'000) << "it is known for another ttl";
  EXPECT_LE(lives_ms(node.record(1, node.bucket(1))), 61'000);
}

TEST_F(RedisReservations, DamagedValuesAreErrorsOfTheirKeysOnly) {
  ReservingNode node(reservation_options(server().url()));
  const std::vector<Charge> charges = {node.bucket(1)};
  node.reserve(1, 10, charges, now_);
  for (const Charge& damaged : {node.bucket(1), node.record(1, node.bucket(1))}) {
    const std::string name = bucket_name(damaged);
    const std::string whole = server().ask({"GET", name});
    for (const std::string& value : {whole.substr(0, 20), whole.substr(0, 1) + "\x02" + whole.substr(2),
                                     std::string("something that another program wrote")}) {
      server().ask({"SET", name, value});
      HoldStep hold;
      EXPECT_NE(node.ask(Action::settle, 1, charges, hold, now_), Code::ok) << value;
      EXPECT_EQ(server().ask({"GET", name}), value) << "it is not overwritten";
      EXPECT_EQ(node.reserve(7, 1, {node.bucket(2)}, now_).state, HoldState::taken) << "others are not concerned";
      node.commit(7, 0, {node.bucket(2)}, now_);
      server().ask({"DEL", bucket_name(node.record(7, node.bucket(2)))});
    }
    server().ask({"SET", name, whole});
  }
  ASSERT_FALSE(node.harness.bad_buckets.empty());
  EXPECT_NE(node.harness.bad_buckets[0].find("BADSTATE"), std::string::npos) << node.harness.bad_buckets[0];
}

// Bytes changed at random: an error, or an answer within its bounds, and never one that concerns the server.
TEST_F(RedisReservations, AnyValueGivesAnErrorOrAnAnswerWithinItsBounds) {
  ReservingNode node(reservation_options(server().url()));
  const std::vector<Charge> charges = {node.bucket(1)};
  for (std::uint64_t id = 1; id <= 3; ++id) node.reserve(id, 10, charges, now_);
  const std::string names[] = {bucket_name(node.bucket(1)), bucket_name(node.record(1, node.bucket(1)))};
  const std::string wholes[] = {server().ask({"GET", names[0]}), server().ask({"GET", names[1]})};
  SideClient side(server().port());
  std::mt19937_64 random(20'261'118);
  int answered = 0;
  for (int round = 0; round < 1'500; ++round) {
    for (std::size_t i = 0; i < 2; ++i) {
      std::string damaged = wholes[i];
      for (std::uint64_t changes = random() % 3; changes > 0; --changes) {
        damaged[2 + random() % (damaged.size() - 2)] = static_cast<char>(random());
      }
      side.ask({"SET", names[i], damaged});
    }
    HoldStep hold;
    hold.ttl = kHeldFor;
    hold.amount = static_cast<std::int64_t>(random() % 5);
    hold.actual = static_cast<std::int64_t>(random() % 200);
    constexpr Action kActions[] = {Action::take, Action::renew, Action::settle, Action::list};
    std::vector<Charge> asked = charges;
    asked.push_back(node.record(1, charges[0]));
    TestCall call(kActions[random() % 4], asked, now_);
    hold.id = ReservingNode::id_of(1);
    hold.reservation = true;
    call.hold = &hold;
    node.harness.run(call);
    if (call.status != Code::ok) continue;
    ++answered;
    EXPECT_GE(call.outcomes[0].remaining, 0);
    EXPECT_LE(call.outcomes[0].remaining, kCapacity);
    EXPECT_LE(hold.returned, kMaxUnits);
  }
  EXPECT_GT(answered, 100);
  EXPECT_TRUE(node.harness.changes.empty()) << "the breaker stayed closed";
}

// What the page on reservations says of a Redis that loses its keys: the reservation is gone, and nothing is charged.
TEST_F(RedisReservations, AfterFlushallTheyAreGone) {
  ReservingNode node(reservation_options(server().url()));
  const std::vector<Charge> charges = {node.bucket(1)};
  node.reserve(1, 10, charges, now_);
  server().ask({"FLUSHALL"});
  const HoldStep late = node.commit(1, 7, charges, now_);
  EXPECT_EQ(late.state, HoldState::gone);
  EXPECT_EQ(late.reserved, ReservationState::expired);
  EXPECT_EQ(node.left(node.bucket(1), now_), kCapacity);
}

TEST_F(RedisReservations, AServerThatStopsForAWhileLosesNothing) {
  RedisServer own;
  RedisOptions options = reservation_options(own.url());
  options.deadline = milliseconds(100);
  ReservingNode node(options);
  const std::vector<Charge> charges = {node.bucket(1)};
  EXPECT_EQ(node.reserve(1, 10, charges, now_).state, HoldState::taken);
  own.freeze();
  HoldStep hold;
  hold.actual = 4;
  EXPECT_NE(node.ask(Action::settle, 1, charges, hold, now_), Code::ok);
  own.thaw();
  node.harness.settle(charge_of(allowance_of(Algorithm::gcra, 1, seconds(1)), 99));
  const HoldStep again = node.commit(1, 4, charges, now_);
  EXPECT_TRUE(again.state == HoldState::ended || again.reserved == ReservationState::committed);
  EXPECT_EQ(again.actual, 4);
  EXPECT_EQ(node.left(node.bucket(1), now_), kCapacity - 4) << "settling twice does no harm";
}

// Two nodes close at random: each reservation is closed once, and what is left is what was committed.
TEST_F(RedisReservations, TwoNodesCloseEachOnce) {
  ReservingNode nodes[] = {ReservingNode(reservation_options(server().url())),
                           ReservingNode(reservation_options(server().url()))};
  std::mt19937_64 random(20'261'118);
  std::int64_t charged = 0;
  for (std::uint64_t id = 1; id <= 200 && charged < kCapacity - 10; ++id) {
    const std::vector<Charge> charges = {nodes[0].bucket(1)};
    ASSERT_EQ(nodes[id % 2].reserve(id, 5, charges, now_).state, HoldState::taken);
    int closed = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const auto actual = static_cast<std::int64_t>(random() % 2);
      const HoldStep told = nodes[random() % 2].commit(id, actual, charges, now_);
      if (told.state == HoldState::ended) {
        ++closed;
        charged += actual;
      }
    }
    ASSERT_EQ(closed, 1);
    ASSERT_EQ(nodes[0].left(nodes[0].bucket(1), now_), kCapacity - charged);
  }
}

// The parts of one reservation in several slots of a cluster: closed everywhere or nowhere.
class RedisReservationsAcrossSlots : public ::testing::Test {
 protected:
  RedisReservationsAcrossSlots() : node_(reservation_options(cluster_.url())) {}
  std::vector<Charge> charges() const { return {node_.bucket(1, 1), node_.bucket(2, 2), node_.slot(3, 3)}; }

  ClusterGroup cluster_;
  ReservingNode node_;
  TimePoint now_ = from_micros(1'800'000'000'000'000);
};

TEST_F(RedisReservationsAcrossSlots, ADenialInOneSlotIsUndoneInTheOthers) {
  EXPECT_EQ(node_.reserve(1, 95, {node_.bucket(2, 2)}, now_).state, HoldState::taken);
  EXPECT_EQ(node_.reserve(2, 10, charges(), now_).state, HoldState::none);
  node_.harness.run_until("it is undone", [&] { return node_.left(node_.bucket(1, 1), now_) == kCapacity; });
  EXPECT_EQ(node_.left(node_.bucket(2, 2), now_), 5);
  node_.harness.run_until("its slot is free", [&] { return node_.left(node_.slot(3, 3), now_) == 50; });
  EXPECT_EQ(node_.commit(2, 1, charges(), now_).reserved, ReservationState::expired) << "it never was";
}

// Operations are used again: what one was about a reservation must not be part of the next one's undo.
TEST_F(RedisReservationsAcrossSlots, ADeniedCheckAfterAReservationLeavesNothingCharged) {
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(node_.reserve(id, 1, {node_.bucket(4, 4), node_.slot(3, 3)}, now_).state, HoldState::taken);
    Charge fits = node_.bucket(1, 1);
    Charge too_large = node_.bucket(2, 2);
    fits.follows = too_large.follows = false;
    fits.cost = 10;
    too_large.cost = kCapacity + 1;
    TestCall call(Action::take, {fits, too_large}, now_);
    node_.harness.run(call);
    ASSERT_EQ(call.status, Code::ok);
    EXPECT_FALSE(call.outcomes[1].admitted);
    node_.harness.run_until("it is undone", [&] { return node_.left(node_.bucket(1, 1), now_) == kCapacity; });
  }
}

TEST_F(RedisReservationsAcrossSlots, WhatTakesNoSlotNeedsNoToken) {
  Charge one = node_.slot(3, 3);
  Charge other = node_.slot(4, 4);
  EXPECT_EQ(node_.reserve(1, 1, {node_.bucket(1, 1), one, other}, now_).state, HoldState::taken);
  one.cost = other.cost = 0;
  EXPECT_EQ(node_.reserve(2, 1, {node_.bucket(1, 1), one, other}, now_ + seconds(1)).state, HoldState::taken);
  EXPECT_EQ(node_.left(node_.slot(3, 3), now_), 49);
}

TEST_F(RedisReservationsAcrossSlots, ADeadClosersWorkIsDoneByTheNext) {
  EXPECT_EQ(node_.reserve(1, 10, charges(), now_).state, HoldState::taken);
  // The record's slot only: as if the closer had died after it.
  EXPECT_EQ(node_.commit(1, 4, {node_.bucket(1, 1)}, now_).state, HoldState::ended);
  EXPECT_EQ(node_.left(node_.bucket(2, 2), now_), kCapacity - 10);
  const HoldStep again = node_.commit(1, 9, charges(), now_);
  EXPECT_EQ(again.state, HoldState::gone);
  EXPECT_EQ(again.actual, 4);
  EXPECT_EQ(node_.left(node_.bucket(2, 2), now_), kCapacity - 4) << "as the record says";
  EXPECT_EQ(node_.left(node_.slot(3, 3), now_), 50);
  node_.commit(1, 9, charges(), now_);
  EXPECT_EQ(node_.left(node_.bucket(2, 2), now_), kCapacity - 4) << "and not twice";
}

TEST_F(RedisReservationsAcrossSlots, AnExtensionThatOneSlotDeniesChangesNothing) {
  EXPECT_EQ(node_.reserve(1, 10, charges(), now_).state, HoldState::taken);
  EXPECT_EQ(node_.reserve(2, 85, {node_.bucket(2, 2)}, now_).state, HoldState::taken);
  HoldStep more;
  more.ttl = 2 * kHeldFor;
  more.amount = 10;
  EXPECT_EQ(node_.ask(Action::renew, 1, charges(), more, now_), Code::ok);
  EXPECT_EQ(more.state, HoldState::none);
  node_.harness.run_until("it is undone", [&] { return node_.left(node_.bucket(1, 1), now_) == kCapacity - 10; });
  more.amount = 5;
  EXPECT_EQ(node_.ask(Action::renew, 1, charges(), more, now_), Code::ok);
  EXPECT_EQ(more.state, HoldState::live);
  EXPECT_EQ(more.granted, 15);
  EXPECT_EQ(node_.commit(1, 0, charges(), now_).returned, 15);
  EXPECT_EQ(node_.left(node_.bucket(2, 2), now_), 15);
}

// The replicas have what the master had, unless it died before it sent it.
TEST(RedisReservationsWithSentinel, SurviveAChangeOfTheMaster) {
  SentinelGroup group;
  RedisOptions options = parse_redis_url(group.url()).value();
  options.deadline = milliseconds(500);
  ReservingNode node(options);
  const std::vector<Charge> charges = {node.bucket(1)};
  EXPECT_EQ(node.reserve(1, 40, charges, {}).state, HoldState::taken);
  const int old_master = group.master_index();
  ASSERT_GE(old_master, 0);
  group.server(static_cast<std::size_t>(old_master)).ask({"WAIT", "2", "1000"});
  group.server(static_cast<std::size_t>(old_master)).kill();
  eventually(
      "another master", [&] { return group.master_index() != old_master && group.master_index() >= 0; }, seconds(60));
  node.harness.settle(charge_of(allowance_of(Algorithm::gcra, 1, seconds(1)), 99));
  EXPECT_EQ(node.left(node.bucket(1), {}), 60);
  EXPECT_EQ(node.commit(1, 15, charges, {}).returned, 25);
  EXPECT_EQ(node.left(node.bucket(1), {}), 85);
}

}  // namespace
}  // namespace weir::redis::testing
