// Usage that is reported afterwards reaches the same account, under the same terms, as a check would.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "tests/support/waiting_gate.h"
#include "weir/usage.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// Notes what it is asked.
class NotingGate final : public WaitingGate {
 public:
  void begin(QuotaCall& call) override {
    for (QuotaCharge& charge : call.charges) {
      asked.push_back(charge);
      charge.outcome = {};
      charge.outcome.admitted = true;
      charge.taken = this;
    }
    call.complete();
  }

  std::vector<QuotaCharge> asked;
};

class UsageQuotaTest : public ::testing::Test {
 protected:
  UsageQuotaTest() {
    Rule planned;
    planned.id = "exports";
    planned.kind = ChargeKind::quota;
    planned.per = {"tenant"};
    planned.allowance = {.algorithm = {}, .limit = 100, .window = Duration{0}};
    planned.quota.period = PeriodUnit::month;
    planned.plans = {{.name = "pro", .change = {.limit = 500}}};
    Rule unlimited = planned;
    unlimited.id = "all";
    unlimited.unlimited = true;
    Rule overridden = planned;
    overridden.id = "raised";
    overridden.overrides.resize(1);
    overridden.overrides[0].change.limit = 700;
    const Status loaded = book_->replace({.rules = {planned, unlimited, overridden}});
    EXPECT_TRUE(loaded.ok()) << loaded.failure().message;
    LimiterOptions options;
    options.store = memory_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    options.quotas = gate_;
    engine_ = std::make_unique<Engine>(book_, options, memory_);
  }
  std::vector<QuotaCharge> noted() { return std::exchange(gate_->asked, {}); }

  std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  std::shared_ptr<NotingGate> gate_ = std::make_shared<NotingGate>();
  std::shared_ptr<Store> memory_ = std::make_shared<memory::MemoryStore>(MemoryOptions{});
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(from_micros(1'772'323'200'000'000));
  std::unique_ptr<Engine> engine_;
};

TEST_F(UsageQuotaTest, IsChargedUnderTheTermsOfACheck) {
  const std::vector<Attribute> attributes = {{"tenant", "acme"}, {"plan", "pro"}};
  Request request;
  request.attributes = attributes;
  request.cost = Cost{3};
  EXPECT_TRUE(engine_->check(request).allowed);
  const std::vector<QuotaCharge> checked = noted();
  UsageReport report;
  report.request.attributes = attributes;
  report.amount = 3;
  bool recorded = false;
  engine_->record(report, [&](const UsageAnswer& answer) { recorded = answer.status == Code::ok; });
  EXPECT_TRUE(recorded);
  const std::vector<QuotaCharge> reported = noted();
  ASSERT_GE(checked.size(), 2U);
  ASSERT_EQ(reported.size(), checked.size());
  for (std::size_t i = 0; i < checked.size(); ++i) {
    SCOPED_TRACE(checked[i].rule);
    EXPECT_EQ(reported[i].rule, checked[i].rule);
    EXPECT_EQ(reported[i].quota, checked[i].quota);
    EXPECT_EQ(reported[i].key, checked[i].key);
    EXPECT_EQ(reported[i].limit, checked[i].limit);
    EXPECT_EQ(reported[i].cost, checked[i].cost);
    EXPECT_EQ(reported[i].since, checked[i].since);
    EXPECT_EQ(reported[i].overridden, checked[i].overridden);
    EXPECT_EQ(reported[i].own_limit, checked[i].own_limit);
    EXPECT_EQ(reported[i].plans.data(), checked[i].plans.data());
    EXPECT_EQ(reported[i].plans.size(), checked[i].plans.size());
    EXPECT_EQ(reported[i].subject, checked[i].subject);
    EXPECT_EQ(reported[i].tenant, checked[i].tenant);
  }
  EXPECT_EQ(checked.front().limit, 500);
  EXPECT_EQ(checked.front().own_limit, 100);
  EXPECT_EQ(checked.front().tenant, "acme");
  EXPECT_EQ(checked.front().subject, "tenant=acme");
}

TEST_F(UsageQuotaTest, IsRefusedIfItWillHappen) {
  const std::vector<Attribute> attributes = {{"tenant", "acme"}};
  UsageReport report;
  report.request.attributes = attributes;
  UsageAnswer told;
  const auto record = [&](Duration ahead) {
    report.at = clock_->wall() + ahead;
    engine_->record(report, [&](const UsageAnswer& answer) { told = answer; });
    return told.status;
  };
  EXPECT_EQ(record(5min), Code::ok);
  noted();
  EXPECT_EQ(record(5min + 1us), Code::invalid_argument);
  EXPECT_EQ(told.message, "the time is in the future; expected at most 5 minutes ahead of the server's");
  EXPECT_TRUE(noted().empty());
}

}  // namespace
}  // namespace weir::engine
