#include "frontends/http/check_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::http {
namespace {

using testing::HasSubstr;

std::string describe(const Request& request) {
  std::string text;
  for (const Attribute& each : request.attributes) {
    text += std::string(each.name) + "=" + std::string(each.value) + " ";
  }
  return text + "cost=" + std::to_string(request.cost.units) + (request.peek ? " peek" : "");
}

std::string check(std::string_view body) {
  CheckBody reader;
  const Status status = reader.read_check(body);
  return status.ok() ? describe(reader.request()) : "refused: " + status.failure().message;
}
std::string refund(std::string_view body) {
  CheckBody reader;
  const Status status = reader.read_refund(body);
  return status.ok() ? describe(reader.request()) : "refused: " + status.failure().message;
}
std::string batch(std::string_view body) {
  CheckBody reader;
  const Status status = reader.read_batch(body);
  if (!status.ok()) return "refused: " + status.failure().message;
  std::string text;
  for (const Request& request : reader.requests()) text += describe(request) + "; ";
  return text;
}

TEST(CheckBody, ReadsAttributesInTheirOrder) {
  EXPECT_EQ(check(R"({"attributes":{"tenant":"acme","action":"search"},"cost":7})"),
            "tenant=acme action=search cost=7");
  EXPECT_EQ(check(R"( { "attributes" : { } } )"), "cost=1");
  EXPECT_EQ(check(R"({"cost":0,"peek":true,"attributes":{"a":""}})"), "a= cost=0 peek");
  EXPECT_EQ(check(R"({"attributes":{"k":["x","y"],"z":"w"}})"), "k=x k=y z=w cost=1");
}

TEST(CheckBody, UnescapesNamesAndValues) {
  EXPECT_EQ(check(R"({"attr\u0069butes":{"t\u00e9":"\"\\\/\n\ud83d\ude00"}})"), "t\u00e9=\"\\/\n\U0001F600 cost=1");
}

TEST(CheckBody, KeepsThePriorityAsAnAttribute) {
  EXPECT_EQ(check(R"({"priority":"write","attributes":{"a":"b"}})"), "a=b priority=write cost=1");
  EXPECT_THAT(check(R"({"priority":"write","attributes":{"priority":"b"}})"), HasSubstr("priority: is also among"));
}

