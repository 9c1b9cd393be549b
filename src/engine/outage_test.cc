// What failure policies admit while the store is away is charged to it when it answers again.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// A shared store that can be away. Answers on begin(), but does not promise to.
class RemoteStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    if (failure != Code::ok) {
      call.status = failure;
      return true;
    }
    ++calls;
    for (const Charge& charge : call.charges) {
      if (charge.region != nullptr) regional_units += call.action == Action::take ? charge.cost : 0;
    }
    return memory.begin(call);
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "redis"; }

  Code failure = Code::ok;
  int calls = 0;
  std::int64_t regional_units = 0;  // taken of limits that regions share
  memory::MemoryStore memory{MemoryOptions{}};
};

Rule rule_of(Algorithm algorithm, FailurePolicy policy) {
  Rule rule;
  rule.id = "r";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = algorithm, .limit = 10, .window = 100s};
  rule.on_store_failure = policy;
  rule.static_limit = 8;
  return rule;
}

class OutageTest : public testing::Test {
 protected:
  void use(const Rule& rule) {
    auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace({.rules = {rule}}).ok());
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    options.prefilter = false;
    engine_ = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }
  int admitted(int requests, const std::string& tenant = "acme") {
    int count = 0;
    for (int i = 0; i < requests; ++i) count += engine_->check({{"tenant", tenant}}).allowed ? 1 : 0;
    return count;
  }
  // By a peek, which any answer of the store precedes.
  std::int64_t left(const std::string& tenant = "acme") {
    engine_->check({{"tenant", "other"}});
    const Attribute attributes[] = {{"tenant", tenant}};
    Request request(attributes);
    request.peek = true;
    return engine_->check(request).rules[0].remaining;
  }

  std::shared_ptr<RemoteStore> store_ = std::make_shared<RemoteStore>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(OutageTest, NoSubjectGetsBothAllowances) {
  for (const FailurePolicy policy :
       {FailurePolicy::allow, FailurePolicy::degrade, FailurePolicy::local, FailurePolicy::static_limit}) {
    use(rule_of(Algorithm::sliding_log, policy));
    const std::string tenant = "t" + std::string(failure_policy_name(policy));
    EXPECT_EQ(admitted(2, tenant), 2);
    store_->failure = Code::unavailable;
    const int without = admitted(5, tenant);
    EXPECT_EQ(without, 5);
    store_->failure = Code::ok;
    EXPECT_EQ(left(tenant), 10 - 2 - 5) << failure_policy_name(policy);
    EXPECT_EQ(engine_->outage_totals().charged, 5U);
    EXPECT_EQ(engine_->outage_totals().subjects, 0U);
    // Once.
    EXPECT_EQ(left(tenant), 3);
  }
}

TEST_F(OutageTest, WhatARegionAdmittedAloneIsChargedToItsPartOfTheLimit) {
  for (const RegionSharing sharing : {RegionSharing::slices, RegionSharing::reconcile}) {
    Rule rule = rule_of(Algorithm::fixed_window, FailurePolicy::allow);
    rule.region = sharing;
    if (sharing == RegionSharing::reconcile) rule.tolerance = Share{.amount = 2};
    use(rule);
    const std::string tenant = sharing == RegionSharing::slices ? "slices" : "reconcile";
    store_->failure = Code::unavailable;
    EXPECT_EQ(admitted(5, tenant), 5);
    store_->failure = Code::ok;
    store_->regional_units = 0;
    EXPECT_EQ(left(tenant), 5);
    EXPECT_EQ(store_->regional_units, 5 + 1) << "as a charge that regions share, beside the one of left()";
  }
}

// Its home is another store than the one that answers again.
TEST_F(OutageTest, WhatWasAdmittedUnderACentralRuleIsNotChargedLater) {
  Rule rule = rule_of(Algorithm::fixed_window, FailurePolicy::allow);
  rule.region = RegionSharing::central;
  rule.home = "eu";
  use(rule);
  store_->failure = Code::unavailable;
  EXPECT_EQ(admitted(5), 5);
  EXPECT_EQ(engine_->outage_totals().admitted, 0U);
}

TEST_F(OutageTest, WhatDoesNotFitBecomesDebt) {
  use(rule_of(Algorithm::token_bucket, FailurePolicy::allow));
  EXPECT_EQ(admitted(10), 10);
  store_->failure = Code::unavailable;
  EXPECT_EQ(admitted(7), 7);
  store_->failure = Code::ok;
  EXPECT_EQ(left(), 0);
  clock_->advance(60s);  // repays six of seven
  EXPECT_EQ(admitted(1), 0);
  clock_->advance(20s);
  EXPECT_EQ(admitted(2), 1);
}

TEST_F(OutageTest, WhatTimeHasRepaidIsNotCharged) {
  use(rule_of(Algorithm::token_bucket, FailurePolicy::allow));
  store_->failure = Code::unavailable;
  EXPECT_EQ(admitted(6), 6);
  clock_->advance(40s);
  store_->failure = Code::ok;
  EXPECT_EQ(left(), 10 - 2);
  EXPECT_EQ(engine_->outage_totals().repaid, 4U);
  EXPECT_EQ(engine_->outage_totals().charged, 2U);
}

