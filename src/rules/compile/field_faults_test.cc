// Fields that do not go together: each such rule has one fault, which names the field and says what is expected, and
// is sound when the other field is as it should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rules/compile/block_set.h"
#include "rules/compile/quota_checks.h"
#include "rules/compile/region_rules.h"
#include "rules/compile/rule_check.h"
#include "rules/compile/rule_set.h"

namespace weir::rules {
namespace {

using namespace std::chrono_literals;

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

Rule bucket_rule(Algorithm algorithm = Algorithm::token_bucket) {
  Rule rule;
  rule.id = "r";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = algorithm, .limit = 10, .window = 60s};
  return rule;
}
Rule lease_rule() {
  Rule rule = bucket_rule();
  rule.kind = ChargeKind::lease;
  rule.allowance.window = Duration::zero();
  rule.lease = 30s;
  return rule;
}
Rule quota_rule() {
  Rule rule = bucket_rule();
  rule.kind = ChargeKind::quota;
  rule.allowance.window = Duration::zero();
  rule.quota.period = PeriodUnit::day;
  return rule;
}

CostModel cost_of(CostModel::Kind kind) {
  CostModel cost;
  cost.kind = kind;
  if (kind != CostModel::Kind::fixed) cost.attribute = "size";
  return cost;
}
Override override_of(const AllowanceChange& change) {
  Override override;
  override.change = change;
  return override;
}

std::vector<std::string> faults_of(const Rule& rule) {
  std::vector<std::string> faults;
  for (const RuleFault& fault : check_rule(rule)) faults.push_back(to_string(fault.field) + ": " + fault.what);
  return faults;
}

struct Case {
  Rule (*rule)();
  void (*change)(Rule&);
  const char* fault;  // empty: none
};
Rule of_bucket() { return bucket_rule(); }
Rule of_window() { return bucket_rule(Algorithm::fixed_window); }
Rule of_log() { return bucket_rule(Algorithm::sliding_log); }

void expect(const std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Rule rule = cases[i].rule();
    cases[i].change(rule);
    if (*cases[i].fault == '\0') {
      EXPECT_THAT(faults_of(rule), IsEmpty()) << "case " << i;
    } else {
      EXPECT_THAT(faults_of(rule), ElementsAre(StartsWith(cases[i].fault))) << "case " << i;
    }
  }
}

TEST(FieldFaults, TheRulesOfTheseTestsAreSound) {
  for (const Rule& rule : {bucket_rule(), of_window(), of_log(), lease_rule(), quota_rule()}) {
    EXPECT_THAT(faults_of(rule), IsEmpty());
  }
}

TEST(FieldFaults, WhatConcurrencyAndQuotasDoNotHave) {
  expect({
      {of_bucket, [](Rule& r) { r.lease = 30s; }, "lease: is given, expected algorithm: concurrency"},
      {quota_rule, [](Rule& r) { r.lease = 30s; }, "lease: is given, expected algorithm: concurrency"},
      {of_bucket, [](Rule& r) { r.count_denied = true; }, ""},
      {lease_rule, [](Rule& r) { r.count_denied = true; }, "count_denied: does not apply to concurrency"},
      {quota_rule, [](Rule& r) { r.count_denied = true; }, "count_denied: does not apply to quota"},
      {of_bucket, [](Rule& r) { r.overdraft = 0; }, ""},
      {lease_rule, [](Rule& r) { r.overdraft = 0; }, "overdraft: does not apply to concurrency"},
      {quota_rule, [](Rule& r) { r.overdraft = 0; }, "overdraft: does not apply to quota"},
      {of_bucket, [](Rule& r) { r.estimate.emplace(); }, ""},
      {lease_rule, [](Rule& r) { r.estimate.emplace(); }, "estimate: does not apply to concurrency"},
      {quota_rule, [](Rule& r) { r.estimate.emplace(); }, "estimate: does not apply to quota"},
      {of_bucket, [](Rule& r) { r.on_expiry = ExpiryPolicy::commit; }, ""},
      {quota_rule, [](Rule& r) { r.on_expiry = ExpiryPolicy::commit; }, ""},
      {lease_rule, [](Rule& r) { r.on_expiry = ExpiryPolicy::commit; }, "on_expiry: is commit, expected release"},
      {of_bucket, [](Rule& r) { r.on_exceed = OnExceed::challenge; }, ""},
      {lease_rule, [](Rule& r) { r.on_exceed = OnExceed::challenge; }, "on_exceed: is challenge"},
      {quota_rule, [](Rule& r) { r.on_exceed = OnExceed::challenge; }, "on_exceed: is challenge"},
      {quota_rule, [](Rule& r) { r.local_limit = LocalLimit{.limit = 1, .window = 1s}; },
       "local_limit: does not apply to quota"},
      {quota_rule, [](Rule& r) { r.max_subjects = 1; }, "max_subjects: does not apply to quota"},
  });
}