TEST(CheckBody, ReadsHowLongTheCallerWaits) {
  CheckBody reader;
  ASSERT_TRUE(reader.read_check(R"({"attributes":{},"wait_ms":30000})").ok());
  EXPECT_EQ(reader.wait_ms(), 30'000);
  ASSERT_TRUE(reader.read_check(R"({"attributes":{}})").ok());
  EXPECT_EQ(reader.wait_ms(), 0);
}

// Every refusal names the member.
TEST(CheckBody, RefusesBadInputAndNamesTheMember) {
  const std::string deep = R"({"attributes":{"a":)" + std::string(5000, '[');
  const struct {
    std::string body;
    const char* why;
  } kForms[] = {
      {"", "the body is empty"},
      {"   ", "the body is empty"},
      {"{", "not valid JSON at line 1, column 2: expected a name in double quotes, or '}'"},
      {"nonsense", "the body must be a JSON object"},
      {"[]", "the body must be a JSON object"},
      {"\"x\"", "the body must be a JSON object"},
      {"null", "the body must be a JSON object"},
      {"{}", "attributes: is missing"},
      {R"({"cost":1})", "attributes: is missing"},
      {R"({"attributes":null})", "attributes: must be an object"},
      {R"({"attributes":[]})", "attributes: must be an object"},
      {R"({"attributes":"a"})", "attributes: must be an object"},
      {R"({"attributes":{"tenant":null}})",
       "attributes.tenant: must be a string, a number, true or false, or an array of these"},
      {R"({"attributes":{"tenant":nul}})", "attributes.tenant: must be a string"},
      {R"({"attributes":{"tenant":truth}})", "attributes.tenant: must be a string"},
      {R"({"attributes":{"tenant":1.}})", "attributes.tenant: is not a valid JSON number"},
      {R"({"attributes":{"tenant":01}})", "attributes.tenant: is not a valid JSON number"},
      {R"({"attributes":{"tenant":-}})", "attributes.tenant: is not a valid JSON number"},
      {R"({"attributes":{"tenant":1e999}})", "attributes.tenant: is not a valid JSON number"},
      {R"({"attributes":{"tenant":0.)" + std::string(40, '1') + "}}",
       "attributes.tenant: has a number of more than 40"},
      {R"({"attributes":{"tenant":{}}})", "attributes.tenant: must be a string"},
      {R"({"attributes":{"tenant":["a",{}]}})", "attributes.tenant: must be a string"},
      {R"({"attributes":{"tenant":[["a"]]}})", "attributes.tenant: must be a string"},
      {R"({"attributes":{"tenant":[]}})", "attributes.tenant: the array is empty"},
      {R"({"attributes":{"a":"b","a":"c"}})", "attributes.a: is given twice"},
      {R"({"attributes":{"a":"b","\u0061":"c"}})", "attributes.a: is given twice"},
      {R"({"attributes":{"a":["b"],"a":"c"}})", "attributes.a: is given twice"},
      {R"({"attributes":{"":"b"}})", "attributes: a name is empty"},
      {R"({"attributes":{"a\u0000":"b"}})", "the name must not contain NUL"},
      {R"({"attributes":{"a":"b\u0000"}})", "attributes.a: the value must not contain NUL"},
      {R"({"attributes":{")" + std::string(129, 'n') + R"(":"b"}})", "the name is longer than 128 bytes"},
      {R"({"attributes":{"a":")" + std::string(4097, 'v') + R"("}})", "attributes.a: the value is longer than 4096"},
      {R"({"attributes":{"a":"\ud800"}})", "attributes.a: is not a valid JSON string"},
      {R"({"attributes":{"a":"\x"}})", "attributes.a: is not a valid JSON string"},
      {"{\"attributes\":{\"a\":\"\xff\"}}", "attributes.a: the value is not valid UTF-8"},
      {"{\"attributes\":{\"a\":\"\xc0\x80\"}}", "attributes.a: the value is not valid UTF-8"},
      {"{\"attributes\":{\"a\":\"\xed\xa0\x80\"}}", "attributes.a: the value is not valid UTF-8"},
      {"{\"attributes\":{\"b\":\"é\",\"a\":[\"b\",\"\\n\xe2\x82\"]}}", "attributes.a: the value is not valid UTF-8"},
      {"{\"attributes\":{\"a\":\"b\",\"\xff\":\"c\"}}", "attributes.?: the name is not valid UTF-8"},
      {"{\"attributes\":{\"a\":\"b\"},\"priority\":\"\xf5\"}", "priority: is not valid UTF-8"},
      {"{\"attributes\":{\"a\":\"b\"},\"\xff\":1}", "?: is not known here"},
      {"{\"attributes\":{\"a\":\"b\"}}\xff", "something after the end of its JSON object"},
      {"{\"attributes\":{\"a\":\"\n\"}}", "not valid JSON"},
      {std::string("{\"attributes\":{\"a\":\"\0\"}}", 24), "not valid JSON"},
      {R"({"attributes":{"a":"b"},"cost":-1})", "cost: must be a whole number from 0 to 1000000000000"},
      {R"({"attributes":{"a":"b"},"cost":1.5})", "cost: must be"},
      {R"({"attributes":{"a":"b"},"cost":1.0})", "cost: must be"},
      {R"({"attributes":{"a":"b"},"cost":1e3})", "cost: must be"},
      {R"({"attributes":{"a":"b"},"cost":01})", "cost: must be"},
      {R"({"attributes":{"a":"b"},"cost":"1"})", "cost: must be"},
      {R"({"attributes":{"a":"b"},"cost":null})", "cost: must be"},
      {R"({"attributes":{"a":"b"},"cost":1000000000001})", "cost: must be"},
      {R"({"attributes":{"a":"b"},"cost":9223372036854775808})", "cost: must be"},
      {R"({"attributes":{"a":"b"},"cost":99999999999999999999999})", "cost: must be"},
      {R"({"attributes":{"a":"b"},"cost":1,"cost":2})", "cost: is given twice"},
      {R"({"attributes":{},"attributes":{}})", "attributes: is given twice"},
      {R"({"attributes":{},"peek":1})", "peek: must be true or false"},
      {R"({"attributes":{},"peek":"true"})", "peek: must be true or false"},
      {R"({"attributes":{},"priority":1})", "priority: must be a string"},
      {R"({"attributes":{},"priority":""})", "priority: must have 1 to 32"},
      {R"({"attributes":{},"priority":"123456789012345678901234567890123"})", "priority: must have 1 to 32"},
      {R"({"attributes":{},"priority":"a\u0000"})", "priority: must not contain NUL"},
      {R"({"attributes":{},"wait_ms":30001})", "wait_ms: must be a whole number from 0 to 30000"},
      {R"({"attributes":{},"wait_ms":-1})", "wait_ms: must be"},
      {R"({"attributes":{},"extra":{"a":[1]}})", "extra: is not known here"},
      {R"({"attributes":{},"Cost":1})", "Cost: is not known here"},
      {R"({"attributes":{}} x)", "something after the end of its JSON object, at line 1, column 19"},
      {R"({"attributes":{}}})", "something after the end of its JSON object"},
      {R"({"attributes":{}}])", "something after the end of its JSON object"},
      {R"({"attributes":{}}{})", "something after the end of its JSON object"},
      {R"({"attributes":{}},)", "something after the end of its JSON object"},
      {R"({"attributes":{}} 1)", "something after the end of its JSON object"},
      {R"({"attributes":{}} "a")", "something after the end of its JSON object"},
      {R"({"attributes":{}} ")", "something after the end of its JSON object"},
      {R"({"attributes":{}} {"attributes":{})", "something after the end of its JSON object"},
      {R"({"attributes":{"a":"}\"}"}} x)", "something after the end of its JSON object"},
      {R"({"attributes":)", "at line 1, column 15: expected a value, but the text ends here"},
      {R"({"attributes":{"a":"} x)", "at line 1, column 20: expected a closing quote"},
      {R"(]{} x)", "the body must be a JSON object"},
      {R"({"attributes":{},})", "not valid JSON"},
      {R"({"attributes":{"a":"b",}})", "not valid JSON"},
      {R"({"attributes":{"a" "b"}})", "not valid JSON"},
      {R"({"attributes":{"a":"b" "c":"d"}})", "not valid JSON"},
      {R"({"attributes":{"a":["b" "c"]}})", "not valid JSON"},
      {R"({attributes:{}})", "not valid JSON at line 1, column 2: expected a name in double quotes"},
      {R"({'attributes':{}})", "not valid JSON"},
      {deep, "refused"},
  };
  for (const auto& form : kForms) {
    const std::string outcome = check(form.body);
    EXPECT_THAT(outcome, HasSubstr("refused: ")) << form.body.substr(0, 100);
    EXPECT_THAT(outcome, HasSubstr(form.why)) << form.body.substr(0, 100);
    EXPECT_LT(outcome.size(), 300u) << "a stranger's text at full length";
  }
}

