// gRPC over raw HTTP/2 frames: what correct clients get, and wrong ones. Slow and hostile ones: grpc_bounds_test.cc.
#include "frontends/grpc/grpc_protocol.h"

#include "frontends/grpc/grpc_text.h"
#include "frontends/grpc/rls_service.h"
#include "tests/support/grpc_connection.h"

namespace weir::grpc {
namespace {

namespace pb = ::envoy::service::ratelimit::v3;
using std::chrono::milliseconds;
using testing::Contains;
using testing::Pair;

TEST_F(GrpcConnection, AnswersACallWithHeadMessageAndTrailers) {
  H2Peer& peer = connect();
  peer.send_call(1, RlsService::kShouldRateLimit, grpc_message(some_request()));
  const std::vector<Frame> frames = peer.receive();
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_THAT(frames[0].fields, Contains(Pair(":status", "200")));
  EXPECT_THAT(frames[0].fields, Contains(Pair("content-type", "application/grpc")));
  pb::RateLimitResponse response;
  ASSERT_TRUE(response.ParseFromString(frames[1].payload.substr(5)));
  EXPECT_EQ(response.overall_code(), pb::RateLimitResponse::OK);
  EXPECT_THAT(frames[2].fields, testing::ElementsAre(Pair("grpc-status", "0")));
  EXPECT_NE(frames[2].flags & NGHTTP2_FLAG_END_STREAM, 0);
  EXPECT_TRUE(peer.protocol->idle());
}

TEST_F(GrpcConnection, TakesBytesOneByOne) {
  H2Peer peer(limiter, options);
  std::string bytes(H2Peer::kPreface);
  bytes += frame(NGHTTP2_SETTINGS, 0, 0, "");
  bytes += frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, header_block(call_fields(RlsService::kShouldRateLimit)));
  bytes += frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, grpc_message(some_request()));
  for (const char& c : bytes) peer.send({&c, 1});
  EXPECT_EQ(status_of(peer, 1), "0");
}

TEST_F(GrpcConnection, Http1IsClosedWithoutAWord) {
  H2Peer peer(limiter, options);
  peer.send("GET / HTTP/1.1\r\nHost: weir\r\n\r\n");
  EXPECT_TRUE(peer.link->closed());
  EXPECT_EQ(peer.link->output(), "");
}

TEST_F(GrpcConnection, WhatIsNoGrpcIsAnsweredInHttp) {
  H2Peer& peer = connect();
  Fields json = call_fields(RlsService::kShouldRateLimit);
  json[4].second = "application/json";
  Fields get = call_fields(RlsService::kShouldRateLimit);
  get[0].second = "GET";
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, header_block(json)));
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 3, header_block(get)));
  auto answers = peer.receive_answers();
  EXPECT_THAT(answers[1].fields, testing::ElementsAre(Pair(":status", "415")));
  EXPECT_THAT(answers[3].fields, testing::ElementsAre(Pair(":status", "405")));
}

TEST_F(GrpcConnection, ContentTypesOfGrpcAreKnown) {
  EXPECT_TRUE(is_grpc_content_type("application/grpc"));
  EXPECT_TRUE(is_grpc_content_type("application/grpc+proto"));
  EXPECT_TRUE(is_grpc_content_type("application/grpc;charset=utf-8"));
  EXPECT_FALSE(is_grpc_content_type("application/grpc+json"));
  EXPECT_FALSE(is_grpc_content_type("application/grpc-web"));
  EXPECT_FALSE(is_grpc_content_type(""));
}

TEST_F(GrpcConnection, UnknownMethodsAreUnimplemented) {
  H2Peer& peer = connect();
  peer.send_call(1, "/weir.v1.Limiter/Nothing", grpc_message(""));
  EXPECT_EQ(status_of(peer, 1), "12");
}

TEST_F(GrpcConnection, CompressedMessagesAreUnimplementedAndTheEncodingsTold) {
  H2Peer& peer = connect();
  peer.send_call(1, RlsService::kShouldRateLimit, grpc_message("squeezed", 1));
  auto answer = peer.receive_answers()[1];
  EXPECT_EQ(answer.fields["grpc-status"], "12");
  EXPECT_EQ(answer.fields["grpc-accept-encoding"], "identity");
}

