// Decisions as JSON and as header fields, checked against the members of the contract and the fields' own grammar.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/render/decision_headers.h"
#include "frontends/render/decision_json.h"
#include "tests/support/toy_limiter.h"

namespace weir::render {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string json(const Decision& decision) {
  std::string out;
  append_decision(out, decision);
  return out;
}
std::string denial(const Decision& decision, int status = 429) {
  std::string out;
  append_denial(out, decision, status);
  return out;
}
std::string fields(const Decision& decision, const HeaderOptions& options = {}) {
  std::string out;
  append_decision_fields(out, decision, options);
  return out;
}

Decision allowed() { return http::ToyLimiter::allowed(Request{}); }
Decision denied() { return http::ToyLimiter::denied(Request{}); }

// Reads RFC 9651's grammar from the front of `rest`: String, then parameters whose values are Integers.
bool take_item(std::string_view& rest) {
  const auto take = [&](std::string_view chars, std::size_t least, std::size_t most) {
    const std::size_t size = std::min(rest.find_first_not_of(chars), rest.size());
    rest.remove_prefix(size);
    return size >= least && size <= most;
  };
  if (!rest.starts_with('"')) return false;
  rest.remove_prefix(1);
  while (!rest.starts_with('"')) {
    const bool escape = rest.starts_with("\\\"") || rest.starts_with("\\\\");
    if (rest.empty() || (!escape && (rest[0] < 0x20 || rest[0] > 0x7e || rest[0] == '\\'))) return false;
    rest.remove_prefix(escape ? 2 : 1);
  }
  rest.remove_prefix(1);
  while (rest.starts_with(';')) {
    rest.remove_prefix(1);
    if (!take("abcdefghijklmnopqrstuvwxyz", 1, 64) || !rest.starts_with('=')) return false;
    rest.remove_prefix(1);
    if (!take("0123456789", 1, 15)) return false;
  }
  return true;
}

bool is_structured_list(std::string_view rest) {
  while (take_item(rest)) {
    if (rest.empty()) return true;
    if (!rest.starts_with(", ")) return false;
    rest.remove_prefix(2);
  }
  return false;
}

TEST(DecisionJson, ABlockedCallerIsNotToldWhetherABlockOrItsCredentialsWereTheReason) {
  Decision block;
  block.allowed = false;
  block.reason = Reason::blocked;
  Decision credentials = block;
  block.source = "block";
  block.cost = 3;
  EXPECT_EQ(json(block), json(credentials));
  EXPECT_EQ(denial(block, 403), denial(credentials, 403));
  EXPECT_THAT(json(block), Not(HasSubstr("\"block\"")));
  EXPECT_THAT(json(block), AllOf(HasSubstr("\"reason\":\"blocked\""), HasSubstr("\"source\":\"\"")));
}

TEST(DecisionJson, HasTheMembersOfTheContractInTheirOrder) {
  EXPECT_EQ(
      json(allowed()),
      R"({"allowed":true,"reason":"ok","rule":"search-per-key","algorithm":"token-bucket","limit":120,)"
      R"("remaining":119,"retry_after_ms":0,"reset_after_ms":500,"retry_at_ms":null,"reset_at_ms":1782907200624,)"
      R"("cost":1,"delay_ms":0,"degraded":false,)"
      R"("source":"memory","shadow_denied":[],"rules":[{"rule":"search-per-key","algorithm":"token-bucket",)"
      R"("mode":"enforce","subject":"9c41d2e07b5a","allowed":true,"limit":120,"remaining":119,"capacity":120,)"
      R"("window_ms":60000,"retry_after_ms":0,"reset_after_ms":500,"retry_at_ms":null,"reset_at_ms":1782907200624}]})");
}

// The decision was made at …200.123456; a wait of 1.2 s is over at …201.323456.
TEST(DecisionJson, WaitsHaveTheMomentOfTheirEndRoundedUp) {
  EXPECT_THAT(json(denied()), HasSubstr(R"("retry_at_ms":1782907201324,"reset_at_ms":1782907260124,"cost":1)"));
  EXPECT_THAT(json(denied()),
              HasSubstr(R"("reset_after_ms":60000,"retry_at_ms":1782907201324,"reset_at_ms":1782907260124}])"));
  Decision timeless = denied();
  timeless.at = TimePoint{};
  EXPECT_THAT(json(timeless), HasSubstr(R"("retry_at_ms":null,"reset_at_ms":null,"cost":1)"))
      << "a limiter that does not say when it decided";
}

TEST(DecisionJson, AnUnlimitedRuleHasNoSubjectAndNoMoments) {
  Decision decision = allowed();
  decision.rules[0].unlimited = true;
  EXPECT_THAT(json(decision), HasSubstr(R"("subject":null,"allowed":true,"limit":null,"remaining":null,)"));
  EXPECT_THAT(json(decision), HasSubstr(R"("retry_at_ms":null,"reset_at_ms":null}])"));
}

// A denial by a hidden rule tells its wait, and nothing that would tell whose bucket it is.
TEST(DecisionJson, WithoutRulesOnlyTheDecisionsOwnWaitIsTold) {
  Decision hidden = denied();
  hidden.rules.clear();
  hidden.deciding = -1;
  EXPECT_THAT(json(hidden), HasSubstr(R"("retry_at_ms":1782907201324,"reset_at_ms":null,)"));
  EXPECT_THAT(json(hidden), Not(HasSubstr("subject")));
}

TEST(DecisionJson, ANoRuleDecisionHasNoRule) {
  Decision decision;
  decision.cost = 1;
  decision.source = "memory";
  EXPECT_EQ(json(decision),
            R"({"allowed":true,"reason":"no_rule","rule":null,"algorithm":null,"limit":null,"remaining":null,)"
            R"("retry_after_ms":0,"reset_after_ms":0,"retry_at_ms":null,"reset_at_ms":null,"cost":1,"delay_ms":0,)"
            R"("degraded":false,"source":"memory",)"
            R"("shadow_denied":[],"rules":[]})");
}

TEST(DecisionJson, RoundsTimesUp) {
  Decision decision = allowed();
  decision.delay = 1us;
  decision.rules[0].reset_after = 1001us;
  EXPECT_THAT(json(decision),
              HasSubstr(R"("reset_after_ms":2,"retry_at_ms":null,"reset_at_ms":1782907200125,"cost":1,"delay_ms":1,)"));
}

TEST(DecisionJson, ListsShadowRulesThatWouldHaveDenied) {
  Decision decision = allowed();
  decision.atomic = false;
  RuleOutcome shadow = denied().rules[0];
  shadow.rule = "next-month";
  shadow.mode = Mode::shadow;
  decision.rules.push_back(shadow);
  EXPECT_THAT(json(decision), HasSubstr(R"("source":"memory","atomic":false,"shadow_denied":["next-month"],)"));
  EXPECT_THAT(json(decision), HasSubstr(R"("mode":"shadow","subject":"9c41d2e07b5a","allowed":false)"));
}

TEST(DecisionJson, ADenialIsAProblem) {
  EXPECT_THAT(
      denial(denied()),
      testing::StartsWith(
          R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded",)"
          R"("status":429,"detail":"The request is over its limit: rule search-per-key allows 120 per 60 s; )"
          R"(try again in 1200 ms.","code":"limit_exceeded","violated-policies":["search-per-key"],)"
          R"("allowed":false,"reason":"limit_exceeded","rule":"search-per-key",)"));
}

