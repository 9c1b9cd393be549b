// protobuf's generated code is the oracle: what it reads we read alike, what it refuses we refuse, and what we write it
// reads back.
#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <random>
#include <string>

#include "base/protobuf_wire.h"
#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "frontends/envoy/rls_json.h"
#include "frontends/envoy/rls_wire.h"
#include "frontends/grpc/limiter_wire.h"
#include "tests/support/toy_link.h"
#include "weir/v1/limiter.pb.h"

namespace weir::grpc {
namespace {

namespace pb = ::envoy::service::ratelimit::v3;
using ::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;

std::string some_text() {
  static const std::vector<std::string> kTexts = {
      "", "user", "ann", "generic_key", "k\xc3\xa9y", "a\"b\\", std::string("nul\0in", 6), std::string(200, 'v')};
  return *rc::gen::elementOf(kTexts);
}

pb::RateLimitRequest some_request() {
  pb::RateLimitRequest request;
  request.set_domain(some_text());
  request.set_hits_addend(*rc::gen::arbitrary<std::uint32_t>());
  const int descriptors = *rc::gen::inRange(0, 5);
  for (int i = 0; i < descriptors; ++i) {
    RateLimitDescriptor& descriptor = *request.add_descriptors();
    const int entries = *rc::gen::inRange(0, 4);
    for (int j = 0; j < entries; ++j) {
      auto& entry = *descriptor.add_entries();
      entry.set_key(some_text());
      entry.set_value(some_text());
    }
    if (*rc::gen::arbitrary<bool>()) {
      descriptor.mutable_limit()->set_requests_per_unit(*rc::gen::arbitrary<std::uint32_t>());
      descriptor.mutable_limit()->set_unit(static_cast<::envoy::type::v3::RateLimitUnit>(*rc::gen::inRange(0, 7)));
    }
    if (*rc::gen::arbitrary<bool>()) descriptor.mutable_hits_addend()->set_value(*rc::gen::arbitrary<std::uint64_t>());
    descriptor.set_is_negative_hits(*rc::gen::arbitrary<bool>());
  }
  return request;
}

// What we read, put back into the oracle's type.
pb::RateLimitRequest to_oracle(const envoy::RlsRequest& request) {
  pb::RateLimitRequest made;
  made.set_domain(std::string(request.domain));
  made.set_hits_addend(request.hits_addend);
  for (const envoy::RlsDescriptor& read : request.descriptors) {
    RateLimitDescriptor& descriptor = *made.add_descriptors();
    for (const Attribute& attribute : request.attributes_of(read).subspan(1)) {
      auto& entry = *descriptor.add_entries();
      entry.set_key(std::string(attribute.name));
      entry.set_value(std::string(attribute.value));
    }
    if (read.has_override) {
      descriptor.mutable_limit()->set_requests_per_unit(read.override_limit);
      descriptor.mutable_limit()->set_unit(static_cast<::envoy::type::v3::RateLimitUnit>(read.override_unit));
    }
    if (read.has_hits) descriptor.mutable_hits_addend()->set_value(read.hits);
    descriptor.set_is_negative_hits(read.negative);
  }
  return made;
}

// Known fields only: bytes that neither side keeps must not make them differ.
std::string known(pb::RateLimitRequest message) {
  message.DiscardUnknownFields();
  return message.SerializeAsString();
}

RC_GTEST_PROP(RlsRequestOnTheWire, IsReadAsProtobufReadsIt, ()) {
  const pb::RateLimitRequest sent = some_request();
  envoy::RlsRequest read;
  const std::string bytes = sent.SerializeAsString();
  RC_ASSERT(envoy::read_rls_request(bytes, read));
  RC_ASSERT(to_oracle(read).SerializeAsString() == bytes);
  for (const envoy::RlsDescriptor& descriptor : read.descriptors) {
    RC_ASSERT(read.attributes_of(descriptor)[0].name == "domain");
    RC_ASSERT(read.attributes_of(descriptor)[0].value == sent.domain());
  }
}

// Damaged bytes: both must agree on whether they are a message, and on what it says.
RC_GTEST_PROP(RlsRequestOnTheWire, IsRefusedExactlyWhenProtobufRefusesIt, ()) {
  const google::protobuf::LogSilencer no_word_about_utf8;
  std::string bytes = some_request().SerializeAsString();
  const int damages = *rc::gen::inRange(1, 4);
  for (int i = 0; i < damages && !bytes.empty(); ++i) {
    const auto at = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(bytes.size())));
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        bytes[at] = static_cast<char>(*rc::gen::arbitrary<std::uint8_t>());
        break;
      case 1:
        bytes.resize(at);
        break;
      default:
        bytes.insert(at, 1, static_cast<char>(*rc::gen::arbitrary<std::uint8_t>()));
    }
  }
  pb::RateLimitRequest oracle;
  const bool expected = oracle.ParseFromString(bytes);
  envoy::RlsRequest read;
  RC_ASSERT(envoy::read_rls_request(bytes, read) == expected);
  if (expected) RC_ASSERT(to_oracle(read).SerializeAsString() == known(oracle));
}

