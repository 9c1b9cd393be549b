// Messages that carry a client's request, on a connection without a socket and with a toy idea of who is asking.
// HAProxy itself, and Weir's own idea, are in tests/e2e.
#include "frontends/spop/client_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "frontends/spop/spop_protocol.h"
#include "tests/support/recording_link.h"
#include "tests/support/test_frames.h"
#include "tests/support/toy_limiter.h"

namespace weir::spop {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Pair;

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string field(const std::string& name, const std::string& value) {
  std::string out;
  put_string(out, name);
  put_string(out, value);
  return out;
}

std::string binary(const std::string& name, const std::string& bytes) {
  std::string value(1, static_cast<char>(ValueType::binary));
  put_string(value, bytes);
  return raw(name, value);
}

// What req.hdrs_bin gives.
std::string headers(const Fields& fields) {
  std::string block;
  for (const auto& [name, value] : fields) block += field(name, value);
  return binary("headers", block + field("", ""));
}

std::string nothing(const std::string& name) { return raw(name, std::string(1, '\0')); }

const std::string kSource = raw("src", std::string("\x06\xc0\x00\x02\x07", 5));
const std::string kMethod = text("method", "GET");
const std::string kUri = text("uri", "/v1/items?x=1");

// The request as one line; the field x-who of "nobody" and "garbled" is refused.
class ToyClients final : public ClientReader {
 public:
  std::optional<http::CallerRefusal> read(const ClientRequest& request, http::Caller& caller) override {
    line_ = std::string(request.src) + " " + std::string(request.method) + " " + std::string(request.scheme) + " " +
            std::string(request.uri);
    for (const http::HttpField& field : request.headers) {
      if (field.name == "x-who" && field.value == "nobody") return http::CallerRefusal{401, "not accepted"};
      if (field.name == "x-who" && field.value == "garbled") return http::CallerRefusal{400, "not readable"};
      line_ += " " + std::string(field.name) + ":" + std::string(field.value);
    }
    for (const http::HttpField& field : request.gateway_fields) {
      line_ += " " + std::string(field.name) + "=" + std::string(field.value);
    }
    attribute_ = {"line", line_};
    caller.attributes = {&attribute_, 1};
    caller.cost = Cost{3};
    return std::nullopt;
  }
  void note(const MessageFault& fault) override { faults.push_back(fault); }

  std::vector<MessageFault> faults;

 private:
  std::string line_;
  Attribute attribute_;
};

class ClientMessageTest : public testing::Test {
 protected:
  ClientMessageTest() { protocol_.on_bytes(kHello); }

  std::map<std::string, std::string> ask(const std::vector<std::string>& arguments) {
    link_.take();
    protocol_.on_bytes(notify(arguments));
    const std::vector<Answer> all = answers(link_.take());
    EXPECT_EQ(all.size(), 1U);
    EXPECT_FALSE(link_.closed());
    return all.empty() ? std::map<std::string, std::string>{} : all[0].values;
  }
  void expect_fault(const std::vector<std::string>& arguments, MessageFault::Cause cause) {
    clients_->faults.clear();
    const auto values = ask(arguments);
    EXPECT_THAT(values, Contains(Pair("status", "400")));
    EXPECT_THAT(values, Contains(Pair("deny", "1")));
    EXPECT_THAT(values, Contains(Pair("reason", "bad_request")));
    ASSERT_EQ(clients_->faults.size(), 1U);
    EXPECT_EQ(clients_->faults[0].cause, cause) << clients_->faults[0].text;
    EXPECT_TRUE(limiter_.asked().empty());
  }