TEST(FieldFaults, AnEstimateNeedsACostThatIsNotKnown) {
  expect({
      {of_bucket, [](Rule& r) { r.estimate.emplace(), r.cost = cost_of(CostModel::Kind::attribute); }, ""},
      {of_bucket, [](Rule& r) { r.estimate.emplace(), r.cost = cost_of(CostModel::Kind::fixed); },
       "estimate: is given, expected a cost from the request or an attribute"},
      {of_bucket, [](Rule& r) { r.estimate.emplace(), r.cost = cost_of(CostModel::Kind::table); },
       "estimate: is given, expected a cost from the request or an attribute"},
      {of_bucket, [](Rule& r) { r.estimate = Estimate{.by = "model"}; }, ""},
      {of_bucket, [](Rule& r) { r.estimate = Estimate{.by = "\n"}; }, "estimate.by: "},
  });
}

TEST(FieldFaults, APenaltyIsForSubjectsOfRulesWithAnAlgorithm) {
  static const auto penalize = [](Rule& r) { r.penalty = Penalty{.after = 3, .within = 10min, .block = 1min}; };
  expect({
      {of_bucket, [](Rule& r) { penalize(r); }, ""},
      {lease_rule, [](Rule& r) { penalize(r); }, "penalty: is for rules with an algorithm"},
      {quota_rule, [](Rule& r) { penalize(r); }, "penalty: is for rules with an algorithm"},
      {of_bucket, [](Rule& r) { penalize(r), r.max_subjects = 1; }, "penalty: is for each subject"},
      {of_bucket, [](Rule& r) { penalize(r), r.penalty->on_denied = false; }, ""},
      {of_bucket, [](Rule& r) { penalize(r), r.penalty->on_reported = false; }, ""},
      {of_bucket, [](Rule& r) { penalize(r), r.penalty->on_denied = r.penalty->on_reported = false; },
       "penalty.on: is empty, expected denied, reported or both"},
      {of_bucket, [](Rule& r) { penalize(r), r.penalty->decay = 10min; }, ""},
      {of_bucket, [](Rule& r) { penalize(r), r.penalty->decay = 599s; },
       "penalty.decay: is shorter than within, expected at least 600s"},
      {of_bucket, [](Rule& r) { penalize(r), r.penalty->max = 1min; }, ""},
      {of_bucket, [](Rule& r) { penalize(r), r.penalty->max = 59s; },
       "penalty.max: is 59000 ms, expected whole seconds, 60s"},
      {of_bucket, [](Rule& r) { penalize(r), r.penalty->block = 1500ms; }, "penalty.block: is 1500 ms, expected whole"},
  });
}