TEST_F(OutageTest, AWindowThatHasEndedOwesNothing) {
  use(rule_of(Algorithm::fixed_window, FailurePolicy::allow));
  store_->failure = Code::unavailable;
  EXPECT_EQ(admitted(6), 6);
  clock_->advance(100s);
  store_->failure = Code::ok;
  EXPECT_EQ(left(), 10);
  EXPECT_EQ(engine_->outage_totals().repaid, 6U);
}

TEST_F(OutageTest, AtMostOneCapacityIsOwed) {
  use(rule_of(Algorithm::fixed_window, FailurePolicy::allow));
  store_->failure = Code::unavailable;
  EXPECT_EQ(admitted(50), 50);
  store_->failure = Code::ok;
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(engine_->outage_totals().charged, 10U);
  EXPECT_EQ(engine_->outage_totals().over_capacity, 40U);
  EXPECT_EQ(engine_->outage_totals().repaid, 0U);
}

TEST_F(OutageTest, WhatIsBeyondOneCapacityIsNotSaidToBeRepaid) {
  for (const Algorithm algorithm : {Algorithm::token_bucket, Algorithm::sliding_log, Algorithm::fixed_window}) {
    use(rule_of(algorithm, FailurePolicy::allow));
    store_->failure = Code::unavailable;
    EXPECT_EQ(admitted(8), 8);
    EXPECT_TRUE(engine_->check(Request({{"tenant", "acme"}}, Cost{5})).allowed);  // 2 of them fit
    EXPECT_EQ(admitted(3), 3);
    clock_->advance(1000s);  // all is repaid, or its window has ended
    EXPECT_EQ(admitted(12), 12);
    store_->failure = Code::ok;
    EXPECT_EQ(left(), 0) << algorithm_name(algorithm);
    const OutageDebts::Totals totals = engine_->outage_totals();
    EXPECT_EQ(totals.admitted, 28U);
    EXPECT_EQ(totals.charged, 10U) << algorithm_name(algorithm);
    EXPECT_EQ(totals.repaid, 10U) << algorithm_name(algorithm);
    EXPECT_EQ(totals.over_capacity, 8U) << algorithm_name(algorithm);
  }
}

TEST_F(OutageTest, ACallThatMayHaveBeenChargedIsNotChargedAgain) {
  use(rule_of(Algorithm::fixed_window, FailurePolicy::allow));
  store_->failure = Code::deadline_exceeded;
  EXPECT_EQ(admitted(4), 4);
  store_->failure = Code::ok;
  EXPECT_EQ(left(), 10);
  EXPECT_EQ(engine_->outage_totals().admitted, 0U);
}

TEST_F(OutageTest, NothingIsOwedForWhatWasDeniedOrGivenBack) {
  use(rule_of(Algorithm::fixed_window, FailurePolicy::local));  // 5 of 10
  store_->failure = Code::unavailable;
  EXPECT_EQ(admitted(9), 5);
  engine_->refund(Request({{"tenant", "acme"}}, Cost{2}));
  store_->failure = Code::ok;
  EXPECT_EQ(left(), 10 - 3);
}

TEST_F(OutageTest, ARuleCanDoWithoutIt) {
  Rule rule = rule_of(Algorithm::fixed_window, FailurePolicy::allow);
  rule.reconcile = false;
  use(rule);
  store_->failure = Code::unavailable;
  EXPECT_EQ(admitted(6), 6);
  store_->failure = Code::ok;
  EXPECT_EQ(left(), 10);
}

TEST_F(OutageTest, AStoreThatGoesAwayAgainIsChargedLater) {
  use(rule_of(Algorithm::fixed_window, FailurePolicy::allow));
  store_->failure = Code::unavailable;
  for (int i = 0; i < 30; ++i) EXPECT_EQ(admitted(3, "t" + std::to_string(i)), 3);
  EXPECT_EQ(engine_->outage_totals().subjects, 30U);
  store_->failure = Code::ok;
  for (int i = 0; i < 30; ++i) EXPECT_EQ(left("t" + std::to_string(i)), 7) << i;
  EXPECT_EQ(engine_->outage_totals().charged, 90U);
}

TEST_F(OutageTest, SubjectsAreBounded) {
  use(rule_of(Algorithm::fixed_window, FailurePolicy::allow));
  store_->failure = Code::unavailable;
  constexpr int kBeyond = 100;
  for (std::size_t i = 0; i < OutageDebts::kMaxSubjects + kBeyond; ++i) admitted(1, std::to_string(i));
  EXPECT_EQ(engine_->outage_totals().subjects, OutageDebts::kMaxSubjects);
  EXPECT_EQ(engine_->outage_totals().lost, static_cast<std::uint64_t>(kBeyond));
}