TEST(RlsRequestOnTheWire, RandomBytesAreJudgedAsProtobufDoes) {
  const google::protobuf::LogSilencer no_word_about_utf8;
  std::mt19937 random(20'261'115);
  int accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string bytes(random() % 12, '\0');
    // Mostly small numbers: they are tags and lengths, and lead deeper.
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 36);
    pb::RateLimitRequest oracle;
    envoy::RlsRequest read;
    const bool expected = oracle.ParseFromString(bytes);
    ASSERT_EQ(envoy::read_rls_request(bytes, read), expected) << testing::PrintToString(bytes);
    if (!expected) continue;
    ++accepted;
    ASSERT_EQ(to_oracle(read).SerializeAsString(), known(oracle)) << testing::PrintToString(bytes);
  }
  EXPECT_GT(accepted, 1'000);
}

TEST(RlsRequestOnTheWire, GroupsNestAsDeepAsProtobufAllowsAndNoDeeper) {
  for (int depth = 95; depth <= 105; ++depth) {
    std::string bytes;
    for (int i = 0; i < depth; ++i) bytes += '\x7b';
    for (int i = 0; i < depth; ++i) bytes += '\x7c';
    pb::RateLimitRequest oracle;
    envoy::RlsRequest read;
    EXPECT_EQ(envoy::read_rls_request(bytes, read), oracle.ParseFromString(bytes)) << depth;
  }
}

envoy::RlsStatus some_status() {
  envoy::RlsStatus status;
  status.over_limit = *rc::gen::arbitrary<bool>();
  status.has_limit = *rc::gen::arbitrary<bool>();
  if (status.has_limit) {
    status.limit = *rc::gen::arbitrary<std::uint32_t>();
    status.unit = static_cast<envoy::RlsUnit>(*rc::gen::inRange(1, 8));
    status.name = "a-rule-of-some-length";
  }
  status.remaining = *rc::gen::arbitrary<std::uint32_t>();
  status.has_reset = *rc::gen::arbitrary<bool>();
  if (status.has_reset) status.reset_after = std::chrono::seconds(*rc::gen::inRange<std::int64_t>(0, 1LL << 35));
  return status;
}

envoy::RlsAnswer some_answer() {
  envoy::RlsAnswer answer;
  answer.over_limit = *rc::gen::arbitrary<bool>();
  const int statuses = *rc::gen::inRange(0, 6);
  for (int i = 0; i < statuses; ++i) answer.statuses.push_back(some_status());
  for (std::string& header : answer.headers) header = *rc::gen::elementOf(std::vector<std::string>{"", "1", "3600"});
  answer.header(envoy::RlsHeader::rate_limit) =
      std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 20'000)), 'r');
  answer.header(envoy::RlsHeader::rate_limit_policy) = some_text();
  answer.body = some_text();
  return answer;
}