TEST(FieldFaults, DifferentValuesAreCountedInOneWindowAndWithoutACost) {
  expect({
      {of_window, [](Rule& r) { r.distinct = "user"; }, ""},
      {of_log, [](Rule& r) { r.distinct = "user"; }, ""},
      {of_bucket, [](Rule& r) { r.distinct = "user"; }, "distinct: needs the algorithm fixed-window or sliding-log"},
      {lease_rule, [](Rule& r) { r.distinct = "user"; }, "distinct: needs the algorithm"},
      {of_window, [](Rule& r) { r.distinct = "tenant"; }, "distinct: is \"tenant\", which the rule counts by"},
      {of_window, [](Rule& r) { r.distinct = "user", r.allowance.limit = kMaxDistinct; }, ""},
      {of_window, [](Rule& r) { r.distinct = "user", r.allowance.limit = kMaxDistinct + 1; }, "limit: is 1001"},
      {of_window, [](Rule& r) { r.distinct = "user", r.allowance.limit = kMaxDistinct + 1, r.unlimited = true; }, ""},
      {of_window,
       [](Rule& r) {
         r.distinct = "user", r.plans = {{"p", {.limit = kMaxDistinct + 1}}};
       },
       "plans.p.limit: is 1001"},
      {of_window, [](Rule& r) { r.distinct = "user", r.overrides = {override_of({.limit = kMaxDistinct + 1})}; },
       "overrides[0].limit: is 1001"},
      {of_window,
       [](Rule& r) {
         r.distinct = "user", r.plans = {{"p", {.limit = kMaxDistinct}}};
       },
       ""},
      {of_window,
       [](Rule& r) {
         r.distinct = "user", r.plans = {{"p", {.window = 1h}}};
       },
       "distinct: needs one window"},
      {of_window, [](Rule& r) { r.distinct = "user", r.overrides = {override_of({.window = 1h})}; },
       "distinct: needs one window"},
      {of_window, [](Rule& r) { r.distinct = "user", r.cost = cost_of(CostModel::Kind::fixed); },
       "distinct: counts values, and cost does not apply"},
      {of_window, [](Rule& r) { r.distinct = "user", r.count_denied = true; },
       "distinct: counts values, and count_denied does not apply"},
      {of_window, [](Rule& r) { r.distinct = "user", r.estimate.emplace(); },
       "distinct: counts values, and estimate does not apply"},
  });
}

TEST(FieldFaults, ACandidateHasOtherNumbersOfTheSameKind) {
  expect({
      {of_bucket, [](Rule& r) { r.candidate = AllowanceChange{.limit = 20}; }, ""},
      {of_bucket, [](Rule& r) { r.candidate = AllowanceChange{.limit = 10}; },
       "candidate: has the numbers of the rule"},
      {lease_rule, [](Rule& r) { r.candidate = AllowanceChange{.limit = 20}; },
       "candidate: is for rules with an algorithm"},
      {quota_rule, [](Rule& r) { r.candidate = AllowanceChange{.limit = 20}; },
       "candidate: is for rules with an algorithm"},
      {of_bucket, [](Rule& r) { r.candidate = AllowanceChange{.limit = 20}, r.unlimited = true; },
       "candidate: compares two limits"},
      {of_bucket, [](Rule& r) { r.candidate = AllowanceChange{.unlimited = true}; }, "candidate: compares two limits"},
      {of_window, [](Rule& r) { r.candidate = AllowanceChange{.limit = 20}, r.distinct = "user"; },
       "candidate: does not work together with distinct"},
  });
}

TEST(FieldFaults, AnAutomaticLimitIsBetweenItsBoundsAndOfConcurrency) {
  expect({
      {lease_rule, [](Rule& r) { r.auto_limit = AutoLimit{.min = 1, .max = 10}; }, ""},
      {lease_rule, [](Rule& r) { r.auto_limit = AutoLimit{.min = 10, .max = 10}; }, ""},
      {lease_rule, [](Rule& r) { r.auto_limit = AutoLimit{.min = 0, .max = 10}; }, "limit.auto.min: "},
      {lease_rule, [](Rule& r) { r.auto_limit = AutoLimit{.min = 11, .max = 10}; }, "limit.auto.max: "},
      {lease_rule, [](Rule& r) { r.auto_limit = AutoLimit{.min = 1, .max = 9}; }, "limit.auto: needs its max"},
      {lease_rule, [](Rule& r) { r.auto_limit = AutoLimit{.min = 1, .max = 10}, r.unlimited = true; },
       "limit.auto: needs its max"},
      {lease_rule, [](Rule& r) { r.auto_limit = AutoLimit{.min = 1, .max = 10}, r.max_subjects = 1; },
       "limit.auto: does not work together with max_subjects"},
      {of_bucket, [](Rule& r) { r.auto_limit = AutoLimit{.min = 1, .max = 10}; }, "limit.auto: is for concurrency"},
  });
}

