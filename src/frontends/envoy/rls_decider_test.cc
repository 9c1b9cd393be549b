// What Envoy's fields mean to a limiter.
#include "frontends/envoy/rls_decider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "frontends/envoy/rls.h"
#include "tests/support/toy_link.h"

namespace weir::envoy {
using grpc::toy_decision;
using grpc::ToyLimiter;
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;

class Rls : public testing::Test {
 protected:
  Rls() {
    request.domain = "shop";
    limiter.answer = toy_decision("per-user", 10, 9, minutes(1));
  }
  RlsDescriptor& add(std::string_view key, std::string_view value) {
    RlsDescriptor descriptor;
    descriptor.first = request.attributes.size();
    descriptor.entries = 1;
    request.attributes.push_back({});
    request.attributes.push_back({key, value});
    request.descriptors.push_back(descriptor);
    request.spread_domain();
    return request.descriptors.back();
  }
  RlsAnswer decide() {
    EXPECT_TRUE(request.check().ok());
    const Result<RlsAnswer> answer = try_to_decide();
    EXPECT_TRUE(answer.ok());
    return answer.value();
  }
  // Of a limiter that answers at once.
  Result<RlsAnswer> try_to_decide() {
    RlsDecider decider(limiter, options);
    std::optional<Result<RlsAnswer>> answer;
    decider.decide(
        request,
        [&](const Status& status, const RlsAnswer& made) {
          answer = status.ok() ? Result<RlsAnswer>(made) : Result<RlsAnswer>(status.failure());
        },
        [] { return [](const Result<RlsAnswer>&) { FAIL(); }; });
    return answer.value();
  }
  std::string fault() {
    const Status status = request.check();
    return status.ok() ? "" : status.failure().message;
  }