TEST_F(GrpcConnection, BrokenFramingIsInternalAndBrokenProtobufInvalid) {
  H2Peer& peer = connect();
  const std::string whole = grpc_message(some_request());
  peer.send_call(1, RlsService::kShouldRateLimit, whole.substr(0, whole.size() - 1));
  peer.send_call(3, RlsService::kShouldRateLimit, "");
  peer.send_call(5, RlsService::kShouldRateLimit, whole + "x");
  peer.send_call(7, RlsService::kShouldRateLimit, grpc_message("x", 2));
  peer.send_call(9, RlsService::kShouldRateLimit, grpc_message("\xff\xff"));
  auto answers = peer.receive_answers();
  for (const std::int32_t stream : {1, 3, 5, 7}) EXPECT_EQ(answers[stream].fields["grpc-status"], "13") << stream;
  EXPECT_EQ(answers[9].fields["grpc-status"], "3");
  EXPECT_TRUE(limiter.asked.empty());
}

TEST_F(GrpcConnection, OversizedMessagesAreRefusedByTheirPrefixAndTheRestIsNotWanted) {
  H2Peer& peer = connect();
  peer.send(
      frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, header_block(call_fields(RlsService::kShouldRateLimit))));
  peer.send(frame(NGHTTP2_DATA, 0, 1, '\0' + big_endian(options.limits.message + 1, 4)));
  const auto answer = peer.receive_answers()[1];
  EXPECT_THAT(answer.fields, Contains(Pair("grpc-status", "8")));
  EXPECT_TRUE(answer.ended);
  EXPECT_TRUE(answer.reset);
  EXPECT_EQ(answer.reset_error, static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
  EXPECT_TRUE(peer.protocol->idle());
}

TEST_F(GrpcConnection, LargeHeadersAreAStatusError) {
  H2Peer& peer = connect();
  Fields fields = call_fields(RlsService::kShouldRateLimit);
  for (int i = 0; i < 16; ++i) fields.emplace_back("x-filler-" + std::to_string(i), std::string(900, 'y'));
  fields.emplace_back("x-last", std::string(1100, 'y'));
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, header_block(fields)));
  EXPECT_EQ(status_of(peer, 1), "8");
}

TEST_F(GrpcConnection, MessagesOfAStatusArePercentEncoded) {
  std::string text;
  append_percent_encoded(text, "50% of caf\xc3\xa9\n");
  EXPECT_EQ(text, "50%25 of caf%C3%A9%0A");
}

TEST_F(GrpcConnection, TimeoutsAreParsedAsWritten) {
  EXPECT_EQ(parse_timeout("20m"), Duration(20'000));
  EXPECT_EQ(parse_timeout("1n"), Duration(1));
  EXPECT_EQ(parse_timeout("99999999H"), Duration(std::chrono::hours(99'999'999)));
  for (const char* bad : {"", "m", "1", "100000000m", "-1m", "1x", "1.5S"}) EXPECT_EQ(parse_timeout(bad), std::nullopt);
}

TEST_F(GrpcConnection, AnAnswerAfterTheDeadlineIsDeadlineExceeded) {
  H2Peer& peer = connect();
  Fields fields = call_fields(RlsService::kShouldRateLimit);
  fields.emplace_back("grpc-timeout", "20m");
  limiter.on_ask = [this] { clock->advance(milliseconds(21)); };
  const std::string call = frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, header_block(fields)) +
                           frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, grpc_message(some_request()));
  peer.send(call);
  const auto answer = peer.receive_answers()[1];
  EXPECT_THAT(answer.fields, Contains(Pair("grpc-status", "4")));
  EXPECT_EQ(answer.body, "");
}

TEST_F(GrpcConnection, ADeadlineEndsACallThatTheStoreDoesNotAnswer) {
  limiter.later = true;
  H2Peer& peer = connect();
  Fields fields = call_fields(RlsService::kShouldRateLimit);
  fields.emplace_back("grpc-timeout", "20m");
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, header_block(fields)) +
            frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, grpc_message(some_request())));
  EXPECT_TRUE(peer.protocol->waiting());
  clock->advance(milliseconds(20));
  peer.link->run_timers(milliseconds(20));
  EXPECT_EQ(status_of(peer, 1), "4");
  EXPECT_FALSE(peer.protocol->waiting());
  limiter.answer_all();
  EXPECT_TRUE(peer.receive().empty());
}

