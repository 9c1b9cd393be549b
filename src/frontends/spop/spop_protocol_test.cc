// The agent's side of SPOP, on a connection without a socket. HAProxy itself is in tests/spop.
#include "frontends/spop/spop_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "tests/support/late_limiter.h"
#include "tests/support/recording_link.h"
#include "tests/support/test_frames.h"

namespace weir::spop {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;

Rules two_per_ip() {
  Rule rule;
  rule.id = "per-ip";
  rule.per = {"ip"};
  rule.allowance.limit = 2;
  rule.allowance.window = std::chrono::seconds(10);
  Rules rules;
  rules.rules.push_back(rule);
  return rules;
}

class SpopTest : public testing::Test {
 protected:
  SpopTest() {
    LimiterOptions options;
    options.clock = std::make_shared<ManualClock>();
    Result<std::unique_ptr<Limiter>> made = Limiter::create(two_per_ip(), options);
    limiter_ = std::move(made).value();
    protocol_ = std::make_unique<SpopProtocol>(link_, *limiter_);
  }

  std::vector<Answer> send(const std::string& bytes) {
    protocol_->on_bytes(bytes);
    return answers(link_.take());
  }
  // Greets, sends and expects one answer.
  Answer ask(const std::string& bytes) {
    if (!std::exchange(greeted_, true)) send(kHello);
    const std::vector<Answer> all = send(bytes);
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Answer{} : all.front();
  }
  void expect_farewell(const std::vector<Answer>& all, Farewell code) {
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].type, FrameType::agent_disconnect);
    EXPECT_THAT(all[0].values, Contains(Pair("status-code", std::to_string(static_cast<int>(code)))));
    EXPECT_THAT(all[0].values, Contains(Key("message")));
    EXPECT_TRUE(link_.closed());
  }

  std::unique_ptr<Limiter> limiter_;
  transport::RecordingLink link_;
  std::unique_ptr<SpopProtocol> protocol_;
  bool greeted_ = false;
};

TEST_F(SpopTest, AgreesOnVersionSizeAndCapabilities) {
  const std::vector<Answer> all = send(kHello);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].type, FrameType::agent_hello);
  EXPECT_EQ(all[0].values, (std::map<std::string, std::string>{
                               {"version", "2.0"}, {"max-frame-size", "16380"}, {"capabilities", "pipelining"}}));
  EXPECT_FALSE(link_.closed());
  EXPECT_TRUE(protocol_->idle());
}

TEST_F(SpopTest, NeverPromisesMoreThanItTakes) {
  const std::vector<Answer> all =
      send(frame(FrameType::haproxy_hello,
                 text("supported-versions", "1.0, 2.0") + frame_size(1 << 30) + text("capabilities", "")));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0].values, Contains(Pair("max-frame-size", "16384")));
  EXPECT_THAT(all[0].values, Contains(Pair("capabilities", "")));
}

TEST_F(SpopTest, TakesLongerFramesWhenToldTo) {
  protocol_ = std::make_unique<SpopProtocol>(link_, *limiter_, SpopOptions{.clients = {}, .max_frame_bytes = 65536});
  const std::vector<Answer> all = send(frame(FrameType::haproxy_hello, kVersions + frame_size(65532) + kCapabilities));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0].values, Contains(Pair("max-frame-size", "65532")));
  const std::vector<Answer> long_one = send(notify({text("ip", "a"), text("uri", std::string(60000, 'u'))}));
  ASSERT_EQ(long_one.size(), 1U);
  EXPECT_THAT(long_one[0].values, Contains(Pair("status", "400"))) << "an attribute has its own bound";
}

TEST_F(SpopTest, AnswersAHealthCheckAndCloses) {
  const std::string check =
      frame(FrameType::haproxy_hello, kVersions + frame_size(16380) + kCapabilities + raw("healthcheck", "\x11"));
  const std::vector<Answer> all = send(check);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].type, FrameType::agent_hello);
  EXPECT_TRUE(link_.closed());
}

