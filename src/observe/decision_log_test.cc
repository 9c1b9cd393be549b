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
  std::vector<std::string> lines_of(const DecisionSample& sample, const Decision& decision, int times) {
    DecisionLog observer(log_, sample, 42);
    for (int i = 0; i < times; ++i) observer.on_decision(decision);
    return sink_.lines();
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
      R"("retry_after_ms":500,"source":"memory","subject":"9c41d2e07b5a"})");
}

TEST_F(DecisionLogTest, AllowedAndDeniedHaveSharesOfTheirOwn) {
  EXPECT_EQ(lines_of({.allowed = 0, .denied = kWholeShare}, decision(true), 100).size(), 0u);
  EXPECT_EQ(lines_of({.allowed = kWholeShare, .denied = 0}, decision(false), 100).size(), 0u);
  EXPECT_EQ(lines_of({.allowed = kWholeShare, .denied = 0}, decision(true), 100).size(), 100u);
}

TEST_F(DecisionLogTest, AdHocChargesAreNotSampled) {
  DecisionLog observer(log_, {.allowed = kWholeShare, .denied = kWholeShare}, 42);
  observer.on_charge("cl.throttle", {});
  EXPECT_EQ(sink_.lines().size(), 0u);
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

TEST_F(DecisionLogTest, AReaderThatDoesNotReadDelaysNoDecision) {
  // More than any pipe holds; without a reader, waiting would never end.
  const auto lines = lines_of({.allowed = kWholeShare, .denied = 0}, decision(true), 20'000);
  EXPECT_LT(lines.size(), 20'000u);
  EXPECT_EQ(static_cast<std::int64_t>(lines.size()) + log_.suppressed(), 20'000);
}

}  // namespace
}  // namespace weir::observe