pb::RateLimitResponse to_oracle(const envoy::RlsAnswer& answer) {
  const auto code = [](bool over) { return over ? pb::RateLimitResponse::OVER_LIMIT : pb::RateLimitResponse::OK; };
  pb::RateLimitResponse made;
  made.set_overall_code(code(answer.over_limit));
  for (const envoy::RlsStatus& status : answer.statuses) {
    auto& descriptor = *made.add_statuses();
    descriptor.set_code(code(status.over_limit));
    if (status.has_limit) {
      descriptor.mutable_current_limit()->set_requests_per_unit(status.limit);
      descriptor.mutable_current_limit()->set_unit(
          static_cast<pb::RateLimitResponse::RateLimit::Unit>(static_cast<int>(status.unit)));
      descriptor.mutable_current_limit()->set_name(std::string(status.name));
    }
    descriptor.set_limit_remaining(status.remaining);
    if (status.has_reset) descriptor.mutable_duration_until_reset()->set_seconds(status.reset_after.count());
  }
  const auto add = [&](const char* key, const std::string& value) {
    if (value.empty()) return;
    auto& header = *made.add_response_headers_to_add();
    header.set_key(key);
    header.set_value(value);
  };
  using Header = envoy::RlsHeader;
  add("RateLimit-Policy", answer.header(Header::rate_limit_policy));
  add("RateLimit", answer.header(Header::rate_limit));
  add("Retry-After", answer.header(Header::retry_after));
  add("X-RateLimit-Limit", answer.header(Header::x_limit));
  add("X-RateLimit-Remaining", answer.header(Header::x_remaining));
  add("X-RateLimit-Reset", answer.header(Header::x_reset));
  add("RateLimit-Limit", answer.header(Header::legacy_limit));
  add("RateLimit-Remaining", answer.header(Header::legacy_remaining));
  add("RateLimit-Reset", answer.header(Header::legacy_reset));
  made.set_raw_body(answer.body);
  return made;
}

RC_GTEST_PROP(RlsAnswerOnTheWire, IsByteForByteWhatProtobufWrites, ()) {
  const envoy::RlsAnswer answer = some_answer();
  std::string bytes;
  envoy::write_rls_answer(bytes, answer);
  RC_ASSERT(bytes == to_oracle(answer).SerializeAsString());
}

RC_GTEST_PROP(RlsJson, RequestsAreReadAsProtobufWritesThem, ()) {
  const pb::RateLimitRequest sent = some_request();
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = *rc::gen::arbitrary<bool>();
  options.always_print_enums_as_ints = *rc::gen::arbitrary<bool>();
  std::string json;
  RC_ASSERT(google::protobuf::util::MessageToJsonString(sent, &json, options).ok());
  envoy::RlsJsonReader reader;
  envoy::RlsRequest read;
  RC_ASSERT(reader.read(json, read).ok());
  RC_ASSERT(to_oracle(read).SerializeAsString() == sent.SerializeAsString());
}

RC_GTEST_PROP(RlsJson, AnswersAreReadBackByProtobuf, ()) {
  const envoy::RlsAnswer answer = some_answer();
  std::string json;
  envoy::render_rls_json(json, answer);
  pb::RateLimitResponse read;
  RC_ASSERT(google::protobuf::util::JsonStringToMessage(json, &read).ok());
  RC_ASSERT(read.SerializeAsString() == to_oracle(answer).SerializeAsString());
}