  ToyLimiter limiter;
  RlsRequest request;
  RlsOptions options;
};

TEST_F(Rls, DomainAndEntriesAreTheAttributes) {
  add("user", "ann");
  decide();
  EXPECT_THAT(limiter.asked.at(0).attributes, ElementsAre(Pair("domain", "shop"), Pair("user", "ann")));
}

TEST_F(Rls, TheDescriptorsHitsWinAndZeroLooks) {
  request.hits_addend = 5;
  add("a", "1");
  add("b", "2").has_hits = true;
  RlsDescriptor& own = add("c", "3");
  own.has_hits = true;
  own.hits = 7;
  decide();
  EXPECT_EQ(limiter.asked.at(0).cost, 5);
  EXPECT_FALSE(limiter.asked[0].peek);
  EXPECT_TRUE(limiter.asked.at(1).peek);
  EXPECT_EQ(limiter.asked.at(2).cost, 7);
}

// An error would be an allow to Envoy.
TEST_F(Rls, MoreHitsThanACostCanBeAreTheLargestCost) {
  RlsDescriptor& descriptor = add("a", "1");
  descriptor.has_hits = true;
  descriptor.hits = std::numeric_limits<std::uint64_t>::max();
  decide();
  EXPECT_EQ(limiter.asked.at(0).cost, kMaxUnits);
}

TEST_F(Rls, NoHitsAtAllMeanOne) {
  add("a", "1");
  decide();
  EXPECT_EQ(limiter.asked.at(0).cost, 1);
}

TEST_F(Rls, NegativeHitsAreRefunded) {
  add("a", "1").negative = true;
  add("b", "1");
  request.hits_addend = 4;
  const RlsAnswer answer = decide();
  EXPECT_EQ(limiter.asked.at(0).action, Action::refund);
  EXPECT_EQ(limiter.asked[0].cost, 4);
  EXPECT_EQ(limiter.asked.at(1).action, Action::take);
  EXPECT_EQ(answer.statuses.size(), 2U);
}

TEST_F(Rls, OneDescriptorOverItsLimitMakesTheAnswerOverLimitAndStatusesKeepTheirOrder) {
  add("a", "1");
  add("b", "2");
  add("c", "3");
  limiter.answers = {toy_decision("one", 10, 9, minutes(1)), toy_decision("two", 5, 0, hours(1), false),
                     toy_decision("three", 10, 1, seconds(1))};
  const RlsAnswer answer = decide();
  EXPECT_TRUE(answer.over_limit);
  ASSERT_EQ(answer.statuses.size(), 3U);
  EXPECT_FALSE(answer.statuses[0].over_limit);
  EXPECT_TRUE(answer.statuses[1].over_limit);
  EXPECT_EQ(answer.statuses[1].unit, RlsUnit::hour);
  EXPECT_EQ(answer.statuses[1].reset_after, minutes(30));
  EXPECT_EQ(answer.statuses[2].remaining, 1U);
  EXPECT_EQ(answer.header(RlsHeader::rate_limit_policy), R"("two";q=5;w=3600)");
  EXPECT_EQ(answer.header(RlsHeader::retry_after), "1800");
}

// A caller keeps one answer for many calls, so nothing of one call may reach the next.
TEST_F(Rls, ACollectedAnswerIsEmptyWhenItIsCleared) {
  add("a", "1");
  options.fields = {.x_ratelimit = true, .ratelimit_legacy = true};
  limiter.answer = toy_decision("per-user", 10, 0, minutes(1));
  limiter.answer.allowed = limiter.answer.rules[0].allowed = false;
  limiter.answer.retry_after = seconds(9);
  limiter.answer.reason = Reason::limit_exceeded;
  limiter.answer.message = "{limit} per {window}, try again in {wait}";
  RlsAnswer answer = decide();
  EXPECT_EQ(answer.body, "10 per 60 s, try again in 9 s");
  EXPECT_TRUE(answer.over_limit);
  EXPECT_THAT(answer.headers, testing::Each(testing::Not(testing::IsEmpty())));
  answer.clear();
  EXPECT_FALSE(answer.over_limit);
  EXPECT_TRUE(answer.statuses.empty());
  EXPECT_THAT(answer.headers, testing::Each(testing::IsEmpty()));
  EXPECT_EQ(answer.body, "");
}

TEST_F(Rls, TheBodyIsTheMessageOfTheDenialThatIsToldAndNeedsNoHeaders) {
  add("a", "1");
  add("b", "2");
  limiter.answers = {toy_decision("hour", 5, 0, hours(1), false), toy_decision("day", 5, 0, hours(24), false)};
  limiter.answers[0].message = "hour";
  limiter.answers[1].message = "day";
  options.headers = false;
  EXPECT_EQ(decide().body, "day");
  limiter.answers = {toy_decision("hour", 5, 4, hours(1)), toy_decision("day", 5, 4, hours(24))};
  EXPECT_EQ(decide().body, "");
}

// The same decision gives the same headers as over HTTP.
TEST_F(Rls, EachFamilyOfHeadersIsToldByChoice) {
  add("a", "1");
  RlsAnswer answer = decide();
  EXPECT_NE(answer.header(RlsHeader::rate_limit), "");
  EXPECT_EQ(answer.header(RlsHeader::x_limit), "");
  EXPECT_EQ(answer.header(RlsHeader::legacy_limit), "");
  options.fields = {.ietf = false, .x_ratelimit = true, .ratelimit_legacy = true};
  answer = decide();
  EXPECT_EQ(answer.header(RlsHeader::rate_limit), "");
  EXPECT_EQ(answer.header(RlsHeader::rate_limit_policy), "");
  EXPECT_EQ(answer.header(RlsHeader::x_limit), "10");
  EXPECT_EQ(answer.header(RlsHeader::x_remaining), "9");
  EXPECT_EQ(answer.header(RlsHeader::x_reset), "30");
  EXPECT_EQ(answer.header(RlsHeader::legacy_limit), "10");
  EXPECT_EQ(answer.header(RlsHeader::legacy_remaining), "9");
  EXPECT_EQ(answer.header(RlsHeader::legacy_reset), "30");
  limiter.answer = Decision{};
  answer = decide();
  EXPECT_THAT(answer.headers, testing::Each(testing::IsEmpty())) << "no rule applies";
}

TEST_F(Rls, ResetsAreUnixTimeByOptionAlsoThoseOfOverrides) {
  const auto clock = std::make_shared<ManualClock>(from_micros(1'782'907'200'000'000));
  options.fields = {.ietf = false, .x_ratelimit = true, .reset_as_unix_time = true};
  options.clock = clock;
  add("a", "1");
  limiter.answer.at = clock->now();
  EXPECT_EQ(decide().header(RlsHeader::x_reset), "1782907230");
  request.clear();
  request.domain = "edge";
  RlsDescriptor& overridden = add("b", "1");
  overridden.has_override = true;
  overridden.override_limit = 5;
  overridden.override_unit = 2;
  EXPECT_EQ(decide().header(RlsHeader::x_reset), "1782907200") << "the toy limiter's charges are full at once";
}

TEST_F(Rls, OfSeveralDenialsTheLongestWaitIsTold) {
  add("a", "1");
  add("b", "2");
  limiter.answers = {toy_decision("day", 5, 0, hours(24), false), toy_decision("hour", 5, 0, hours(1), false)};
  EXPECT_EQ(decide().header(RlsHeader::retry_after), "43200");
}

// A wait that another descriptor makes useless is not told.
TEST_F(Rls, ADenialThatNoWaitCanHelpIsToldBeforeThoseThatOneCan) {
  add("a", "1");
  add("b", "2");
  add("c", "3");
  Decision never = toy_decision("small", 1, 1, hours(1), false);
  never.reason = Reason::cost_too_large;
  never.retry_after = Duration{0};
  never.rules[0].too_large = true;
  never.rules[0].retry_after = Duration{0};
  limiter.answers = {toy_decision("hour", 5, 0, hours(1), false), never, toy_decision("day", 5, 0, hours(24), false)};
  const RlsAnswer answer = decide();
  EXPECT_EQ(answer.header(RlsHeader::rate_limit_policy), R"("small";q=1;w=3600)");
  EXPECT_EQ(answer.header(RlsHeader::retry_after), "");
}

// Envoy shows its clients the seconds alone: a part of one must not become "now".
TEST_F(Rls, TheTimeUntilResetIsToldInWholeSecondsRoundedUp) {
  add("a", "1");
  limiter.answer.rules[0].reset_after = std::chrono::milliseconds(1);
  EXPECT_EQ(decide().statuses[0].reset_after, seconds(1));
  limiter.answer.rules[0].reset_after = seconds(30);
  EXPECT_EQ(decide().statuses[0].reset_after, seconds(30));
  limiter.answer.rules[0].reset_after = Duration{0};
  EXPECT_EQ(decide().statuses[0].reset_after, seconds(0));
}

TEST_F(Rls, UnitsAreToldOnlyWhenTheyAreExact) {
  for (int i = 1; i <= 7; ++i) {
    const auto unit = static_cast<RlsUnit>(i);
    EXPECT_EQ(unit_of(unit_window(unit)), unit);
  }
  add("a", "1");
  limiter.answer = toy_decision("odd", 10, 9, seconds(10));
  const RlsStatus status = decide().statuses[0];
  EXPECT_FALSE(status.has_limit);
  EXPECT_EQ(status.remaining, 9U);
  EXPECT_TRUE(status.has_reset);
}

TEST_F(Rls, NumbersThatDoNotFitEnvoysTypesAreClamped) {
  add("a", "1");
  limiter.answer = toy_decision("vast", kMaxUnits, kMaxUnits - 1, minutes(1));
  const RlsStatus status = decide().statuses[0];
  EXPECT_EQ(status.limit, 4294967295U);
  EXPECT_EQ(status.remaining, 4294967295U);
}

TEST_F(Rls, UnlimitedAndUncountedRequestsAreOkWithoutALimit) {
  add("a", "1");
  add("b", "2");
  Decision unlimited = toy_decision("open", 0, 0, Duration{0});
  unlimited.rules[0].unlimited = true;
  limiter.answers = {unlimited, Decision{}};
  const RlsAnswer answer = decide();
  EXPECT_FALSE(answer.over_limit);
  EXPECT_EQ(answer.statuses[0].remaining, 4294967295U);
  EXPECT_FALSE(answer.statuses[0].has_limit);
  EXPECT_EQ(answer.statuses[1].remaining, 0U);
  EXPECT_EQ(answer.header(RlsHeader::rate_limit), "");
}

TEST_F(Rls, AStoreFailureThatDeniesIsOverLimit) {
  add("a", "1");
  limiter.answer = toy_decision("strict", 10, 0, minutes(1), false);
  limiter.answer.reason = Reason::store_unavailable;
  limiter.answer.rules[0].store_failed = true;
  const RlsAnswer answer = decide();
  EXPECT_TRUE(answer.over_limit);
  EXPECT_FALSE(answer.statuses[0].has_limit);
}

TEST_F(Rls, AnOverrideIsAFixedWindowNamedByUnitDomainKeysAndValues) {
  RlsDescriptor& descriptor = add("user", "ann");
  descriptor.has_override = true;
  descriptor.override_limit = 30;
  descriptor.override_unit = 5;
  limiter.charged.remaining = 29;
  limiter.charged.reset_after = hours(1);
  const RlsAnswer answer = decide();
  EXPECT_THAT(limiter.asked.at(0).subject, ElementsAre("MONTH", "shop", "user", "ann"));
  EXPECT_EQ(limiter.asked[0].limit, 30);
  EXPECT_EQ(limiter.asked[0].window, hours(24 * 30));
  EXPECT_FALSE(answer.over_limit);
  EXPECT_EQ(answer.statuses[0].unit, RlsUnit::month);
  EXPECT_EQ(answer.statuses[0].remaining, 29U);
}

TEST_F(Rls, AnOverrideOfNothingDeniesWithoutABucket) {
  RlsDescriptor& descriptor = add("user", "ann");
  descriptor.has_override = true;
  descriptor.override_unit = 1;
  EXPECT_TRUE(decide().over_limit);
  EXPECT_TRUE(limiter.asked.empty());
  // And does not keep those behind it from being charged.
  RlsDescriptor& next = add("user", "bob");
  next.has_override = true;
  next.override_limit = 30;
  next.override_unit = 1;
  const RlsAnswer answer = decide();
  EXPECT_TRUE(answer.over_limit);
  ASSERT_EQ(limiter.asked.size(), 1U);
  EXPECT_THAT(limiter.asked[0].subject, ElementsAre("SECOND", "shop", "user", "bob"));
  EXPECT_FALSE(answer.statuses[1].over_limit);
}

TEST_F(Rls, AnOverrideWhoseStoreFailsIsUnavailable) {
  RlsDescriptor& descriptor = add("user", "ann");
  descriptor.has_override = true;
  descriptor.override_limit = 1;
  descriptor.override_unit = 1;
  limiter.charged.status = Code::unavailable;
  const Result<RlsAnswer> answer = try_to_decide();
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.failure().code, Code::unavailable);
}

TEST_F(Rls, BoundsAreChecked) {
  EXPECT_EQ(fault(), "rate limit descriptor list must not be empty");
  RlsDescriptor& descriptor = add("user", "ann");
  EXPECT_EQ(fault(), "");
  descriptor.has_override = true;
  EXPECT_EQ(fault(), "the unit of a limit override is not known");
  descriptor.override_unit = 7;
  EXPECT_EQ(fault(), "the unit of a limit override is not known");
  descriptor.override_unit = 6;
  EXPECT_EQ(fault(), "");
  const std::string long_value(kMaxAttributeValue + 1, 'v');
  request.attributes[1].value = long_value;
  EXPECT_NE(fault(), "");
  request.domain = "";
  EXPECT_EQ(fault(), "rate limit domain must not be empty");
}

TEST_F(Rls, AnswersThatComeLaterAreTheSame) {
  RlsDescriptor& descriptor = add("user", "ann");
  descriptor.has_override = true;
  descriptor.override_limit = 1;
  descriptor.override_unit = 1;
  add("b", "2").negative = true;
  add("c", "3");
  limiter.later = true;
  limiter.answers = {toy_decision("two", 10, 9, minutes(1)), toy_decision("three", 10, 0, minutes(1), false)};
  RlsDecider decider(limiter, options);
  int calls = 0;
  const auto decide_later = [&](const std::function<void(const Result<RlsAnswer>&)>& check) {
    decider.decide(
        request, [](const Status&, const RlsAnswer&) { FAIL() << "answered at once"; },
        [&calls, check] {
          return [&calls, check](const Result<RlsAnswer>& answer) {
            ++calls;
            check(answer);
          };
        });
  };
  decide_later([&](const Result<RlsAnswer>& answer) {
    ASSERT_TRUE(answer.ok());
    EXPECT_TRUE(answer.value().over_limit);
    ASSERT_EQ(answer.value().statuses.size(), 3U);
    EXPECT_EQ(answer.value().statuses[0].name, "override");
    EXPECT_EQ(answer.value().statuses[1].name, "two");
    EXPECT_EQ(answer.value().statuses[2].name, "three");
  });
  EXPECT_EQ(calls, 0);
  limiter.answer_all();
  EXPECT_EQ(calls, 1);
  limiter.charged.status = Code::unavailable;
  limiter.answers = {Decision{}, Decision{}};
  decide_later([&](const Result<RlsAnswer>& answer) { EXPECT_FALSE(answer.ok()); });
  limiter.answer_all();
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace weir::envoy