TEST(CheckBody, NumbersAndBooleansBecomeText) {
  EXPECT_EQ(check(R"({"attributes":{"a":17,"b":-3,"c":true,"d":[false , 2.50,1e3],"e": 0 ,"f":-0}})"),
            "a=17 b=-3 c=true d=false d=2.50 d=1e3 e=0 f=0 cost=1");
  EXPECT_EQ(check(R"({"attributes":{"a":9223372036854775808}})"), "a=9223372036854775808 cost=1");
}

TEST(CheckBody, CountsValuesNotNames) {
  std::string values;
  for (int i = 0; i < 63; ++i) values += "\"v\",";
  EXPECT_THAT(check(R"({"attributes":{"a":[)" + values + R"("v"]}})"), HasSubstr("cost=1"));
  EXPECT_THAT(check(R"({"attributes":{"a":[)" + values + R"("v"],"b":"c"}})"), HasSubstr("more than 64 values"));
  EXPECT_THAT(check(R"({"priority":"p","attributes":{"a":[)" + values + R"("v"]}})"), HasSubstr("more than 64 values"));
}

TEST(CheckBody, ARefundNeitherPeeksNorWaits) {
  EXPECT_EQ(refund(R"({"attributes":{"a":"b"},"cost":3})"), "a=b cost=3");
  EXPECT_THAT(refund(R"({"attributes":{},"peek":true})"), HasSubstr("peek: is not known here"));
  EXPECT_THAT(refund(R"({"attributes":{},"wait_ms":1})"), HasSubstr("wait_ms: is not known here"));
}