TEST_F(SpopTest, AllowsThenDenies) {
  const std::string request = notify({raw("ip", std::string("\x06\xc0\x00\x02\x07", 5))}, 42, 7);
  const Answer allowed = ask(request);
  EXPECT_EQ(allowed.type, FrameType::ack);
  EXPECT_EQ(allowed.stream, 42U);
  EXPECT_EQ(allowed.id, 7U);
  EXPECT_THAT(allowed.values, Contains(Pair("deny", "0")));
  EXPECT_THAT(allowed.values, Contains(Pair("allowed", "1")));
  EXPECT_THAT(allowed.values, Contains(Pair("status", "200")));
  EXPECT_THAT(allowed.values, Contains(Pair("reason", "ok")));
  EXPECT_THAT(allowed.values, Contains(Pair("limit", "2")));
  EXPECT_THAT(allowed.values, Contains(Pair("remaining", "1")));
  EXPECT_THAT(allowed.values, Contains(Pair("reset", "5")));
  EXPECT_THAT(allowed.values, Contains(Pair("ratelimit", "\"per-ip\";r=1;t=5")));
  EXPECT_THAT(allowed.values, Contains(Pair("ratelimit_policy", "\"per-ip\";q=2;w=10")));
  EXPECT_THAT(allowed.values, Not(Contains(Key("retry_after"))));
  ask(request);
  const Answer denied = ask(request);
  EXPECT_THAT(denied.values, Contains(Pair("deny", "1")));
  EXPECT_THAT(denied.values, Contains(Pair("allowed", "0")));
  EXPECT_THAT(denied.values, Contains(Pair("status", "429")));
  EXPECT_THAT(denied.values, Contains(Pair("reason", "limit_exceeded")));
  EXPECT_THAT(denied.values, Contains(Pair("retry_after", "5")));
  EXPECT_THAT(denied.values, Contains(Pair("remaining", "0")));
}

TEST_F(SpopTest, PassesOnTheMessageOfTheRuleThatDenied) {
  Rules rules = two_per_ip();
  rules.rules[0].message = "Two per {window}, please. Try again in {wait}.";
  ASSERT_TRUE(limiter_->replace(rules).ok());
  const std::string request = notify({text("ip", "192.0.2.7")});
  EXPECT_THAT(ask(request).values, Not(Contains(Key("message"))));
  ask(request);
  EXPECT_THAT(ask(request).values, Contains(Pair("message", "Two per 10 s, please. Try again in 5 s.")));
}

TEST_F(SpopTest, HeaderTextsAreLeftOutByChoiceAndResetIsUnixTimeByChoice) {
  SpopOptions options;
  options.headers = {.ietf = false, .reset_as_unix_time = true};
  protocol_ = std::make_unique<SpopProtocol>(link_, *limiter_, options);
  const Answer allowed = ask(notify({text("ip", "192.0.2.9")}));
  EXPECT_THAT(allowed.values, Not(Contains(Key("ratelimit"))));
  EXPECT_THAT(allowed.values, Not(Contains(Key("ratelimit_policy"))));
  EXPECT_THAT(allowed.values, Contains(Pair("remaining", "1")));
  EXPECT_THAT(allowed.values, Contains(Pair("reset", "1800000005")));
}