TEST(RlsJson, BadBodiesAreRefusedAndTheMemberIsNamed) {
  envoy::RlsJsonReader reader;
  envoy::RlsRequest read;
  const auto message = [&](std::string_view json) {
    const Status status = reader.read(json, read);
    return status.ok() ? std::string("ok") : status.failure().message;
  };
  EXPECT_EQ(message("{"), "the body is not JSON");
  EXPECT_EQ(message("[]"), "body: expected an object");
  EXPECT_EQ(message(R"({"domain":1})"), "domain: expected a string");
  EXPECT_EQ(message(R"({"domian":"x"})"), "domian: unknown member");
  EXPECT_EQ(message(R"({"hitsAddend":4294967296})"), "hitsAddend: expected a whole number below 2^32");
  EXPECT_EQ(message(R"({"hitsAddend":-1})"), "hitsAddend: expected a whole number below 2^32");
  EXPECT_EQ(message(R"({"descriptors":[{"limit":{"unit":"FORTNIGHT"}}]})"),
            "unit: expected SECOND, MINUTE, HOUR, DAY, MONTH or YEAR");
  EXPECT_EQ(message(R"({"descriptors":[{"hitsAddend":"12x"}]})"), "hitsAddend: expected a whole number");
  EXPECT_EQ(message(R"({"domain":null,"descriptors":[{"entries":[{"key":"k","value":"v"}],"hitsAddend":"0"}]})"), "ok");
  EXPECT_TRUE(read.descriptors[0].has_hits);
}