TEST(DecisionJson, TheMessageOfTheRuleIsTheDetailAndAMember) {
  Decision decision = denied();
  decision.message = "\"{limit}\" per {window}. Try again in {wait}.";
  EXPECT_THAT(denial(decision),
              HasSubstr(R"("status":429,"detail":"\"120\" per 60 s. Try again in 1.2 s.","code":"limit_exceeded")"));
  EXPECT_THAT(json(decision),
              HasSubstr(R"("source":"memory","message":"\"120\" per 60 s. Try again in 1.2 s.","shadow_denied":[])"));
  decision.reason = Reason::store_unavailable;
  EXPECT_THAT(denial(decision), HasSubstr("The limits cannot be checked at the moment")) << "not about the limit";
  EXPECT_THAT(denial(decision), Not(HasSubstr("\"message\"")));
}

TEST(DecisionJson, TheTypeOfAProblemFollowsTheReason) {
  Decision decision = denied();
  decision.reason = Reason::store_unavailable;
  EXPECT_EQ(default_status(decision), 503);
  EXPECT_THAT(denial(decision, 503), HasSubstr("#temporary-reduced-capacity"));
  decision.reason = Reason::shed;
  EXPECT_EQ(default_status(decision), 503);
  decision.reason = Reason::penalized;
  EXPECT_EQ(default_status(decision), 429);
  EXPECT_THAT(denial(decision), HasSubstr("#abnormal-usage-detected"));
  decision.reason = Reason::quota_exceeded;
  EXPECT_THAT(denial(decision), HasSubstr("#quota-exceeded"));
}

TEST(DecisionJson, ACostThatCanNeverFitSaysSo) {
  Decision decision = denied();
  decision.reason = Reason::cost_too_large;
  decision.retry_after = 0us;
  decision.rules[0].cost = 500;
  decision.rules[0].retry_after = 0us;
  decision.rules[0].too_large = true;
  EXPECT_THAT(denial(decision), HasSubstr("a cost of 500 can never fit."));
  EXPECT_THAT(fields(decision), Not(HasSubstr("Retry-After")));
  EXPECT_EQ(default_status(decision), 429);
}

TEST(DecisionJson, EscapesWhateverARuleIsCalled) {
  Decision decision = allowed();
  decision.rules[0].rule = std::string_view("a\"\\\n\x01\x1f\0\xc3\xa4\xff\xed\xa0\x80", 13);
  std::string out;
  append_decision(out, decision);
  EXPECT_THAT(
      out, HasSubstr("\"a\\\"\\\\\\n\\u0001\\u001f\\u0000\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""));
}

TEST(DecisionHeaders, TellPolicyAndState) {
  EXPECT_EQ(fields(allowed()),
            "RateLimit-Policy: \"search-per-key\";q=120;w=60\r\nRateLimit: \"search-per-key\";r=119;t=1\r\n");
  EXPECT_EQ(fields(denied()),
            "RateLimit-Policy: \"search-per-key\";q=120;w=60\r\nRateLimit: \"search-per-key\";r=0;t=2\r\n"
            "Retry-After: 2\r\n");
  EXPECT_EQ(fields(Decision{}), "");
}

TEST(DecisionHeaders, WhatAStringOfTheFieldCannotHoldBecomesAQuestionMark) {
  Decision decision = allowed();
  decision.rules[0].rule = "caf\xc3\xa9 \x01\x1f~\x7f\r\n";
  std::string policy;
  append_rate_limit_policy(policy, decision);
  EXPECT_EQ(policy, R"("caf?? ??~???";q=120;w=60)");
}

TEST(DecisionHeaders, ListEveryEnforcedRuleInOrderAndNoShadowRule) {
  Decision decision = allowed();
  RuleOutcome other = decision.rules[0];
  other.rule = "od\"d\\";
  other.window = 1ms;
  other.reset_after = 0us;
  decision.rules.push_back(other);
  other.rule = "hidden";
  other.mode = Mode::shadow;
  decision.rules.push_back(other);
  std::string policy;
  append_rate_limit_policy(policy, decision);
  EXPECT_EQ(policy, R"("search-per-key";q=120;w=60, "od\"d\\";q=120;w=1)");
  std::string state;
  append_rate_limit(state, decision);
  EXPECT_EQ(state, R"("search-per-key";r=119;t=1, "od\"d\\";r=119)");
  EXPECT_TRUE(is_structured_list(policy)) << policy;
  EXPECT_TRUE(is_structured_list(state)) << state;
  EXPECT_FALSE(is_structured_list(R"("a";q=1.5)")) << "the check itself";
  EXPECT_FALSE(is_structured_list(R"("a"b";q=1)")) << "the check itself";
}

TEST(DecisionHeaders, RetryAfterIsWholeSecondsAtLeastOneAndNeverBeforeT) {
  Decision decision = denied();
  decision.retry_after = 1us;
  decision.rules[0].retry_after = 1us;
  EXPECT_EQ(retry_after_seconds(decision), 1);
  decision.retry_after = 0us;
  decision.rules[0].retry_after = 0us;
  decision.rules[0].reset_after = 0us;
  EXPECT_EQ(retry_after_seconds(decision), 1);
  decision.retry_after = 2s;
  decision.rules[0].retry_after = 2'000'001us;
  EXPECT_EQ(retry_after_seconds(decision), 3);
  // An allowed neighbour's reset does not count.
  RuleOutcome neighbour = allowed().rules[0];
  neighbour.reset_after = 1h;
  decision.rules.push_back(neighbour);
  EXPECT_EQ(retry_after_seconds(decision), 3);
  EXPECT_EQ(retry_after_seconds(allowed()), 0);
}

// A denial whose rules are hidden has only the decision's own wait to go by.
TEST(DecisionHeaders, RetryAfterIsRoundedUpWithoutAnyRuleToo) {
  Decision hidden = denied();
  hidden.rules.clear();
  hidden.deciding = -1;
  for (const auto& [wait, seconds] :
       {std::pair{1us, 1}, {1s, 1}, {1'000'001us, 2}, {1500ms, 2}, {1'999'999us, 2}, {2s, 2}, {1h + 1us, 3601}}) {
    hidden.retry_after = wait;
    EXPECT_EQ(retry_after_seconds(hidden), seconds) << wait.count();
    EXPECT_EQ(fields(hidden), "Retry-After: " + std::to_string(seconds) + "\r\n");
  }
}

TEST(DecisionHeaders, EachFamilyIsSentByChoice) {
  const HeaderOptions x_only{.ietf = false, .x_ratelimit = true};
  EXPECT_EQ(fields(allowed(), x_only),
            "X-RateLimit-Limit: 120\r\nX-RateLimit-Remaining: 119\r\nX-RateLimit-Reset: 1\r\n");
  EXPECT_EQ(fields(denied(), x_only),
            "Retry-After: 2\r\n"
            "X-RateLimit-Limit: 120\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 2\r\n");
  const HeaderOptions older_only{.ietf = false, .ratelimit_legacy = true};
  EXPECT_EQ(fields(allowed(), older_only),
            "RateLimit-Limit: 120\r\nRateLimit-Remaining: 119\r\nRateLimit-Reset: 1\r\n");
  const HeaderOptions all{.x_ratelimit = true, .ratelimit_legacy = true};
  EXPECT_THAT(fields(denied(), all), AllOf(HasSubstr("RateLimit-Policy: "), HasSubstr("\r\nX-RateLimit-Limit: 120\r\n"),
                                           HasSubstr("\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 2\r\n")));
  EXPECT_EQ(fields(Decision{}, all), "");
}

TEST(DecisionHeaders, WithoutAnyFamilyADenialStillSaysWhenToComeBack) {
  const HeaderOptions none{.ietf = false};
  EXPECT_EQ(fields(allowed(), none), "");
  EXPECT_EQ(fields(denied(), none), "Retry-After: 2\r\n");
}

// …200.123456 and 0.5 s more is within second …201, and 1.2 s more within …202.
TEST(DecisionHeaders, ResetsAreUnixTimeByOption) {
  const HeaderOptions unix_time{
      .ietf = false, .x_ratelimit = true, .ratelimit_legacy = true, .reset_as_unix_time = true};
  EXPECT_THAT(fields(allowed(), unix_time), AllOf(HasSubstr("\r\nX-RateLimit-Reset: 1782907201\r\n"),
                                                  HasSubstr("\r\nRateLimit-Reset: 1782907201\r\n")));
  EXPECT_THAT(fields(denied(), unix_time),
              AllOf(HasSubstr("Retry-After: 2\r\n"), HasSubstr("\r\nX-RateLimit-Reset: 1782907202\r\n")));
}

TEST(DecisionHeaders, FamiliesAreReadFromTheirNames) {
  const auto read = [](std::vector<std::string> names) { return parse_header_names(names); };
  EXPECT_EQ(read({}).value(), (HeaderOptions{.ietf = false}));
  EXPECT_EQ(read({"off"}).value(), (HeaderOptions{.ietf = false}));
  EXPECT_EQ(read({"ietf"}).value(), HeaderOptions{});
  EXPECT_EQ(read({"ratelimit-legacy", "x-ratelimit"}).value(),
            (HeaderOptions{.ietf = false, .x_ratelimit = true, .ratelimit_legacy = true}));
  EXPECT_EQ(read({"x-rate"}).failure().message,
            "has the entry 'x-rate', expected ietf, x-ratelimit or ratelimit-legacy, or off alone");
  EXPECT_EQ(read({"ietf", "ietf"}).failure().message, "has 'ietf' twice");
  EXPECT_FALSE(read({"ietf", "off"}).ok());
}

TEST(DecisionJson, AnOutcomeThatIsNotAnAlgorithmsHasNone) {
  Decision decision = allowed();
  decision.rules[0].algorithm.reset();
  EXPECT_THAT(json(decision), HasSubstr(R"("rule":"search-per-key","algorithm":null,"limit":120)"));
  EXPECT_THAT(json(decision), HasSubstr(R"({"rule":"search-per-key","algorithm":null,"mode")"));
}

}  // namespace
}  // namespace weir::render