TEST(FieldFaults, FieldsOfQuotasAreForQuotas) {
  expect({
      {of_bucket, [](Rule& r) { r.quota.period = PeriodUnit::day; }, "period: is given, expected algorithm: quota"},
      {of_bucket, [](Rule& r) { r.quota.timezone = "UTC"; }, "timezone: is given, expected algorithm: quota"},
      {of_bucket, [](Rule& r) { r.quota.anchor_day = 1; }, "anchor_day: is given, expected algorithm: quota"},
      {of_bucket, [](Rule& r) { r.quota.grace = {.amount = 1}; }, "grace: is given, expected algorithm: quota"},
      {of_bucket, [](Rule& r) { r.quota.record_overage = true; }, "overage: is given, expected algorithm: quota"},
      {of_bucket, [](Rule& r) { r.quota.plan_change = PlanChange::next_period; },
       "plan_change: is given, expected algo"},
      {of_bucket, [](Rule& r) { r.quota.enforcement = Enforcement::strict; },
       "enforcement: is given, expected algorithm"},
      {of_bucket, [](Rule& r) { r.quota.notify = {{.amount = 1}}; }, "notify: is given, expected algorithm: quota"},
      {quota_rule, [](Rule& r) { r.quota.period.reset(); }, "period: is missing"},
      {quota_rule, [](Rule& r) { r.quota.period.reset(), r.unlimited = true; }, ""},
      {quota_rule, [](Rule& r) { r.quota.timezone = "Europe/Berlin"; }, ""},
      {quota_rule, [](Rule& r) { r.quota.timezone = kTenantZone; }, ""},
      {quota_rule, [](Rule& r) { r.quota.timezone = "Europe/Nowhere"; }, "timezone: "},
      {quota_rule, [](Rule& r) { r.quota.anchor_day = 1; }, "anchor_day: is given with period: day"},
      {quota_rule, [](Rule& r) { r.quota.anchor_day = 1, r.quota.period = PeriodUnit::year; },
       "anchor_day: is given with period: year"},
      {quota_rule, [](Rule& r) { r.quota.anchor_day = 31, r.quota.period = PeriodUnit::month; }, ""},
      {quota_rule, [](Rule& r) { r.quota.anchor_day = 32, r.quota.period = PeriodUnit::month; }, "anchor_day: is 32"},
      {quota_rule, [](Rule& r) { r.quota.anchor_day = 0, r.quota.period = PeriodUnit::month; }, "anchor_day: is 0"},
      {quota_rule, [](Rule& r) { r.quota.anchor_day = 7, r.quota.period = PeriodUnit::week; }, ""},
      {quota_rule, [](Rule& r) { r.quota.anchor_day = 8, r.quota.period = PeriodUnit::week; },
       "anchor_day: is not a day"},
      {quota_rule, [](Rule& r) { r.quota.anchor_day = 0, r.quota.period = PeriodUnit::week; },
       "anchor_day: is not a day"},
  });
}

