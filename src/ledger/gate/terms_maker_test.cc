#include "ledger/gate/terms_maker.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::ledger {
namespace {

using namespace std::chrono_literals;

// 1 November 2026, which has 30 days.
const TimePoint kNovember = from_micros(1'793'491'200'000'000);
constexpr auto kDay = 24h;

class Tenants final : public TenantDirectory {
 public:
  std::string zone_of(const std::string&) const override { return ""; }
  Plans plans_of(const std::string&) const override { return plans; }

  Plans plans;
};

class PlanChanges : public ::testing::Test {
 protected:
  PlanChanges() {
    quota_.period = PeriodUnit::month;
    plans_ = {{"pro", {.limit = 4000}}, {"free", {.limit = 100}}, {"all", {.unlimited = true}}};
  }
  // The limit of the month at a moment, for a request whose plan has this limit.
  Terms terms(PlanChange policy, TimePoint at, std::int64_t limit, bool overridden = false) {
    quota_.plan_change = policy;
    QuotaCharge charge;
    charge.rule = "exports";
    charge.quota = &quota_;
    charge.limit = limit;
    charge.own_limit = 1000;
    charge.plans = plans_;
    charge.overridden = overridden;
    charge.subject = "tenant=acme";
    charge.tenant = "acme";
    charge.since = kNovember - kDay;
    TermsMaker maker(&tenants_, kNovember);
    return maker.make(charge, at).value();
  }
  std::int64_t limit(PlanChange policy, TimePoint at, std::int64_t of_plan, bool overridden = false) {
    return terms(policy, at, of_plan, overridden).limit;
  }

  Quota quota_;
  std::vector<Plan> plans_;
  Tenants tenants_;
};

TEST_F(PlanChanges, ApplyAtOnceInTheNextPeriodOrInProportion) {
  const TimePoint half = kNovember + 15 * kDay;
  tenants_.plans = {{{"", TimePoint{}}, {"pro", half}}, kNovember};
  EXPECT_EQ(limit(PlanChange::immediate, half + 1h, 4000), 4000);
  EXPECT_EQ(limit(PlanChange::next_period, half + 1h, 4000), 1000);
  EXPECT_EQ(limit(PlanChange::prorated, half + 1h, 4000), 2500) << "15 days of 1000 and 15 of 4000";
  for (const PlanChange policy : {PlanChange::immediate, PlanChange::next_period, PlanChange::prorated}) {
    EXPECT_EQ(limit(policy, half - 1h, 1000), 1000) << "not before it begins";
    EXPECT_EQ(limit(policy, kNovember + 31 * kDay, 4000), 4000) << "in December";
  }
}

TEST_F(PlanChanges, ADowngradeIsProratedToo) {
  tenants_.plans = {{{"pro", TimePoint{}}, {"free", kNovember + 10 * kDay}}, kNovember};
  EXPECT_EQ(limit(PlanChange::prorated, kNovember + 20 * kDay, 100), 1400);
}

TEST_F(PlanChanges, SeveralChangesInOnePeriodEachCountForTheirPart) {
  tenants_.plans = {{{"free", TimePoint{}}, {"", kNovember + 3 * kDay}, {"pro", kNovember + 27 * kDay}}, kNovember};
  EXPECT_EQ(limit(PlanChange::prorated, kNovember + 29 * kDay, 4000), (3 * 100 + 24 * 1000 + 3 * 4000) / 30);
  EXPECT_EQ(limit(PlanChange::prorated, kNovember + 26 * kDay, 1000), (3 * 100 + 27 * 1000) / 30)
      << "what is to come does not count yet";
}

TEST_F(PlanChanges, AnOverrideAndAPlanInTheRequestApplyAsTheyAre) {
  tenants_.plans = {{{"", TimePoint{}}, {"pro", kNovember + 15 * kDay}}, kNovember};
  EXPECT_EQ(limit(PlanChange::prorated, kNovember + 20 * kDay, 4000, true), 4000);
  EXPECT_EQ(limit(PlanChange::prorated, kNovember + 20 * kDay, 100), 100) << "the request names another plan";
}

TEST_F(PlanChanges, UnlimitedPlansAreNotProrated) {
  tenants_.plans = {{{"all", TimePoint{}}, {"pro", kNovember + 15 * kDay}}, kNovember};
  EXPECT_EQ(limit(PlanChange::prorated, kNovember + 20 * kDay, 4000), 4000);
}

TEST_F(PlanChanges, ANodeThatSeesTheTenantForTheFirstTimeDecidesLaterThanTheChange) {
  const TimePoint half = kNovember + 15 * kDay;
  tenants_.plans = {{{"", TimePoint{}}, {"pro", half}}, kNovember + 2 * kDay};
  EXPECT_EQ(terms(PlanChange::prorated, half + 1h, 4000).since, half);
  EXPECT_EQ(terms(PlanChange::immediate, half - 1h, 1000).since, kNovember + 2 * kDay);
}

}  // namespace
}  // namespace weir::ledger