// As protobuf's own readers of JSON do, whatever a client's language makes of a number.
TEST(RlsJson, WholeNumbersMayBeWrittenWithAPointOrAnExponent) {
  envoy::RlsJsonReader reader;
  envoy::RlsRequest read;
  const auto hits = [&](std::string_view number) -> std::string {
    const std::string json = R"({"descriptors":[{"hitsAddend":)" + std::string(number) + "}]}";
    return reader.read(json, read).ok() ? std::to_string(read.descriptors.at(0).hits) : "refused";
  };
  EXPECT_EQ(hits("7.0"), "7");
  EXPECT_EQ(hits("1e3"), "1000");
  EXPECT_EQ(hits("\"2.5e1\""), "25");
  EXPECT_EQ(hits("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(hits("7.5"), "refused");
  EXPECT_EQ(hits("-1.0"), "refused");
  EXPECT_EQ(hits("1e20"), "refused");
  EXPECT_EQ(hits("\"1e400\""), "refused");
  EXPECT_EQ(hits("\"nan\""), "refused");
  EXPECT_EQ(hits("\" 1\""), "refused");
  EXPECT_EQ(hits("true"), "refused");
}

// REASON_ and the name that every other answer uses.
std::string proto_name(Reason reason) {
  std::string name = "REASON_" + std::string(reason_name(reason));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

TEST(WeirDecisionOnTheWire, TheProtoHasEveryReason) {
  const google::protobuf::EnumDescriptor& reasons = *::weir::v1::Reason_descriptor();
  EXPECT_EQ(reasons.value_count(), kReasonCount + 1);  // REASON_UNSPECIFIED
  for (int i = 0; i < kReasonCount; ++i) {
    Decision decision;
    decision.reason = static_cast<Reason>(i);
    std::string bytes;
    write_decision(bytes, decision);
    ::weir::v1::Decision read;
    ASSERT_TRUE(read.ParseFromString(bytes));
    const google::protobuf::EnumValueDescriptor* const value = reasons.FindValueByNumber(read.reason());
    ASSERT_NE(value, nullptr) << reason_name(decision.reason) << " is sent as " << read.reason();
    EXPECT_EQ(value->name(), proto_name(decision.reason));
  }
}

TEST(WeirDecisionOnTheWire, SaysWhatTheDecisionSays) {
  Decision decision = toy_decision("search", 120, 7, std::chrono::seconds(60), false);
  RuleOutcome shadow = decision.rules[0];
  shadow.rule = "trial";
  shadow.mode = Mode::shadow;
  decision.rules.push_back(shadow);
  RuleOutcome open;
  open.rule = "open";
  open.unlimited = true;
  decision.rules.push_back(open);
  decision.rules[0].subject = {0x9c41d2e07b5a1234, 0x5678};
  decision.at = from_micros(1'782'907'200'123'456);
  decision.degraded = true;
  decision.atomic = false;
  decision.message = "{limit} per {window}";
  std::string bytes;
  write_decision(bytes, decision);
  ::weir::v1::Decision read;
  ASSERT_TRUE(read.ParseFromString(bytes));
  EXPECT_FALSE(read.allowed());
  EXPECT_EQ(read.reason(), ::weir::v1::REASON_LIMIT_EXCEEDED);
  EXPECT_EQ(read.rule(), "search");
  EXPECT_EQ(read.limit(), 120);
  EXPECT_EQ(read.remaining(), 7);
  EXPECT_EQ(read.retry_after_ms(), 30'000);
  EXPECT_TRUE(read.degraded());
  EXPECT_TRUE(read.non_atomic());
  EXPECT_THAT(read.shadow_denied(), testing::ElementsAre("trial"));
  EXPECT_EQ(read.retry_at_ms(), 1'782'907'230'124);
  EXPECT_EQ(read.reset_at_ms(), 1'782'907'230'124);
  ASSERT_EQ(read.rules_size(), 3);
  EXPECT_EQ(read.rules(0).subject(), "9c41d2e07b5a");
  EXPECT_EQ(read.rules(0).retry_at_ms(), 1'782'907'230'124);
  EXPECT_EQ(read.rules(0).reset_at_ms(), 1'782'907'230'124);
  EXPECT_EQ(read.rules(1).mode(), "shadow");
  EXPECT_EQ(read.message(), "120 per 60 s");
  EXPECT_EQ(read.rules(2).subject(), "");
  EXPECT_EQ(read.rules(2).retry_at_ms(), 0);
  EXPECT_EQ(read.rules(2).reset_at_ms(), 0);
  EXPECT_EQ(read.SerializeAsString(), bytes);
}

TEST(WeirRequestsOnTheWire, BoundsAreRefusedAndAbsentCostIsOne) {
  ::weir::v1::CheckBatchRequest batch;
  auto& first = *batch.add_requests();
  first.add_attributes()->set_name("tenant");
  auto& second = *batch.add_requests();
  second.add_attributes()->set_name("user");
  second.mutable_attributes(0)->set_value("ann");
  second.set_cost(0);
  second.set_peek(true);
  CheckMessages messages;
  const std::string bytes = batch.SerializeAsString();
  ASSERT_TRUE(messages.read_batch(bytes).ok());
  ASSERT_EQ(messages.requests.size(), 2U);
  EXPECT_EQ(messages.requests[0].cost.units, 1);
  EXPECT_EQ(messages.requests[1].cost.units, 0);
  EXPECT_TRUE(messages.requests[1].peek);
  EXPECT_EQ(messages.requests[1].attributes[0].value, "ann");
  const auto refused = [&](const ::weir::v1::CheckRequest& request) {
    const Status status = messages.read_one(request.SerializeAsString());
    return !status.ok() && status.failure().code == Code::invalid_argument;
  };
  ::weir::v1::CheckRequest request;
  request.set_cost(kMaxUnits + 1);
  EXPECT_TRUE(refused(request));
  request.set_cost(std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(refused(request));
  request.clear_cost();
  request.add_attributes()->set_name(std::string(kMaxAttributeName + 1, 'n'));
  EXPECT_TRUE(refused(request));
  request.clear_attributes();
  for (std::size_t i = 0; i <= kMaxAttributes; ++i) request.add_attributes()->set_name("n");
  EXPECT_TRUE(refused(request));
  for (std::size_t i = 0; i <= kMaxBatch; ++i) batch.add_requests();
  EXPECT_FALSE(messages.read_batch(batch.SerializeAsString()).ok());
}

}  // namespace
}  // namespace weir::grpc