TEST(CheckBody, ReadsABatchInOrderAndSaysWhichElementIsWrong) {
  EXPECT_EQ(
      batch(R"({"requests":[{"attributes":{"a":"1","b":"2"}},{"attributes":{}},{"attributes":{"a":"3"},"cost":4}]})"),
      "a=1 b=2 cost=1; cost=1; a=3 cost=4; ");
  EXPECT_EQ(batch(R"({"requests":[]})"), "");
  EXPECT_THAT(batch("{}"), HasSubstr("requests: is missing"));
  EXPECT_THAT(batch(R"({"requests":{}})"), HasSubstr("requests: must be an array"));
  EXPECT_THAT(batch(R"({"requests":[1]})"), HasSubstr("requests[0]: must be an object"));
  EXPECT_THAT(batch(R"({"requests":[],"requests":[]})"), HasSubstr("requests: is given twice"));
  EXPECT_THAT(batch(R"({"requests":[],"x":1})"), HasSubstr("x: is not known here"));
  EXPECT_THAT(batch(R"({"requests":[{"attributes":{}},{"attributes":{"t":{}}}]})"),
              HasSubstr("requests[1].attributes.t: must be a string"));
  EXPECT_THAT(batch(R"({"requests":[{"attributes":{},"wait_ms":5}]})"), HasSubstr("requests[0].wait_ms: is not known"));
  EXPECT_THAT(batch(R"({"requests":[{"attributes":{}}]}])"), HasSubstr("something after the end"));
  EXPECT_THAT(batch(R"({"requests":[{"attributes":{}}]} x)"), HasSubstr("something after the end"));
}

TEST(CheckBody, ABatchHasAtMostAThousandRequests) {
  std::string requests;
  for (int i = 0; i < 999; ++i) requests += R"({"attributes":{}},)";
  CheckBody reader;
  ASSERT_TRUE(reader.read_batch(R"({"requests":[)" + requests + R"({"attributes":{}}]})").ok());
  EXPECT_EQ(reader.requests().size(), 1000u);
  EXPECT_THAT(batch(R"({"requests":[)" + requests + R"({"attributes":{}},{"attributes":{}}]})"),
              HasSubstr("more than 1000"));
}

TEST(CheckBody, IsReadyForTheNextBodyAfterABadOne) {
  CheckBody reader;
  EXPECT_FALSE(reader.read_check(R"({"attributes":{"a":"b"},"cost":-1})").ok());
  ASSERT_TRUE(reader.read_check(R"({"attributes":{"c":"d"}})").ok());
  EXPECT_EQ(describe(reader.request()), "c=d cost=1");
}

}  // namespace
}  // namespace weir::http
