#include "scale/deployment.h"

#include <gtest/gtest.h>

#include "scale/key_traffic.h"
#include "scale/zipf.h"

namespace weir::scale {
namespace {

using std::chrono::seconds;

Rule rule_of(Consistency consistency, std::int64_t limit) {
  Rule rule;
  rule.id = "r";
  rule.per = {"tenant"};
  rule.match = {{"action", {"search"}}};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = limit, .window = seconds(1)};
  rule.consistency = consistency;
  rule.on_store_failure = FailurePolicy::deny;
  return rule;
}

KeyOutcome traffic_of(const Rule& rule, std::uint32_t loops, double per_second) {
  return KeyTraffic::create(rule, loops, 1).value().run(per_second);
}

Rules only(Rule rule) {
  Rules rules;
  rules.rules.push_back(std::move(rule));
  return rules;
}

TEST(Zipf, SharesOfAllRanksAddUpToOne) {
  for (const double skew : {0.0, 0.5, 1.0, 1.1, 2.0}) {
    const Zipf few(10, skew);
    double sum = 0;
    for (double rank = 1; rank <= 10; ++rank) sum += few.share(rank);
    EXPECT_NEAR(sum, 1, 1e-12) << skew;
    const Zipf many(1e9, skew);
    EXPECT_NEAR(many.share(1, 5'000) + many.share(5'000, 1e9 + 1), 1, 1e-6) << skew;
  }
}

TEST(Zipf, FollowsTheLawOverAMillionRanks) {
  double total = 0;
  for (double rank = 1; rank <= 1e6; ++rank) total += 1 / rank;
  const Zipf zipf(1e6, 1);
  EXPECT_NEAR(zipf.share(1), 1 / total, 1e-9);
  EXPECT_NEAR(zipf.share(1'000), 1 / total / 1'000, 1e-12);
}

TEST(KeyTraffic, AnExactKeyWithRoomTakesOneCallForEachDecision) {
  const KeyOutcome outcome = traffic_of(rule_of(Consistency::exact, 1'000'000), 4, 1'000);
  EXPECT_EQ(outcome.calls_per_decision(), 1);
  EXPECT_EQ(outcome.allowed_share(), 1);
}

TEST(KeyTraffic, AFloodIsMostlyRefusedWithoutTheStore) {
  const KeyOutcome outcome = traffic_of(rule_of(Consistency::exact, 100), 1, 10'000);
  EXPECT_LT(outcome.calls_per_decision(), 0.1);
  EXPECT_NEAR(outcome.allowed_share(), 0.01, 0.002);
}

TEST(KeyTraffic, AHotLeasedKeyTakesFewCallsAndAColdOneOneEach) {
  const Rule rule = rule_of(Consistency::leased, 1'000'000);
  EXPECT_LT(traffic_of(rule, 4, 20'000).calls_per_decision(), 0.05);
  EXPECT_GT(traffic_of(rule, 4, 0.5).calls_per_decision(), 0.99);
}

TEST(KeyTraffic, MoreNodesEachSeeLessOfAKeyAndCallMoreOften) {
  const Rule rule = rule_of(Consistency::leased, 1'000'000);
  EXPECT_GT(traffic_of(rule, 256, 20'000).calls_per_decision(), 2 * traffic_of(rule, 4, 20'000).calls_per_decision());
}

TEST(Deployment, TheSameSeedPlansTheSame) {
  const Rules rules = only(rule_of(Consistency::leased, 5'000));
  const Deployment deployment{.rate = 20'000, .subjects = 100'000, .nodes = 3};
  const Plan one = plan_deployment(rules, deployment).value();
  const Plan two = plan_deployment(rules, deployment).value();
  EXPECT_EQ(one.store_calls, two.store_calls);
}

TEST(Deployment, AnExactRuleMeetsTheCoreOfItsBusiestKeyFirst) {
  const Rules rules = only(rule_of(Consistency::exact, 10'000'000));
  const Plan plan = plan_deployment(rules, {.regions = 30, .rate = 1e6, .subjects = 1e9, .loops = 16}).value();
  ASSERT_FALSE(plan.ceilings.empty());
  EXPECT_NE(plan.ceilings[0].name.find("busiest key of 'r'"), std::string::npos);
  EXPECT_NE(plan.ceilings[0].advice.find("leased"), std::string::npos);
  EXPECT_NEAR(plan.rules[0].calls_per_decision, 1, 1e-9);
  EXPECT_NEAR(plan.store_calls, 1e6, 1);
  EXPECT_EQ(plan.redis_servers, 20);  // 12 cores at 60 %
}

TEST(Deployment, LeasingTakesTheLoadOffTheBusiestKeyAndNotOffTheTail) {
  const Deployment deployment{.rate = 1e6, .subjects = 1e9, .loops = 16};
  const Plan exact = plan_deployment(only(rule_of(Consistency::exact, 10'000'000)), deployment).value();
  const Plan leased = plan_deployment(only(rule_of(Consistency::leased, 10'000'000)), deployment).value();
  EXPECT_LT(leased.rules[0].hottest_calls, exact.rules[0].hottest_calls / 10);
  EXPECT_LT(leased.store_calls, exact.store_calls);
  EXPECT_GT(leased.store_calls, exact.store_calls / 10);
}

TEST(Deployment, KeysAreCountedAsActiveForOneWindow) {
  Rule rule = rule_of(Consistency::exact, 10);
  const Plan even = plan_deployment(only(rule), {.rate = 100, .subjects = 1e6, .skew = 0}).value();
  EXPECT_NEAR(even.rules[0].active_subjects, 100, 1);
  const Plan few = plan_deployment(only(rule), {.rate = 100'000, .subjects = 10, .skew = 0}).value();
  EXPECT_NEAR(few.rules[0].active_subjects, 10, 0.001);
}

TEST(Deployment, RulesThatRegionsDoNotShareAdmitTheLimitInEach) {
  const Rules rules = only(rule_of(Consistency::exact, 10));
  EXPECT_EQ(plan_deployment(rules, {.regions = 1}).value().rules[0].bound, "none");
  EXPECT_EQ(plan_deployment(rules, {.regions = 3}).value().rules[0].bound, "the limit in each other region");
}

TEST(Deployment, ImpossibleNumbersAreNamed) {
  const Rules rules = only(rule_of(Consistency::exact, 10));
  const auto message = [&rules](const Deployment& deployment) {
    const Result<Plan> plan = plan_deployment(rules, deployment);
    return plan.ok() ? "" : plan.failure().message;
  };
  EXPECT_NE(message({.regions = 0}).find("--regions"), std::string::npos);
  EXPECT_NE(message({.rate = -1}).find("--peak"), std::string::npos);
  EXPECT_NE(message({.subjects = 0}).find("--subjects"), std::string::npos);
  EXPECT_NE(message({.skew = 4}).find("--skew"), std::string::npos);
  EXPECT_NE(message({.nodes = -1}).find("--nodes"), std::string::npos);
  EXPECT_NE(message({.loops = 0}).find("--loops"), std::string::npos);
  EXPECT_NE(message({.node_micros = 0}).find("--node-micros"), std::string::npos);
}

}  // namespace
}  // namespace weir::scale
