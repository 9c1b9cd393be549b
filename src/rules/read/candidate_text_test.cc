#include "rules/read/candidate_text.h"

#include <gtest/gtest.h>

#include "rules/read/rules_file.h"
#include "rules/read/rules_text.h"

namespace weir::rules {
namespace {

constexpr const char* kText =
    "version: 1\n"
    "rules:\n"
    "  - id: first\n"
    "    limit: 9\n"
    "    window: 1s\n"
    "  # why it is so\n"
    "  - id: second   # the one\n"
    "    per: [tenant]\n"
    "    limit: 100   # agreed\n"
    "    window: 60s\n"
    "    candidate:\n"
    "      limit: 80\n"
    "      burst: 90\n"
    "\n"
    "  - {id: third, limit: 5, window: 1s, candidate: {limit: 4}}\n";

TEST(CandidateText, APromotionChangesTheNumbersAndNothingElse) {
  const Result<EndedCandidate> text = end_candidate(kText, "second", CandidateEnd::promoted);
  ASSERT_TRUE(text.ok()) << text.failure().message;
  EXPECT_EQ(text.value().text,
            "version: 1\n"
            "rules:\n"
            "  - id: first\n"
            "    limit: 9\n"
            "    window: 1s\n"
            "  # why it is so\n"
            "  - id: second   # the one\n"
            "    per: [tenant]\n"
            "    limit: 80  # agreed\n"
            "    burst: 90\n"
            "    window: 60s\n"
            "\n"
            "  - {id: third, limit: 5, window: 1s, candidate: {limit: 4}}\n");
}

TEST(CandidateText, DiscardingRemovesTheFieldAlone) {
  const Result<EndedCandidate> text = end_candidate(kText, "second", CandidateEnd::discarded);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text.value().text.find("    window: 60s\n\n  - {id: third"), std::string::npos) << text.value().text;
  EXPECT_NE(text.value().text.find("limit: 100   # agreed"), std::string::npos);
}

TEST(CandidateText, ARuleOnOneLineIsWrittenAnewWithTheWholeFile) {
  const Result<EndedCandidate> text = end_candidate(kText, "third", CandidateEnd::promoted);
  ASSERT_TRUE(text.ok());
  const Result<Rules> rules = parse_rules(text.value().text, "f.yaml");
  ASSERT_TRUE(rules.ok());
  EXPECT_EQ(rules.value().rules[2].allowance.limit, 4);
  EXPECT_FALSE(rules.value().rules[2].candidate);
  EXPECT_EQ(rules.value().rules[1].candidate->limit, 80);
}

TEST(CandidateText, SaysWhetherCommentsAreLost) {
  EXPECT_FALSE(end_candidate(kText, "second", CandidateEnd::promoted).value().rewritten);
  EXPECT_TRUE(end_candidate(kText, "third", CandidateEnd::promoted).value().rewritten);
}

TEST(CandidateText, LinesThatEndWithCrLfStay) {
  const Result<EndedCandidate> ended = end_candidate(
      "version: 1\r\nrules:\r\n  - id: a  # why\r\n    limit: 3\r\n    window: 1s\r\n    candidate: {limit: 2}\r\n",
      "a", CandidateEnd::promoted);
  ASSERT_TRUE(ended.ok()) << ended.failure().message;
  EXPECT_EQ(ended.value().text, "version: 1\r\nrules:\r\n  - id: a  # why\r\n    limit: 2\r\n    window: 1s\r\n");
}

TEST(CandidateText, ACandidateThatIsTheFirstFieldLeavesItsDashToTheNext) {
  const Result<EndedCandidate> ended = end_candidate(
      "version: 1\nrules:\n  - candidate:\n      limit: 2\n    # why\n    id: a\n    limit: 3\n    window: 1s\n", "a",
      CandidateEnd::promoted);
  ASSERT_TRUE(ended.ok()) << ended.failure().message;
  EXPECT_EQ(ended.value().text, "version: 1\nrules:\n    # why\n  - id: a\n    limit: 2\n    window: 1s\n");
}

TEST(CandidateText, WhatIsNotThereIsTold) {
  EXPECT_EQ(end_candidate(kText, "none", CandidateEnd::promoted).failure().code, Code::not_found);
  EXPECT_EQ(end_candidate(kText, "first", CandidateEnd::promoted).failure().code, Code::failed_precondition);
  EXPECT_FALSE(end_candidate("rules: 1", "first", CandidateEnd::promoted).ok());
}

std::string error_of_rule(const std::string& fields) {
  const Result<Rules> rules = parse_rules("version: 1\nrules:\n  - {id: r, " + fields + "}\n", "f.yaml");
  return rules.ok() ? "" : rules.failure().message;
}

TEST(ProtectionFields, AnAdaptiveLimitIsInShadowModeUnlessItSaysOtherwise) {
  const std::string text =
      "version: 1\nrules:\n  - id: r\n    algorithm: concurrency\n    limit: {auto: {min: 2, max: 50}}\n    lease: "
      "30s\n";
  const Rules rules = parse_rules(text, "f.yaml").value();
  EXPECT_EQ(rules.rules[0].mode, Mode::shadow);
  EXPECT_EQ(rules.rules[0].auto_limit, (AutoLimit{2, 50}));
  EXPECT_EQ(parse_rules(text + "    mode: enforce\n", "f.yaml").value().rules[0].mode, Mode::enforce);
  for (const char* const more : {"", "    mode: enforce\n"}) {
    const Rules again = parse_rules(text + more, "f.yaml").value();
    EXPECT_EQ(parse_rules(write_rules(again), "f.yaml").value(), again);
  }
}

TEST(ProtectionFields, WrongOnesAreRefused) {
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(contains(error_of_rule("limit: {auto: {min: 2, max: 5}}, window: 1s"), "is for concurrency rules"));
  EXPECT_TRUE(contains(error_of_rule("algorithm: concurrency, lease: 1s, limit: {auto: {min: 6, max: 5}}"),
                       "limit.auto.max: is 5, expected 6 to 10000"));
  EXPECT_TRUE(contains(error_of_rule("algorithm: concurrency, lease: 1s, limit: {auto: {min: 6}}"), "is missing"));
  EXPECT_TRUE(contains(error_of_rule("algorithm: concurrency, lease: 1s, limit: {most: 3}"), "unknown field"));
  EXPECT_TRUE(contains(error_of_rule("limit: 5, window: 1s, candidate: {limit: 5}"), "the numbers of the rule itself"));
  EXPECT_TRUE(contains(error_of_rule("limit: 5, window: 1s, candidate: {limit: unlimited}"), "unlimited is none"));
  EXPECT_TRUE(contains(error_of_rule("algorithm: concurrency, lease: 1s, limit: 5, candidate: {limit: 4}"),
                       "a concurrency or quota rule has none"));
  EXPECT_TRUE(contains(error_of_rule("limit: 5, window: 1s, distinct: user"), "fixed-window or sliding-log"));
  EXPECT_TRUE(contains(error_of_rule("algorithm: sliding-log, limit: 1001, window: 1s, distinct: user"),
                       "expected at most 1000 with distinct"));
  EXPECT_TRUE(contains(error_of_rule("algorithm: sliding-log, limit: 5, window: 1s, per: [user], distinct: user"),
                       "each subject has one value"));
  EXPECT_TRUE(
      contains(error_of_rule("algorithm: sliding-log, limit: 5, window: 1s, distinct: user, candidate: {limit: 4}"),
               "does not work together with distinct"));
}

}  // namespace
}  // namespace weir::rules