TEST_F(GrpcConnection, CallsAreEndedInTheOrderOfTheirDeadlines) {
  limiter.later = true;
  H2Peer& peer = connect();
  const std::map<std::int32_t, std::string> timeouts = {{1, "5S"}, {3, "20m"}, {5, "1500m"}, {7, "99999999H"}};
  for (const auto& [stream, timeout] : timeouts) {
    Fields fields = call_fields(RlsService::kShouldRateLimit);
    fields.emplace_back("grpc-timeout", timeout);
    peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, header_block(fields)) +
              frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, grpc_message(some_request())));
  }
  std::vector<std::pair<std::int32_t, milliseconds>> ended;
  constexpr milliseconds kStep(20);
  for (milliseconds passed = kStep; passed <= std::chrono::seconds(6); passed += kStep) {
    clock->advance(kStep);
    peer.link->run_timers(GrpcProtocol::kLongestWait);
    for (auto& [stream, answer] : peer.receive_answers()) {
      EXPECT_EQ(answer.fields["grpc-status"], "4");
      ended.emplace_back(stream, passed);
    }
  }
  EXPECT_THAT(
      ended, testing::ElementsAre(Pair(3, milliseconds(20)), Pair(5, milliseconds(1500)), Pair(1, milliseconds(5000))));
  limiter.answer_all();
  EXPECT_EQ(status_of(peer, 7), "0");
}

TEST_F(GrpcConnection, DeadlinesOfCallsThatAreAnsweredLeaveNothingBehind) {
  limiter.later = true;
  H2Peer& peer = connect();
  Fields fields = call_fields(RlsService::kShouldRateLimit);
  fields.emplace_back("grpc-timeout", "1H");
  for (std::int32_t stream = 1; stream < 200; stream += 2) {
    peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, header_block(fields)) +
              frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, grpc_message(some_request())));
    limiter.answer_all();
  }
  EXPECT_EQ(peer.link->timers(), 1U);
  clock->advance(GrpcProtocol::kLongestWait);
  peer.link->run_timers(GrpcProtocol::kLongestWait);
  EXPECT_EQ(peer.link->timers(), 0U);
}

TEST_F(GrpcConnection, AnswersThatComeLaterReachTheirCallOrNobody) {
  limiter.later = true;
  H2Peer& peer = connect();
  for (const std::int32_t stream : {1, 3, 5}) {
    peer.send_call(stream, RlsService::kShouldRateLimit, grpc_message(some_request()));
  }
  peer.send(frame(NGHTTP2_RST_STREAM, 0, 3, big_endian(kCancel, 4)));
  // Takes the memory of the call that was reset; it must not get its answer.
  peer.send(
      frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 7, header_block(call_fields(RlsService::kShouldRateLimit))));
  EXPECT_TRUE(peer.receive().empty());
  limiter.answer_all();
  auto answers = peer.receive_answers();
  EXPECT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[1].fields["grpc-status"], "0");
  EXPECT_EQ(answers[5].fields["grpc-status"], "0");
}

TEST_F(GrpcConnection, AnswersToAClosedConnectionAreDropped) {
  limiter.later = true;
  H2Peer& peer = connect();
  peer.send_call(1, RlsService::kShouldRateLimit, grpc_message(some_request()));
  peer.receive();
  peer.link->close();
  limiter.answer_all();
  EXPECT_EQ(peer.link->output(), "");
}

TEST_F(GrpcConnection, PingsAreAnswered) {
  H2Peer& peer = connect();
  peer.send(frame(NGHTTP2_PING, 0, 0, "12345678"));
  const std::vector<Frame> frames = peer.receive();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].type, NGHTTP2_PING);
  EXPECT_EQ(frames[0].flags, NGHTTP2_FLAG_ACK);
  EXPECT_EQ(frames[0].payload, "12345678");
}

TEST_F(GrpcConnection, DrainFinishesOpenCallsThenCloses) {
  limiter.later = true;
  H2Peer& peer = connect();
  peer.send_call(1, RlsService::kShouldRateLimit, grpc_message(some_request()));
  peer.protocol->on_drain();
  std::vector<Frame> frames = peer.receive();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].type, NGHTTP2_GOAWAY);
  EXPECT_EQ(frames[0].number(0), 0x7fffffffU);
  // A call that was on its way when the notice was sent is still served.
  peer.send_call(3, RlsService::kShouldRateLimit, grpc_message(some_request()));
  peer.link->run_timers(GrpcProtocol::kGoAwayGrace);
  frames = peer.receive();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].number(0), 3U);
  EXPECT_FALSE(peer.link->closed());
  limiter.answer_all();
  auto answers = peer.receive_answers();
  EXPECT_EQ(answers[1].fields["grpc-status"], "0");
  EXPECT_EQ(answers[3].fields["grpc-status"], "0");
  EXPECT_TRUE(peer.link->closed());
}