TEST(FieldFaults, SharesOfQuotasAreUnitsOrPercent) {
  expect({
      {quota_rule, [](Rule& r) { r.quota.grace = {.amount = 100, .percent = true}; }, ""},
      {quota_rule, [](Rule& r) { r.quota.grace = {.amount = 0, .percent = true}; }, ""},
      {quota_rule, [](Rule& r) { r.quota.grace = {.amount = 101, .percent = true}; },
       "grace: is 101%, expected 0% to 100%"},
      {quota_rule, [](Rule& r) { r.quota.grace = {.amount = -1, .percent = true}; },
       "grace: is -1%, expected 0% to 100%"},
      {quota_rule, [](Rule& r) { r.quota.grace = {.amount = kMaxUnits}; }, ""},
      {quota_rule, [](Rule& r) { r.quota.grace = {.amount = kMaxUnits + 1}; }, "grace: is 1000000000001"},
      {quota_rule,
       [](Rule& r) {
         r.quota.notify = {{.amount = 1, .percent = true}, {.amount = 1}};
       },
       ""},
      {quota_rule, [](Rule& r) { r.quota.notify = {{.amount = 0, .percent = true}}; },
       "notify[0]: is 0%, expected 1% to 100%"},
      {quota_rule, [](Rule& r) { r.quota.notify = {{.amount = 0}}; }, "notify[0]: is 0"},
      {quota_rule,
       [](Rule& r) {
         r.quota.notify = {{.amount = 5}, {.amount = 6}, {.amount = 5}};
       },
       "notify[2]: is given twice"},
      {quota_rule,
       [](Rule& r) {
         for (std::size_t i = 1; i <= kMaxNotify; ++i) r.quota.notify.push_back({.amount = std::int64_t(i)});
       },
       ""},
      {quota_rule,
       [](Rule& r) {
         for (std::size_t i = 0; i <= kMaxNotify; ++i) r.quota.notify.push_back({.amount = 1});
       },
       "notify: has "},
  });
}

TEST(FieldFaults, FailurePoliciesThatCannotAnswerForARule) {
  using P = FailurePolicy;
  expect({
      {lease_rule, [](Rule& r) { r.on_store_failure = OnStoreFailure(P::allow); }, ""},
      {lease_rule, [](Rule& r) { r.on_store_failure = OnStoreFailure(P::local); },
       "on_store_failure: is local, expected"},
      {lease_rule, [](Rule& r) { r.on_store_failure = OnStoreFailure(P::static_limit), r.static_limit = 1; },
       "on_store_failure: is static, expected allow, deny or degrade for concurrency"},
      {quota_rule, [](Rule& r) { r.on_store_failure = OnStoreFailure(P::local); },
       "on_store_failure: is local, expected allow, deny or degrade for quota"},
      {quota_rule, [](Rule& r) { r.on_store_failure = OnStoreFailure(P::allow); }, ""},
      {quota_rule,
       [](Rule& r) { r.on_store_failure = OnStoreFailure(P::allow), r.quota.enforcement = Enforcement::strict; },
       "on_store_failure: is not deny"},
      {quota_rule,
       [](Rule& r) { r.on_store_failure = OnStoreFailure(P::deny), r.quota.enforcement = Enforcement::strict; }, ""},
      {quota_rule, [](Rule& r) { r.quota.enforcement = Enforcement::strict; }, ""},
      {of_bucket,
       [](Rule& r) {
         r.on_store_failure = OnStoreFailure(P::allow);
         r.on_store_failure->term = 1min;
       },
       "on_store_failure: has for without then"},
      {of_bucket,
       [](Rule& r) {
         r.on_store_failure = OnStoreFailure(P::allow);
         r.on_store_failure->then = P::deny;
       },
       "on_store_failure: has then without for"},
      {of_bucket,
       [](Rule& r) {
         r.on_store_failure = OnStoreFailure(P::deny);
         r.on_store_failure->term = 1min;
         r.on_store_failure->then = P::deny;
       },
       "on_store_failure.then: is the first policy itself"},
      {of_bucket, [](Rule& r) { r.static_limit = 1; }, ""},
      {of_bucket, [](Rule& r) { r.on_store_failure = OnStoreFailure(P::static_limit); }, "static_limit: is 0"},
  });
}