// A debt that the store refuses stays, and is tried again after a pause.
TEST(OutageDebtsTest, WhatIsPutBackIsOwedStill) {
  memory::MemoryStore model{MemoryOptions{}};
  OutageDebts debts;
  const Allowance allowance =
      make_allowance({.algorithm = Algorithm::fixed_window, .limit = 10, .window = 100s}).value();
  Charge charge;
  charge.key = {1, 2};
  charge.allowance = &allowance;
  charge.rule = "r";
  charge.cost = 4;
  Reading at{from_micros(1'800'000'000'000'000)};
  debts.note(model, charge, at);
  OutageDebts::Debt debt;
  ASSERT_TRUE(debts.next(model, at, debt));
  EXPECT_EQ(debt.charge.cost, 4);
  EXPECT_EQ(debt.charge.rule, "r");
  EXPECT_FALSE(debts.owing());
  debts.put_back(model, debt, at);
  EXPECT_TRUE(debts.owing());
  EXPECT_FALSE(debts.next(model, at, debt)) << "it pauses";
  at.now += OutageDebts::kPause;
  ASSERT_TRUE(debts.next(model, at, debt));
  EXPECT_EQ(debt.charge.cost, 4);
  debts.charged(debt);
  EXPECT_EQ(debts.totals().admitted, 4U);
  EXPECT_EQ(debts.totals().charged, 4U);
}

// One that the store never takes, because its bucket is broken, does not hold up the others.
TEST(OutageDebtsTest, WhatIsPutBackHasItsTurnAfterTheOthers) {
  memory::MemoryStore model{MemoryOptions{}};
  OutageDebts debts;
  const Allowance allowance =
      make_allowance({.algorithm = Algorithm::fixed_window, .limit = 10, .window = 100s}).value();
  Reading at{from_micros(1'800'000'000'000'000)};
  for (std::uint64_t subject = 1; subject <= 20; ++subject) {
    Charge charge;
    charge.key = {subject, subject};
    charge.allowance = &allowance;
    debts.note(model, charge, at);
  }
  std::size_t charged = 0;
  for (int turn = 0; turn < 40; ++turn, at.now += OutageDebts::kPause) {
    OutageDebts::Debt debt;
    if (!debts.next(model, at, debt)) continue;
    if (debt.charge.key.high == 1) {
      debts.put_back(model, debt, at);
    } else {
      debts.charged(debt);
      ++charged;
    }
  }
  EXPECT_EQ(charged, 19U);
  EXPECT_TRUE(debts.owing());
}

TEST(OutageDebtsTest, ADebtIsTheChargeThatWasAdmittedAndHoldsNothingBack) {
  memory::MemoryStore model{MemoryOptions{}};
  OutageDebts debts;
  const Allowance allowance =
      make_allowance({.algorithm = Algorithm::fixed_window, .limit = 10, .window = 100s}).value();
  const RegionTerms region{.sharing = RegionSharing::slices};
  Charge charge;
  charge.key = {1, 2};
  charge.tag = {3, 4};
  charge.allowance = &allowance;
  charge.rule = "r";
  charge.region = &region;
  charge.cost = 4;
  const Reading at{from_micros(1'800'000'000'000'000)};
  EXPECT_FALSE(debts.owing());
  debts.note(model, charge, at);
  EXPECT_TRUE(debts.owing());
  EXPECT_EQ(debts.totals().subjects, 1U);
  OutageDebts::Debt debt;
  ASSERT_TRUE(debts.next(model, at, debt));
  EXPECT_EQ(debt.charge.key, charge.key);
  EXPECT_EQ(debt.charge.tag, charge.tag);
  EXPECT_EQ(debt.charge.rule, "r");
  EXPECT_EQ(debt.charge.cost, 4);
  ASSERT_NE(debt.charge.region, nullptr);
  EXPECT_EQ(debt.charge.region->sharing, RegionSharing::slices);
  EXPECT_EQ(debt.charge.allowance->limit, 10);
  EXPECT_FALSE(debt.charge.binding);
  EXPECT_TRUE(debt.charge.count_denied && debt.charge.follows) << "what does not fit is debt";
  EXPECT_EQ(debt.charge.kind, ChargeKind::bucket);
  EXPECT_FALSE(debts.owing());
  EXPECT_EQ(debts.totals().subjects, 0U);
  debts.lost(debt);
  EXPECT_EQ(debts.totals().lost, 4U);
  EXPECT_FALSE(debts.next(model, at, debt));
}

TEST(OutageDebtsTest, WhatCostsNothingOrHasNoLimitOwesNothing) {
  memory::MemoryStore model{MemoryOptions{}};
  OutageDebts debts;
  const Allowance none = make_allowance({.algorithm = Algorithm::fixed_window, .limit = 0, .window = 100s}).value();
  const Allowance some = make_allowance({.algorithm = Algorithm::fixed_window, .limit = 10, .window = 100s}).value();
  Charge charge;
  charge.allowance = &none;
  const Reading at{from_micros(1'800'000'000'000'000)};
  debts.note(model, charge, at);
  charge.allowance = &some;
  charge.cost = 0;
  debts.note(model, charge, at);
  EXPECT_FALSE(debts.owing());
  EXPECT_EQ(debts.totals().admitted, 0U);
}

}  // namespace
}  // namespace weir::engine