// One client is one subject, however its address arrives.
TEST_F(SpopTest, WritesAddressesInOneWay) {
  ask(notify({raw("ip", std::string("\x06\xc0\x00\x02\x07", 5))}));
  ask(notify({raw("src", std::string("\x07\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\x00\x02\x07", 17))}));
  EXPECT_THAT(ask(notify({text("ip", "192.0.2.7")})).values, Contains(Pair("deny", "1")));
  ask(notify({raw("ip", std::string("\x07\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 17)), number("cost", 2)}));
  EXPECT_THAT(ask(notify({text("ip", "2001:db8::1")})).values, Contains(Pair("deny", "1")));
}

TEST_F(SpopTest, TakesCostAndPeekAsPartOfTheQuestion) {
  EXPECT_THAT(ask(notify({text("ip", "a"), number("cost", 2), raw("peek", "\x11")})).values,
              Contains(Pair("remaining", "2")));
  EXPECT_THAT(ask(notify({text("ip", "a"), text("cost", "2")})).values, Contains(Pair("remaining", "0")));
  EXPECT_THAT(ask(notify({text("ip", "a")})).values, Contains(Pair("deny", "1")));
}

// A client's header must not bring down the connection that carries everybody's requests, nor open the gate.
TEST_F(SpopTest, DeniesOneRequestWhoseArgumentsCannotBe) {
  std::vector<std::string> too_many;
  for (int i = 0; i < 65; ++i) too_many.push_back(text("a", "b"));
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{number("cost", -1)},
                                                    {text("cost", "many")},
                                                    {number("cost", 1'000'000'000'001)},
                                                    {text("path", std::string(4097, 'p'))},
                                                    {text(std::string(129, 'n'), "")},
                                                    {text("", "nameless")},
                                                    too_many}) {
    const Answer answer = ask(notify(arguments));
    EXPECT_THAT(answer.values, Contains(Pair("deny", "1")));
    EXPECT_THAT(answer.values, Contains(Pair("reason", "bad_request")));
    EXPECT_THAT(answer.values, Contains(Pair("status", "400")));
    EXPECT_FALSE(link_.closed());
  }
}

TEST_F(SpopTest, CountsAnAbsentHeaderAsNoAttribute) {
  EXPECT_THAT(ask(notify({raw("ip", std::string(1, '\0'))})).values, Contains(Pair("reason", "no_rule")));
}

TEST_F(SpopTest, LeavesOutHeadersThatDoNotFitTheFrame) {
  const std::string small = frame(FrameType::haproxy_hello, kVersions + frame_size(256) + kCapabilities);
  send(small);
  greeted_ = true;
  protocol_->on_bytes(notify({text("ip", "a")}));
  EXPECT_LE(link_.sent.size(), 256 + 4U);
  EXPECT_THAT(answers(link_.take())[0].values, Contains(Pair("deny", "0")));
}

TEST_F(SpopTest, SaysWhyAHandshakeFails) {
  struct Case {
    std::string payload;
    Farewell code;
  };
  const std::vector<Case> cases = {
      {frame_size(16380) + kCapabilities, Farewell::no_version},
      {kVersions + kCapabilities, Farewell::no_max_frame_size},
      {kVersions + frame_size(16380), Farewell::no_capabilities},
      {text("supported-versions", "1.0") + frame_size(16380) + kCapabilities, Farewell::unsupported_version},
      {text("supported-versions", "20.0") + frame_size(16380) + kCapabilities, Farewell::unsupported_version},
      {kVersions + frame_size(255) + kCapabilities, Farewell::bad_max_frame_size},
      {"\x05 cut", Farewell::invalid},
  };
  for (const Case& c : cases) {
    link_.is_closed = false;
    protocol_ = std::make_unique<SpopProtocol>(link_, *limiter_);
    expect_farewell(send(frame(FrameType::haproxy_hello, c.payload)), c.code);
  }
}

TEST_F(SpopTest, EndsAConnectionThatBreaksTheProtocol) {
  struct Case {
    std::string bytes;
    Farewell code;
  };
  std::string fragment = notify({text("ip", "a")});
  fragment[8] = '\0';
  const std::vector<Case> cases = {
      {std::string("\x7f\xff\xff\xff", 4), Farewell::too_big},
      {std::string("\0\0\x3f\xfd", 4), Farewell::too_big},
      {std::string("\0\0\0\0", 4), Farewell::invalid},
      {std::string("\0\0\0\x03\x03\0\0", 7), Farewell::invalid},
      {fragment, Farewell::fragmentation_not_supported},
      {frame(FrameType::unset, ""), Farewell::fragmentation_not_supported},
      {kHello, Farewell::invalid},
      {frame(FrameType::ack, ""), Farewell::invalid},
      {frame(FrameType::notify, "\x05weir", 1, 1), Farewell::invalid},
      {frame(FrameType::notify, "\x04weir\x02", 1, 1), Farewell::invalid},
      {frame(FrameType::haproxy_disconnect, ""), Farewell::normal},
  };
  for (const Case& c : cases) {
    link_.is_closed = false;
    protocol_ = std::make_unique<SpopProtocol>(link_, *limiter_);
    send(kHello);
    expect_farewell(send(c.bytes), c.code);
  }
}

TEST_F(SpopTest, WantsAGreetingFirst) { expect_farewell(send(notify({text("ip", "a")})), Farewell::invalid); }

TEST_F(SpopTest, SkipsFramesOfTypesYetToCome) {
  send(kHello);
  EXPECT_TRUE(send(frame(static_cast<FrameType>(50), "whatever")).empty());
  EXPECT_FALSE(link_.closed());
}

TEST_F(SpopTest, SaysFarewellWhenDrainedAndWhenAFrameDoesNotEnd) {
  send(kHello);
  EXPECT_EQ(protocol_->on_bytes(kHello.substr(0, 9)), 0U);
  EXPECT_FALSE(protocol_->idle());
  protocol_->on_timeout();
  EXPECT_THAT(answers(link_.take())[0].values, Contains(Pair("status-code", "2")));
  protocol_->on_drain();
  expect_farewell(answers(link_.take()), Farewell::normal);
}

TEST_F(SpopTest, MeansTheSameHoweverTheBytesArrive) {
  const bool holds = rc::check("byte by byte equals one shot", [this] {
    const auto noise = rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    std::string bytes = kHello + notify({text("color", "red"), number("n", 5)}) + notify({text("color", *noise)});
    if (*rc::gen::arbitrary<bool>()) bytes += *noise;
    if (*rc::gen::arbitrary<bool>()) {
      bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    }
    const auto run = [&](std::size_t step) {
      transport::RecordingLink link;
      SpopProtocol protocol(link, *limiter_);
      std::size_t start = 0;
      for (std::size_t end = 0; end < bytes.size() && !link.closed();) {
        end = std::min(bytes.size(), end + step);
        start += protocol.on_bytes(std::string_view(bytes).substr(start, end - start));
      }
      return link.sent;
    };
    RC_ASSERT(run(1) == run(bytes.size()));
  });
  EXPECT_TRUE(holds);
}

class LateSpopTest : public testing::Test {
 protected:
  LateSpopTest() {
    protocol_.on_bytes(kHello);
    link_.take();
  }
  LateLimiter limiter_;
  transport::RecordingLink link_;
  SpopProtocol protocol_{link_, limiter_};
};

TEST_F(LateSpopTest, AnswersAsDecisionsCome) {
  protocol_.on_bytes(notify({text("ip", "a")}, 1, 1) + notify({text("ip", "b")}, 2, 1));
  EXPECT_TRUE(protocol_.waiting());
  limiter_.answer(1, Decision{});
  EXPECT_EQ(answers(link_.take())[0].stream, 2U);
  link_.here = false;
  limiter_.answer(0, Decision{});
  EXPECT_EQ(link_.take(), "");
  link_.run_posted();
  EXPECT_EQ(answers(link_.take())[0].stream, 1U);
  EXPECT_TRUE(protocol_.idle());
}

TEST_F(LateSpopTest, TellsAStoreThatIsAwayFromALimit) {
  protocol_.on_bytes(notify({text("ip", "a")}));
  Decision decision;
  decision.allowed = false;
  decision.reason = Reason::store_unavailable;
  limiter_.answer(0, decision);
  EXPECT_THAT(answers(link_.take())[0].values, Contains(Pair("status", "503")));
}

TEST_F(LateSpopTest, TellsTheShortestWaitsToo) {
  protocol_.on_bytes(notify({text("ip", "a")}));
  Decision decision;
  decision.allowed = false;
  decision.reason = Reason::limit_exceeded;
  decision.retry_after = std::chrono::microseconds(1);
  limiter_.answer(0, decision);
  const std::vector<Answer> denied = answers(link_.take());
  EXPECT_THAT(denied[0].values, Contains(Pair("retry_after", "1")));
  EXPECT_THAT(denied[0].values, Not(Contains(Key("delay_ms"))));
  protocol_.on_bytes(notify({text("ip", "a")}, 2, 1));
  decision = {};
  decision.delay = std::chrono::microseconds(1);
  limiter_.answer(1, decision);
  const std::vector<Answer> delayed = answers(link_.take());
  EXPECT_THAT(delayed[0].values, Contains(Pair("delay_ms", "1")));
  EXPECT_THAT(delayed[0].values, Not(Contains(Key("retry_after"))));
}

TEST_F(LateSpopTest, BoundsWhatIsUnderWay) {
  std::string many;
  for (std::size_t i = 0; i <= SpopProtocol::kMaxInFlight; ++i) many += notify({}, i, 1);
  EXPECT_LT(protocol_.on_bytes(many), many.size());
  EXPECT_EQ(limiter_.decisions.size(), SpopProtocol::kMaxInFlight);
  EXPECT_TRUE(link_.paused);
  for (std::size_t i = 0; i < SpopProtocol::kMaxInFlight / 2; ++i) limiter_.answer(i, Decision{});
  EXPECT_FALSE(link_.paused);
}

TEST_F(LateSpopTest, AnswersWhatItOwesBeforeItsFarewell) {
  protocol_.on_bytes(notify({text("ip", "a")}, 9, 1));
  protocol_.on_drain();
  EXPECT_FALSE(link_.closed());
  limiter_.answer(0, Decision{});
  const std::vector<Answer> all = answers(link_.take());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].stream, 9U);
  EXPECT_EQ(all[1].type, FrameType::agent_disconnect);
  EXPECT_TRUE(link_.closed());
}

TEST(Farewell, SaysInWordsWhyForEveryCode) {
  std::set<std::string_view> said;
  for (const std::uint32_t code : {0, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
    const std::string_view text = farewell_text(static_cast<Farewell>(code));
    EXPECT_FALSE(text.empty()) << code;
    EXPECT_NE(text, "unknown error") << code;
    said.insert(text);
  }
  EXPECT_EQ(said.size(), 10U) << "each its own";
  EXPECT_EQ(farewell_text(static_cast<Farewell>(99)), "unknown error");
}

}  // namespace
}  // namespace weir::spop