TEST(FieldFaults, RegionsShareOnlyWhatCanBeDivided) {
  using R = RegionSharing;
  expect({
      {of_bucket, [](Rule& r) { r.region = R::slices; }, ""},
      {of_window, [](Rule& r) { r.region = R::slices; }, ""},
      {of_log, [](Rule& r) { r.region = R::slices; },
       "region: is slices, expected none: a share must be a smaller limit"},
      {of_window, [](Rule& r) { r.region = R::slices, r.allowance.window = 1s; }, ""},
      {of_window, [](Rule& r) { r.region = R::slices, r.allowance.window = 999ms; },
       "region: is slices, expected none: the window is shorter than 1s"},
      {of_window,
       [](Rule& r) {
         r.region = R::slices, r.plans = {{"p", {.window = 1h}}};
       },
       "region: is slices, expected none: a plan or override has another window"},
      {of_window, [](Rule& r) { r.region = R::reconcile; }, ""},
      {of_bucket, [](Rule& r) { r.region = R::reconcile; },
       "region: is reconcile, expected none: regions report to each other"},
      {lease_rule, [](Rule& r) { r.region = R::slices; }, "region: is slices, expected none: a concurrency rule"},
      {lease_rule, [](Rule& r) { r.region = R::central, r.home = "eu"; }, ""},
      {of_bucket, [](Rule& r) { r.region = R::central; }, "region: is central, which needs home"},
      {quota_rule, [](Rule& r) { r.region = R::central, r.home = "eu"; },
       "region: is central, expected none: a quota is kept in the ledger"},
      {of_bucket, [](Rule& r) { r.region = R::slices, r.consistency = Consistency::leased; },
       "region: is slices, expected none: consistency: leased keeps units on a node"},
      {of_bucket, [](Rule& r) { r.region = R::slices, r.hot_keys = HotKeys::lease; },
       "region: is slices, expected none: hot_keys: lease keeps units on a node"},
      {of_window, [](Rule& r) { r.region = R::slices, r.distinct = "user"; },
       "region: is slices, expected none: distinct counts values"},
      {of_bucket, [](Rule& r) { r.region = R::slices, r.candidate = AllowanceChange{.limit = 20}; },
       "region: is slices, expected none: a candidate is judged"},
      {of_window, [](Rule& r) { r.region = R::reconcile, r.on_partition = OnPartition::continue_on; }, ""},
      {of_window, [](Rule& r) { r.region = R::slices, r.on_partition = OnPartition::continue_on; },
       "on_partition: is continue"},
      {of_bucket, [](Rule& r) { r.home = "eu"; }, "home: is 'eu', which only a rule with region: central can have"},
      {of_bucket, [](Rule& r) { r.region = R::central, r.home = "eu-1.a_b"; }, ""},
      {of_bucket, [](Rule& r) { r.region = R::central, r.home = std::string(64, 'x'); }, ""},
      {of_bucket, [](Rule& r) { r.region = R::central, r.home = std::string(65, 'x'); }, "home: is 'xxx"},
      {of_bucket, [](Rule& r) { r.region = R::central, r.home = "e u"; },
       "home: is 'e u', expected at most 64 letters"},
  });
  EXPECT_EQ(region_terms(bucket_rule()), std::nullopt);
  Rule rule = of_window();
  rule.region = R::reconcile;
  rule.on_partition = OnPartition::continue_on;
  rule.home = "eu";
  const Share default_tolerance = region_terms(rule)->tolerance;
  rule.tolerance = Share{.amount = 7};
  EXPECT_EQ(region_terms(rule)->sharing, R::reconcile);
  EXPECT_EQ(region_terms(rule)->on_partition, OnPartition::continue_on);
  EXPECT_EQ(region_terms(rule)->home, "eu");
  EXPECT_EQ(region_terms(rule)->tolerance, (Share{.amount = 7}));
  EXPECT_NE(default_tolerance, (Share{.amount = 7}));
}

