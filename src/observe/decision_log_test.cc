#include "observe/decision_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/log_sink.h"

namespace weir::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

class DecisionLogTest : public testing::Test {
 protected:
  static DecisionLogOptions sampling(const DecisionSample& sample) {
    DecisionLogOptions options;
    options.sample = sample;
    options.seed = 42;
    return options;
  }
  std::vector<std::string> lines_of(const DecisionLogOptions& options, const Decision& decision, int times) {
    DecisionLog observer(log_, log_, options);
    for (int i = 0; i < times; ++i) observer.on_decision(decision, context());
    return sink_.lines();
  }
  std::vector<std::string> lines_of(const DecisionSample& sample, const Decision& decision, int times) {
    return lines_of(sampling(sample), decision, times);
  }

  RequestContext context() const {
    RequestContext made;
    made.attributes = attributes_;
    made.per = per_;
    made.rules_version = 7;
    made.store_latency = store_latency_;
    return made;
  }

  static Decision decision(bool allowed) {
    Decision made;
    made.allowed = allowed;
    made.reason = allowed ? Reason::ok : Reason::limit_exceeded;
    made.cost = 3;
    made.source = "memory";
    RuleOutcome rule;
    rule.rule = "per-key";
    rule.subject = {0x9c41d2e07b5a1234, 0x5678};
    rule.allowed = allowed;
    rule.algorithm = Algorithm::token_bucket;
    rule.limit = 120;
    rule.remaining = 7;
    rule.retry_after = allowed ? Duration(0) : Duration(499'001);
    made.retry_after = rule.retry_after;
    made.rules.push_back(rule);
    made.deciding = 0;
    return made;
  }

  std::vector<Attribute> attributes_ = {{"tenant", "acme"}, {"api_key", "hunter2"}, {"action", "search"}};
  std::vector<std::string> per_ = {"tenant", "api_key"};
  std::optional<Duration> store_latency_;
  ManualClock clock_{from_micros(1'782'907'200'123'456)};
  Sink sink_;
  // Writes as many lines as are asked for.
  Log log_{{.format = Log::Format::json, .fd = sink_.fd(), .repeats_per_second = 1'000'000, .waits = false}, clock_};
};

TEST_F(DecisionLogTest, ALineTellsTheDecisionAndOnlyTheBeginningOfTheSubjectsHash) {
  const auto lines = lines_of({.allowed = 0, .denied = kWholeShare}, decision(false), 1);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(
      lines[0],
      R"({"ts":"2026-07-01T12:00:00.123Z","level":"info","event":"decision","msg":"decision","outcome":"denied",)"
      R"("reason":"limit_exceeded","rule":"per-key","algorithm":"token-bucket","limit":120,"remaining":7,"cost":3,)"
      R"("retry_after_ms":500,"source":"memory","subject":"9c41d2e07b5a","subject_type":"tenant,api_key",)"
      R"("tenant_hash":"7f4052444215","action":"search","rules_version":7})");
}

TEST_F(DecisionLogTest, AllowedAndDeniedHaveSharesOfTheirOwn) {
  EXPECT_EQ(lines_of({.allowed = 0, .denied = kWholeShare}, decision(true), 100).size(), 0u);
  EXPECT_EQ(lines_of({.allowed = kWholeShare, .denied = 0}, decision(false), 100).size(), 0u);
  EXPECT_EQ(lines_of({.allowed = kWholeShare, .denied = 0}, decision(true), 100).size(), 100u);
}

TEST_F(DecisionLogTest, AShareIsThatShare) {
  const std::size_t lines = lines_of({.allowed = kWholeShare / 100, .denied = 0}, decision(true), 100'000).size();
  EXPECT_NEAR(static_cast<double>(lines), 1000, 150);  // the seed is fixed
}

TEST_F(DecisionLogTest, NoRuleNoSubjectAndAShadowDenialIsNamed) {
  Decision nothing;
  EXPECT_THAT(
      lines_of({.allowed = kWholeShare, .denied = 0}, nothing, 1).at(0),
      testing::AllOf(HasSubstr(R"("reason":"no_rule")"), Not(HasSubstr("subject")), Not(HasSubstr("rule\":\""))));
  Decision shadowed = decision(true);
  RuleOutcome shadow;
  shadow.rule = "trial";
  shadow.mode = Mode::shadow;
  shadow.allowed = false;
  shadowed.rules.push_back(shadow);
  EXPECT_THAT(lines_of({.allowed = 0, .denied = kWholeShare}, shadowed, 1).at(0),
              testing::AllOf(HasSubstr(R"("outcome":"allowed")"), HasSubstr(R"("shadow_denied":"trial")")));
  EXPECT_EQ(lines_of({.allowed = kWholeShare, .denied = 0}, shadowed, 1).size(), 1u) << "it is allowed, too";
}

TEST_F(DecisionLogTest, PlainNamesTheTenantAndTheSubjectButNoSecret) {
  DecisionLogOptions options = sampling({.allowed = 0, .denied = kWholeShare});
  options.plain = true;
  const std::string line = lines_of(options, decision(false), 1).at(0);
  EXPECT_THAT(line, HasSubstr(R"("subject_values":"tenant=acme,api_key=#)"));
  EXPECT_THAT(line, HasSubstr(R"("tenant":"acme","action":"search")"));
  EXPECT_THAT(line, Not(HasSubstr("hunter2")));
  options.secrets.add("tenant");
  options.secrets.add("action");
  EXPECT_THAT(lines_of(options, decision(false), 1).back(),
              testing::AllOf(HasSubstr("tenant_hash"), Not(HasSubstr("acme")), Not(HasSubstr("\"search\""))));
}

TEST_F(DecisionLogTest, HashedIsTheDefaultAndNamesNoValue) {
  const std::string line = lines_of({.allowed = 0, .denied = kWholeShare}, decision(false), 1).at(0);
  EXPECT_THAT(line,
              testing::AllOf(Not(HasSubstr("acme")), Not(HasSubstr("hunter2")), Not(HasSubstr("subject_values"))));
}

TEST_F(DecisionLogTest, RegionAndStoreLatencyAreLoggedIfTheyAreKnown) {
  store_latency_ = Duration(412);
  DecisionLogOptions options = sampling({.allowed = kWholeShare, .denied = 0});
  options.region = "eu";
  EXPECT_THAT(lines_of(options, decision(true), 1).at(0),
              HasSubstr(R"("action":"search","region":"eu","store_us":412,"rules_version":7})"));
}

TEST_F(DecisionLogTest, DegradedDecisionsAreLoggedWithoutASampleAFewASecondAndTheOthersCounted) {
  DecisionLogOptions options = sampling({});
  options.degraded_per_second = 3;
  DecisionLog observer(log_, log_, options);
  EXPECT_EQ(observer.scope(), RequestObserver::Scope::degraded_only);
  Decision degraded = decision(true);
  degraded.degraded = true;
  degraded.at = clock_.wall();
  for (int i = 0; i < 10; ++i) observer.on_decision(degraded, context());
  std::vector<std::string> lines = sink_.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], testing::AllOf(HasSubstr(R"("level":"warn","event":"degraded_decision")"),
                                       HasSubstr(R"("outcome":"allowed")"), HasSubstr(R"("degraded":true)"),
                                       Not(HasSubstr("omitted"))));
  degraded.at += std::chrono::seconds(1);
  observer.on_decision(degraded, context());
  observer.on_decision(degraded, context());
  lines = sink_.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr(R"("omitted":7})"));
  EXPECT_THAT(lines[1], Not(HasSubstr("omitted")));
  observer.on_decision(decision(true), context());
  EXPECT_EQ(sink_.lines().size(), 0u) << "nothing is sampled";
}

TEST_F(DecisionLogTest, ADegradedDecisionInTheSampleIsLoggedOnce) {
  DecisionLogOptions options = sampling({.allowed = kWholeShare, .denied = 0});
  options.degraded_per_second = 3;
  Decision degraded = decision(true);
  degraded.degraded = true;
  const std::vector<std::string> lines = lines_of(options, degraded, 2);
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr(R"("event":"decision")"));
}

TEST_F(DecisionLogTest, AReaderThatDoesNotReadDelaysNoDecision) {
  // More than any pipe holds; without a reader, waiting would never end.
  const auto lines = lines_of({.allowed = kWholeShare, .denied = 0}, decision(true), 20'000);
  EXPECT_LT(lines.size(), 20'000u);
  EXPECT_EQ(static_cast<std::int64_t>(lines.size()) + log_.suppressed(), 20'000);
}

}  // namespace
}  // namespace weir::observe
