#include "admin/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/preconditions.h"
#include "admin/query.h"

namespace weir::admin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const TimePoint kNow = from_micros(1'800'000'000'000'000);

std::string fault_of_body(Members& body) {
  const Status read = body.finish();
  return read.ok() ? "" : read.failure().message;
}

TEST(Members, AreReadByNameAndKind) {
  Members body = Members::of(
      R"({"name":"ada","limit":7,"on":true,"rules":["a","b"],"one":"c","settings":{"k":"v"},"until":"2h","x":null})");
  EXPECT_EQ(body.text("name"), "ada");
  EXPECT_EQ(body.number("limit", 1, 10), 7);
  EXPECT_TRUE(body.flag("on"));
  EXPECT_THAT(body.texts("rules"), ElementsAre("a", "b"));
  EXPECT_THAT(body.texts("one"), ElementsAre("c"));
  EXPECT_THAT(body.text_map("settings"), ElementsAre(Pair("k", "v")));
  EXPECT_EQ(body.until("until", kNow), kNow + std::chrono::hours(2));
  EXPECT_EQ(body.optional_text("x"), std::nullopt) << "null is the same as nothing";
  EXPECT_EQ(fault_of_body(body), "");
}

TEST(Members, ThatWereNotAskedForAreFaults) {
  Members body = Members::of(R"({"name":"ada","nmae":"bob"})");
  EXPECT_EQ(body.text("name"), "ada");
  EXPECT_EQ(fault_of_body(body), "nmae: is not a member (did you mean name?)");
}

TEST(Members, InsideAnObjectAreNamedWithIt) {
  Members body = Members::of(R"({"when":{"limit":"x","more":1}})");
  Members when = body.object("when");
  EXPECT_EQ(when.optional_number("limit", 0, 9), std::nullopt);
  EXPECT_EQ(fault_of_body(body), "when.limit: is a text, expected a whole number");
  Members other = Members::of(R"({"when":{"more":1}})");
  static_cast<void>(other.object("when"));
  EXPECT_THAT(fault_of_body(other), HasSubstr("when.more: is not a member"));
}

TEST(Members, KeepTheFirstFault) {
  Members body = Members::of(R"({"limit":0})");
  EXPECT_EQ(body.text("name"), "");
  EXPECT_EQ(body.number("limit", 1, 10), 1);
  EXPECT_EQ(fault_of_body(body), "name: is missing, expected a text");
}

TEST(Members, AreBounded) {
  const auto fault = [](const std::string& value) {
    Members body = Members::of("{\"reason\":" + value + "}");
    static_cast<void>(body.reason());
    return fault_of_body(body);
  };
  EXPECT_EQ(fault("\"\""), "reason: is empty");
  EXPECT_EQ(fault("\"a\\u0000b\""), "reason: has a NUL or is not UTF-8");
  EXPECT_EQ(fault("\"a\\u001bb\""), "reason: has a control character");
  EXPECT_EQ(fault("\"" + std::string(501, 'x') + "\""), "reason: has 501 characters, expected 1 to 500");
  std::string umlauts;
  for (int i = 0; i < 500; ++i) umlauts += "ü";
  EXPECT_EQ(fault("\"" + umlauts + "\""), "") << "characters count, not bytes";
}

TEST(Members, OfWhatIsNoObjectHaveOneFault) {
  for (const char* text : {"", "[]", "{\"a\":1", "{\"a\":1}}", "{\"a\":1,\"a\":2}"}) {
    Members body = Members::of(text);
    static_cast<void>(body.optional_number("a", 0, 9));
    EXPECT_NE(fault_of_body(body), "") << text;
  }
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100; ++i) deep += "[";
  for (int i = 0; i < 100; ++i) deep += "]";
  Members body = Members::of(deep + "}");
  EXPECT_EQ(fault_of_body(body), "the body is nested too deep");
}

TEST(Until, IsATimeOrADurationFromNowAndInTheFuture) {
  EXPECT_EQ(parse_until("30m", kNow).value(), kNow + std::chrono::minutes(30));
  EXPECT_EQ(parse_until("2027-01-15T08:00:01Z", kNow).value(), kNow + std::chrono::seconds(1));
  EXPECT_EQ(parse_until("2027-01-15T08:00:00Z", kNow).failure().message, "is in the past");
  EXPECT_EQ(parse_until("9999d", kNow).failure().message, "is more than 10 years from now");
  EXPECT_THAT(parse_until("soon", kNow).failure().message, HasSubstr("is 'soon', expected a time"));
}

TEST(Query, IsDecodedAndChecked) {
  Query query("actor=ada%20b&attribute.tenant=a%2Bb&attribute.x=1&limit=5");
  EXPECT_EQ(query.text("actor"), "ada b");
  EXPECT_THAT(query.prefixed("attribute."), ElementsAre(Pair("tenant", "a+b"), Pair("x", "1")));
  EXPECT_EQ(query.page("audit").limit, 5);
  EXPECT_TRUE(query.finish().ok());
  EXPECT_EQ(Query("a=1&a=2").finish().failure().message, "a: is there twice");
  EXPECT_EQ(Query("a=1").finish().failure().message, "a: is not a parameter of this path");
}

TEST(Query, TakesOnlyCursorsOfItsOwnList) {
  Query query("cursor=" + next_cursor("audit", "17"));
  EXPECT_EQ(query.page("audit").after, "17");
  Query other("cursor=" + next_cursor("tokens", "17"));
  static_cast<void>(other.page("audit"));
  EXPECT_THAT(other.finish().failure().message, HasSubstr("cursor: is not a cursor of this list"));
}

Preconditions preconditions(std::vector<http::HttpField> fields) {
  http::HttpRequest request;
  request.fields = fields;
  return Preconditions(request);
}

TEST(Preconditions, RefuseWhatHasChangedMeanwhile) {
  EXPECT_EQ(preconditions({}).refuse("1")->status, 428);
  EXPECT_FALSE(preconditions({{"If-Match", "\"1\""}}).refuse("1").has_value());
  EXPECT_FALSE(preconditions({{"If-Match", "\"0\", \"1\""}}).refuse("1").has_value());
  EXPECT_FALSE(preconditions({{"If-Match", "*"}}).refuse("1").has_value());
  EXPECT_EQ(preconditions({{"If-Match", "\"2\""}}).refuse("1")->status, 412);
  EXPECT_EQ(preconditions({{"If-Match", "W/\"1\""}}).refuse("1")->status, 412);
  EXPECT_EQ(preconditions({{"If-Match", "*"}}).refuse(std::nullopt)->status, 412);
  EXPECT_FALSE(preconditions({{"If-None-Match", "*"}}).refuse(std::nullopt).has_value());
  EXPECT_EQ(preconditions({{"If-None-Match", "*"}}).refuse("1")->status, 412);
}

}  // namespace
}  // namespace weir::admin