TEST_F(GrpcConnection, DrainWaitsForNobodyWhoWouldStayForEver) {
  H2Peer& peer = connect();
  const std::string reflection = header_block(call_fields("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"));
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, reflection));
  const std::string question = grpc_message("\x1a\x01x");
  peer.send(frame(NGHTTP2_DATA, 0, 1, question.substr(0, 3)));
  peer.protocol->on_drain();
  // These were on their way: a question is answered, and one who begins to watch learns that there is no use in it.
  peer.send(frame(NGHTTP2_DATA, 0, 1, question.substr(3)));
  peer.send_call(3, "/grpc.health.v1.Health/Watch", grpc_message(""));
  auto answers = peer.receive_answers();
  EXPECT_NE(answers[1].body, "");
  EXPECT_FALSE(answers[1].ended);
  EXPECT_FALSE(answers[3].ended);
  peer.link->run_timers(GrpcProtocol::kGoAwayGrace);
  answers = peer.receive_answers();
  for (const std::int32_t stream : {1, 3}) EXPECT_EQ(answers[stream].fields["grpc-status"], "14") << stream;
  EXPECT_TRUE(peer.link->closed());
}

TEST_F(GrpcConnection, AnIdleConnectionEndsWithTheLastCallThatWasSeen) {
  H2Peer& peer = connect();
  peer.send_call(1, RlsService::kShouldRateLimit, grpc_message(some_request()));
  peer.receive();
  peer.protocol->on_idle_timeout();
  const std::vector<Frame> frames = peer.receive();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].type, NGHTTP2_GOAWAY);
  EXPECT_EQ(frames[0].number(0), 1U);
  EXPECT_EQ(frames[0].error(), static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
}

TEST_F(GrpcConnection, WatchersHearOfEveryChange) {
  H2Peer& peer = connect();
  peer.send_call(1, "/grpc.health.v1.Health/Watch", grpc_message("\x0a\x09ratelimit"));
  EXPECT_EQ(peer.receive_answers()[1].body, grpc_message("\x08\x01"));
  peer.link->run_timers(GrpcProtocol::kPollPeriod);
  EXPECT_TRUE(peer.receive().empty());
  ready = false;
  peer.link->run_timers(GrpcProtocol::kPollPeriod);
  EXPECT_EQ(peer.receive_answers()[1].body, grpc_message("\x08\x02"));
  ready = true;
  peer.link->run_timers(GrpcProtocol::kPollPeriod);
  EXPECT_EQ(peer.receive_answers()[1].body, grpc_message("\x08\x01"));
  peer.protocol->on_drain();
  auto last = peer.receive_answers()[1];
  EXPECT_EQ(last.body, grpc_message("\x08\x02"));
  EXPECT_EQ(last.fields["grpc-status"], "14");
}

TEST_F(GrpcConnection, AClientThatHasLeftIsOwedItsAnswersButNoNews) {
  limiter.later = true;
  H2Peer& peer = connect();
  peer.send_call(1, "/grpc.health.v1.Health/Watch", grpc_message(""));
  EXPECT_TRUE(peer.protocol->waiting());
  EXPECT_FALSE(peer.protocol->owing());
  peer.send_call(3, RlsService::kShouldRateLimit, grpc_message(some_request()));
  EXPECT_TRUE(peer.protocol->owing());
  limiter.answer_all();
  EXPECT_FALSE(peer.protocol->owing());
}

TEST_F(GrpcConnection, AVanishedWatcherIsPinged) {
  H2Peer& peer = connect();
  peer.send_call(1, "/grpc.health.v1.Health/Watch", grpc_message(""));
  peer.receive();
  for (int i = 0; i < GrpcProtocol::kPollsPerPing; ++i) peer.link->run_timers(GrpcProtocol::kPollPeriod);
  const std::vector<Frame> frames = peer.receive();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].type, NGHTTP2_PING);
}

}  // namespace
}  // namespace weir::grpc