TEST(FieldFaults, OtherFieldsThatNeedOneAnother) {
  expect({
      {of_bucket, [](Rule& r) { r.replaces = {"other"}; }, "replaces: is given, expected a descriptor beside it"},
      {of_bucket, [](Rule& r) { r.replaces = {"other"}, r.descriptor = {{"tenant"}}; }, ""},
      {of_bucket, [](Rule& r) { r.max_subjects = 1, r.per.clear(); }, "max_subjects: the rule has one bucket for all"},
      {of_bucket,
       [](Rule& r) {
         r.match = {{"path", {std::string("a\0b", 3)}}};
       },
       "match.path: is not valid UTF-8"},
      {of_bucket,
       [](Rule& r) {
         r.plans = {{"\xff", {.limit = 1}}};
       },
       "plans.\xff: is not valid UTF-8"},
      {of_bucket, [](Rule& r) { r.message = std::string(kMaxMessage, 'x'); }, ""},
      {of_bucket, [](Rule& r) { r.message = std::string(kMaxMessage + 1, 'x'); }, "message: has "},
      {of_bucket, [](Rule& r) { r.message = "a\nb"; }, "message: has a control character"},
      {quota_rule, [](Rule& r) { r.message = "{limit} {wait}"; }, ""},
      {quota_rule, [](Rule& r) { r.message = "{window}"; }, "message: tells the window of a quota"},
      {of_bucket, [](Rule& r) { r.message = "{limit}", r.hidden = Hidden::rule; },
       "message: tells the limit of a rule"},
      {of_bucket, [](Rule& r) { r.message = "{window}", r.hidden = Hidden::rule; },
       "message: tells the window of a rule"},
      {of_bucket, [](Rule& r) { r.message = "{wait}", r.hidden = Hidden::rule; }, ""},
  });
}

TEST(FieldFaults, OfBlocks) {
  const auto fault_of = [](const Block& block) {
    const std::vector<BlockFault> faults = check_block(block);
    return faults.empty() ? std::string() : faults.front().field + ": " + faults.front().what;
  };
  Block block{.when = {{"tenant", {"acme"}}}};
  block.reason = std::string(256, 'x');
  EXPECT_EQ(fault_of(block), "");
  block.reason += 'x';
  EXPECT_EQ(fault_of(block), "reason: is not a text of at most 256 bytes");
  block.reason = "\xff";
  EXPECT_EQ(fault_of(block), "reason: is not a text of at most 256 bytes");
  block.reason.clear();
  block.when.assign(kMaxConditions, Condition{"tenant", {"acme"}});
  EXPECT_EQ(fault_of(block), "");
  block.when.push_back({"tenant", {"acme"}});
  EXPECT_THAT(fault_of(block), StartsWith("when: has " + std::to_string(kMaxConditions + 1) + " conditions"));
}

// What `weir rules explain` says of a quota's period.
TEST(FieldFaults, AQuotaIsExplainedByItsPeriod) {
  const auto note_of = [](const Quota& quota) {
    Rule rule = quota_rule();
    rule.quota = quota;
    RuleNames names;
    const auto set = RuleSet::compile({.rules = {rule}}, names);
    if (!set.ok()) return set.failure().message;
    const Attribute attributes[] = {{"tenant", "acme"}};
    return set.value()->explain(Request(attributes), TimePoint{}).rules.at(0).notes.at(0);
  };
  EXPECT_EQ(note_of({.period = PeriodUnit::hour}), "a calendar hour in UTC, leased");
  EXPECT_EQ(note_of({.period = PeriodUnit::day, .enforcement = Enforcement::strict}), "a calendar day in UTC, strict");
  EXPECT_EQ(note_of({.period = PeriodUnit::week, .anchor_day = 1}), "a calendar week in UTC from mon, leased");
  EXPECT_EQ(note_of({.period = PeriodUnit::week, .timezone = "Europe/Berlin", .anchor_day = 7}),
            "a calendar week in Europe/Berlin from sun, leased");
  EXPECT_EQ(note_of({.period = PeriodUnit::month, .timezone = std::string(kTenantZone), .anchor_day = 15}),
            "a calendar month in the tenant's zone from day 15, leased");
  EXPECT_EQ(note_of({.period = PeriodUnit::year}), "a calendar year in UTC, leased");
}

}  // namespace
}  // namespace weir::rules