  http::ToyLimiter limiter_;
  std::shared_ptr<ToyClients> clients_ = std::make_shared<ToyClients>();
  transport::RecordingLink link_;
  SpopProtocol protocol_{link_, limiter_, {.clients = clients_}};
};

TEST_F(ClientMessageTest, IsTurnedIntoAttributesByWhoeverKnows) {
  const auto values = ask({kSource, kMethod, kUri, text("scheme", "https"), headers({{"host", "h"}, {"x-empty", ""}})});
  EXPECT_THAT(values, Contains(Pair("status", "200")));
  EXPECT_THAT(values, Contains(Pair("deny", "0")));
  EXPECT_THAT(limiter_.asked(), ElementsAre("line=192.0.2.7 GET https /v1/items?x=1 host:h x-empty: cost=3"));
}

TEST_F(ClientMessageTest, ItsOtherArgumentsAreNoAttributesButFieldsOfTheGateway) {
  ask({headers({}), text("tenant", "acme"), raw("secure", "\x11"), nothing("absent"), kUri, kMethod, kSource});
  EXPECT_THAT(limiter_.asked(),
              ElementsAre("line=192.0.2.7 GET  /v1/items?x=1 tenant=acme secure=true absent= cost=3"));
}

TEST_F(ClientMessageTest, ItsCostOverrulesTheRoutes) {
  ask({kSource, kMethod, kUri, headers({}), number("cost", 7)});
  ask({kSource, kMethod, kUri, headers({}), nothing("cost"), nothing("peek")});
  ask({kSource, kMethod, kUri, headers({}), raw("peek", "\x11")});
  EXPECT_THAT(limiter_.asked(),
              ElementsAre("line=192.0.2.7 GET  /v1/items?x=1 cost=7", "line=192.0.2.7 GET  /v1/items?x=1 cost=3",
                          "line=192.0.2.7 GET  /v1/items?x=1 cost=3 peek"));
}

TEST_F(ClientMessageTest, WhoeverIsNotAcceptedReachesNoRule) {
  const auto nobody = ask({kSource, kMethod, kUri, headers({{"x-who", "nobody"}})});
  EXPECT_THAT(nobody, Contains(Pair("status", "401")));
  EXPECT_THAT(nobody, Contains(Pair("deny", "1")));
  EXPECT_THAT(nobody, Contains(Pair("reason", "unauthenticated")));
  EXPECT_THAT(ask({kSource, kMethod, kUri, headers({{"x-who", "garbled"}})}), Contains(Pair("status", "400")));
  EXPECT_TRUE(limiter_.asked().empty());
  EXPECT_TRUE(clients_->faults.empty());
}

// A client that could make `headers` vanish would otherwise be judged by the arguments alone, or not at all.
TEST_F(ClientMessageTest, HeadersWithoutAValueAreARefusalAndNotAnotherKindOfMessage) {
  expect_fault({kSource, kMethod, kUri, nothing("headers")}, MessageFault::Cause::client);
}

TEST_F(ClientMessageTest, SaysWhatIsWrongWithItsConfiguration) {
  const std::string none = headers({});
  const std::vector<std::vector<std::string>> wrong = {
      {none},
      {kMethod, kUri, none},
      {kSource, kUri, none},
      {kSource, kMethod, none},
      {nothing("src"), kMethod, kUri, none},
      {text("src", ""), kMethod, kUri, none},
      {kSource, nothing("method"), kUri, none},
      {kSource, kMethod, kUri, text("headers", "host: h\r\n\r\n")},
      {kSource, kMethod, kUri, binary("headers", "")},
      {kSource, kMethod, kUri, binary("headers", field("a", "b"))},
      {kSource, kMethod, kUri, binary("headers", field("a", "b") + field("", "") + field("c", "d"))},
      {kSource, kMethod, kUri,
       binary("headers",
              "\x05"
              "cut")},
      {kSource, kMethod, kUri, none, none},
      {kSource, kSource, kMethod, kUri, none},
      {kSource, kMethod, kUri, none, text("", "nameless")},
      {kSource, kMethod, kUri, none, text(std::string(129, 'n'), "long")},
  };
  for (const std::vector<std::string>& arguments : wrong) {
    expect_fault(arguments, MessageFault::Cause::configuration);
  }
}

TEST_F(ClientMessageTest, BoundsItsHeadersAndItsFields) {
  Fields fields(ClientMessageReader::kMaxHeaders, {"a", "b"});
  EXPECT_THAT(ask({kSource, kMethod, kUri, headers(fields)}), Contains(Pair("status", "200")));
  std::vector<std::string> arguments = {kSource, kMethod, kUri, text("scheme", "http"), headers({})};
  for (std::size_t i = 0; i < kMaxAttributes; ++i)
    arguments.push_back(raw("n", std::string("\x06\xc0\xa8\xff\xff", 5)));
  EXPECT_THAT(ask(arguments), Contains(Pair("status", "200")));
  EXPECT_EQ(limiter_.asked().size(), 2U);
}

TEST_F(ClientMessageTest, RefusesMoreThanItsBounds) {
  const Fields fields(ClientMessageReader::kMaxHeaders + 1, {"a", "b"});
  expect_fault({kSource, kMethod, kUri, headers(fields)}, MessageFault::Cause::client);
  expect_fault({kSource, kMethod, nothing("uri"), headers({})}, MessageFault::Cause::client);
  expect_fault({kSource, kMethod, kUri, headers({}), text("cost", "dear")}, MessageFault::Cause::client);
  std::vector<std::string> arguments = {kSource, kMethod, kUri, headers({})};
  for (std::size_t i = 0; i <= kMaxAttributes; ++i) arguments.push_back(text("n", "v"));
  expect_fault(arguments, MessageFault::Cause::configuration);
}

TEST_F(ClientMessageTest, NobodyWhoKnowsIsARefusal) {
  transport::RecordingLink link;
  SpopProtocol protocol(link, limiter_);
  protocol.on_bytes(kHello);
  link.take();
  protocol.on_bytes(notify({kSource, kMethod, kUri, headers({})}));
  EXPECT_THAT(answers(link.take())[0].values, Contains(Pair("status", "400")));
}

}  // namespace
}  // namespace weir::spop
