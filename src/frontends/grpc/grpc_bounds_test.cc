// What slow and hostile clients may take of a connection, over raw HTTP/2 frames.
#include <map>

#include "frontends/grpc/grpc_protocol.h"
#include "frontends/grpc/rls_service.h"
#include "frontends/http2/framed_session.h"
#include "tests/support/grpc_connection.h"

namespace weir::grpc {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kReflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

class GrpcBounds : public GrpcConnection {};

TEST_F(GrpcBounds, StopsWhereItIsWhileThePeerDoesNotRead) {
  H2Peer& peer = connect();
  peer.send(frame(NGHTTP2_PING, 0, 0, "12345678"));
  peer.link->set_most_output(0);
  const std::size_t before = peer.consumed;
  peer.send_call(1, RlsService::kShouldRateLimit, grpc_message(some_request()));
  EXPECT_EQ(peer.consumed, before);
  EXPECT_TRUE(limiter.asked.empty());
}

TEST_F(GrpcBounds, StopsBetweenTwoFramesOnceItsAnswersAreMany) {
  H2Peer& peer = connect();
  constexpr std::size_t kMostOutput = 1000;
  peer.link->set_most_output(kMostOutput);
  peer.send(frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(1U << 30, 4)));
  // Answered with a whole file each, which is much more than the question.
  std::string calls;
  constexpr std::int32_t kCalls = 100;
  for (std::int32_t i = 0; i < kCalls; ++i) {
    calls += frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 2 * i + 1, header_block(call_fields(kReflection))) +
             frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, grpc_message("\x1a\x15weir/v1/limiter.proto"));
  }
  ASSERT_LT(calls.size(), GrpcProtocol::kSlice);
  peer.send(calls);
  std::size_t answered = 0;
  while (answered < kCalls) {
    EXPECT_LT(peer.link->output().size(), http2::FramedSession::kMuchWritten + 5000);
    const std::size_t before = answered;
    for (const auto& [stream, answer] : peer.receive_answers()) answered += answer.ended ? 1 : 0;
    ASSERT_GT(answered, before);
    peer.send("");
  }
}

TEST_F(GrpcBounds, HalfAGreetingIsAMessageUnderWayAndAWholeOneIsNot) {
  H2Peer peer(limiter, options);
  EXPECT_TRUE(peer.protocol->idle()) << "nothing has come";
  peer.send(std::string(H2Peer::kPreface.substr(0, 10)));
  EXPECT_FALSE(peer.protocol->idle());
  peer.send(std::string(H2Peer::kPreface.substr(10)));
  EXPECT_TRUE(peer.protocol->idle());
}

TEST_F(GrpcBounds, HalfAFrameIsAMessageUnderWay) {
  H2Peer& peer = connect();
  const std::string ping = frame(NGHTTP2_PING, 0, 0, "12345678");
  for (const std::size_t size : {1U, 8U, 9U, 16U}) {
    peer.send(ping.substr(0, size));
    EXPECT_FALSE(peer.protocol->idle()) << size;
    peer.send(ping.substr(size));
    EXPECT_TRUE(peer.protocol->idle()) << size;
  }
}

TEST_F(GrpcBounds, HalfOfTheHeaderFieldsIsAMessageUnderWay) {
  H2Peer& peer = connect();
  const std::string block = header_block(call_fields("/weir.v1.Limiter/Nothing"));
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, block.substr(0, 50)));
  EXPECT_FALSE(peer.protocol->idle());
  peer.send(frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, block.substr(50)));
  EXPECT_TRUE(peer.protocol->idle());
  EXPECT_EQ(status_of(peer, 1), "12");
}

TEST_F(GrpcBounds, IncompleteRequestsTogetherAreBounded) {
  options.limits.message = 1000;
  options.limits.buffered = 2500;
  H2Peer& peer = connect();
  const std::string half = grpc_message(std::string(1000, 'x')).substr(0, 900);
  for (std::int32_t stream = 1; stream <= 5; stream += 2) {
    peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream,
                    header_block(call_fields(RlsService::kShouldRateLimit))) +
              frame(NGHTTP2_DATA, 0, stream, half));
  }
  auto answers = peer.receive_answers();
  EXPECT_EQ(answers.count(1), 0U);
  EXPECT_EQ(answers.count(3), 0U);
  EXPECT_EQ(answers[5].fields["grpc-status"], "8");
}

TEST_F(GrpcBounds, RequestsWhoseAnswersWaitAreNotIncomplete) {
  options.limits.buffered = 2500;
  H2Peer& peer = connect_without_window();
  const std::string fields = header_block(call_fields("/weir.v1.Limiter/CheckBatch"));
  // Some bytes of a member that is not known, which are of no interest and make the request long.
  const std::string long_request = grpc_message("\xfa\x07\x80\x07" + std::string(896, 'x'));
  for (std::int32_t stream = 1; stream <= 9; stream += 2) {
    peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, fields) +
              frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, long_request));
    peer.send(frame(NGHTTP2_WINDOW_UPDATE, 0, stream, big_endian(3, 4)));
  }
  for (auto& [stream, answer] : peer.receive_answers()) {
    EXPECT_EQ(answer.fields[":status"], "200") << stream;
    EXPECT_EQ(answer.fields.count("grpc-status"), 0U) << stream;
    EXPECT_EQ(answer.body.size(), 3U) << stream;
  }
}

TEST_F(GrpcBounds, StreamsAreCapped) {
  limiter.later = true;
  options.limits.http2.streams = 8;
  H2Peer& peer = connect();
  peer.send(frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, ""));
  for (std::int32_t stream = 1; stream <= 17; stream += 2) {
    peer.send_call(stream, RlsService::kShouldRateLimit, grpc_message(some_request()));
  }
  EXPECT_EQ(limiter.asked.size(), 8U);
}

TEST_F(GrpcBounds, AnAnswerWaitsForThePeersWindow) {
  H2Peer& peer = connect_without_window();
  peer.send_call(1, RlsService::kShouldRateLimit, grpc_message(some_request()));
  EXPECT_EQ(peer.receive_answers()[1].body, "");
  peer.send(frame(NGHTTP2_WINDOW_UPDATE, 0, 1, big_endian(1000, 4)));
  auto answer = peer.receive_answers()[1];
  EXPECT_NE(answer.body, "");
  EXPECT_EQ(answer.fields["grpc-status"], "0");
}

TEST_F(GrpcBounds, RequestsThatNeverEndAndAnswersThatAreNeverTakenAreReset) {
  H2Peer& peer = connect_without_window();
  peer.send_call(1, RlsService::kShouldRateLimit, grpc_message(some_request()));
  peer.send(
      frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 3, header_block(call_fields(RlsService::kShouldRateLimit))));
  peer.receive();
  EXPECT_FALSE(peer.protocol->idle());
  for (int i = 0; i < 3; ++i) peer.link->run_timers(options.limits.request_timeout);
  auto answers = peer.receive_answers();
  for (const std::int32_t stream : {1, 3}) EXPECT_EQ(answers[stream].reset_error, kCancel) << stream;
  EXPECT_TRUE(peer.protocol->idle());
  EXPECT_FALSE(peer.link->closed());
}

TEST_F(GrpcBounds, AStreamOfQuestionsMayRestBetweenThemButNotWithinOne) {
  H2Peer& peer = connect();
  const auto rest = [&] {
    for (int i = 0; i < 3; ++i) peer.link->run_timers(options.limits.request_timeout);
  };
  const std::string question = frame(NGHTTP2_DATA, 0, 1, grpc_message("\x1a\x15weir/v1/limiter.proto"));
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, header_block(call_fields(kReflection))));
  rest();
  peer.send(question);
  EXPECT_NE(peer.receive_answers()[1].body, "");
  rest();
  EXPECT_TRUE(peer.receive().empty());
  peer.send(frame(NGHTTP2_DATA, 0, 1, grpc_message("never whole").substr(0, 10)));
  peer.link->run_timers(options.limits.request_timeout);
  EXPECT_TRUE(peer.receive().empty()) << "its time began with its first byte";
  rest();
  EXPECT_EQ(peer.receive_answers()[1].reset_error, kCancel);
}

TEST_F(GrpcBounds, AStreamOfQuestionsWhoseAnswersAreNotTakenIsReset) {
  H2Peer& peer = connect_without_window();
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, header_block(call_fields(kReflection))));
  std::string questions;
  for (int i = 0; i < 500; ++i) questions += grpc_message("\x1a\x15weir/v1/limiter.proto");
  H2Peer::Answer answer;
  for (int i = 0; i < 100 && !answer.reset; ++i) {
    peer.send(frame(NGHTTP2_DATA, 0, 1, questions));
    answer = peer.receive_answers()[1];
  }
  EXPECT_EQ(answer.reset_error, kCalm);
  EXPECT_TRUE(peer.protocol->idle());
  EXPECT_FALSE(peer.link->closed());
}

TEST_F(GrpcBounds, FloodsOfControlFramesEndInGoAway) {
  const std::map<std::string, std::string> floods = {
      {"ping", frame(NGHTTP2_PING, 0, 0, "12345678")},
      {"settings", frame(NGHTTP2_SETTINGS, 0, 0, "")},
      {"priority", frame(NGHTTP2_PRIORITY, 0, 1, std::string(5, '\0'))},
      {"window", frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(1, 4))},
  };
  for (const auto& [name, piece] : floods) {
    SCOPED_TRACE(name);
    H2Peer& peer = connect();
    EXPECT_LE(send_until_closed(peer, piece, 5000), static_cast<std::size_t>(http2::FloodGuard::kControlBurst) + 1);
    expect_ended(peer, kCalm);
  }
}

TEST_F(GrpcBounds, AFloodInOnePieceEndsInGoAwayWithBoundedOutput) {
  H2Peer& peer = connect();
  std::string flood;
  for (int i = 0; i < 50'000; ++i) flood += frame(NGHTTP2_PING, 0, 0, "12345678");
  peer.send(flood);
  EXPECT_LT(peer.link->output().size(), std::size_t{64} << 10);
  expect_ended(peer, kCalm);
}

TEST_F(GrpcBounds, AMessageForWhichThereIsNoMemoryEndsItsCallAndNoOther) {
  H2Peer& peer = connect();
  peer.link->set_memory(100'000);
  const auto begin = [&](std::int32_t stream, std::size_t bytes) {
    std::string frames = frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream,
                               header_block(call_fields(RlsService::kShouldRateLimit)));
    std::string message = grpc_message(std::string(300'000, 'm')).substr(0, bytes);
    for (std::size_t at = 0; at < message.size(); at += 16'000) {
      frames += frame(NGHTTP2_DATA, 0, stream, message.substr(at, 16'000));
    }
    peer.send(frames);
  };
  begin(1, 20'000);
  EXPECT_EQ(peer.link->reserved(), 0U) << "a little needs no asking";
  begin(3, 70'000);
  EXPECT_GE(peer.link->reserved(), 90'000U);
  begin(5, 50'000);
  EXPECT_EQ(peer.receive_answers()[5].fields["grpc-status"], "8");
  EXPECT_FALSE(peer.link->closed());
  peer.send(frame(NGHTTP2_RST_STREAM, 0, 3, big_endian(kCancel, 4)) +
            frame(NGHTTP2_RST_STREAM, 0, 1, big_endian(kCancel, 4)));
  EXPECT_EQ(peer.link->reserved(), 0U);
  peer.send_call(7, RlsService::kShouldRateLimit, grpc_message(some_request()));
  EXPECT_EQ(status_of(peer, 7), "0");
}

TEST_F(GrpcBounds, AnswersThatThePeerDoesNotTakeEndItsConnectionWhenThereIsNoMemoryForThem) {
  H2Peer& peer = connect_without_window();
  peer.link->set_memory(100'000);
  for (std::int32_t stream = 1; stream < 500 && !peer.link->closed(); stream += 2) {
    peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, header_block(call_fields(kReflection))) +
              frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, grpc_message("\x1a\x15weir/v1/limiter.proto")));
  }
  EXPECT_LE(peer.link->reserved(), 100'000U);
  expect_ended(peer, kCalm);
}

TEST_F(GrpcBounds, EmptyDataFramesEndInGoAway) {
  H2Peer& peer = connect();
  peer.send(
      frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, header_block(call_fields(RlsService::kShouldRateLimit))));
  send_until_closed(peer, frame(NGHTTP2_DATA, 0, 1, ""), 5000);
  expect_ended(peer, kCalm);
}

TEST_F(GrpcBounds, RapidResetEndsInGoAway) {
  H2Peer& peer = connect();
  const std::string headers = header_block(call_fields(RlsService::kShouldRateLimit));
  std::int32_t stream = 1;
  for (; !peer.link->closed() && stream < 20'000; stream += 2) {
    peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, headers) +
              frame(NGHTTP2_RST_STREAM, 0, stream, big_endian(kCancel, 4)));
  }
  EXPECT_LE(stream / 2, http2::FloodGuard::kResetBurst + 2);
  expect_ended(peer, kCalm);
}

TEST_F(GrpcBounds, ResetsThatThePeerProvokesCountLikeItsOwn) {
  limiter.later = true;
  const std::map<std::string, std::string> faults = {
      {"window of nothing", frame(NGHTTP2_WINDOW_UPDATE, 0, 1, big_endian(0, 4))},
      {"window too large", frame(NGHTTP2_WINDOW_UPDATE, 0, 1, big_endian(0x7fffffff, 4))},
  };
  for (const auto& [name, fault] : faults) {
    SCOPED_TRACE(name);
    H2Peer& peer = connect();
    limiter.asked.clear();
    std::int32_t stream = 1;
    // Every other call is let through to its answer: that earns budget for control frames.
    for (; !peer.link->closed() && stream < 20'000; stream += 4) {
      peer.send_call(stream, RlsService::kShouldRateLimit, grpc_message(some_request()));
      limiter.answer_all();
      peer.send_call(stream + 2, RlsService::kShouldRateLimit, grpc_message(some_request()));
      peer.send(fault.substr(0, 5) + big_endian(static_cast<std::uint32_t>(stream + 2), 4) + fault.substr(9));
    }
    EXPECT_LE(limiter.asked.size(), 2 * static_cast<std::size_t>(http2::FloodGuard::kResetBurst) + 2);
    expect_ended(peer, kCalm);
  }
}

TEST_F(GrpcBounds, ContinuationFloodEndsInGoAway) {
  H2Peer& peer = connect();
  const std::string block = header_block(call_fields(RlsService::kShouldRateLimit));
  peer.send(frame(NGHTTP2_HEADERS, 0, 1, block));
  const std::string more = frame(NGHTTP2_CONTINUATION, 0, 1, header_block({{"x-more", "and more"}}));
  EXPECT_LE(send_until_closed(peer, more, 5000), 16U);
  expect_ended(peer, kCalm);
}

TEST_F(GrpcBounds, HonestKeepaliveAndTrafficAreNoFlood) {
  H2Peer& peer = connect();
  const std::string ping = frame(NGHTTP2_PING, 0, 0, "12345678");
  for (int i = 0; i < 5000; ++i) {
    clock->advance(milliseconds(10));
    peer.send(ping);
  }
  for (std::int32_t stream = 1; stream < 10'000; stream += 2) {
    peer.send_call(stream, RlsService::kShouldRateLimit, grpc_message(some_request()));
    peer.send(ping + frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(200, 4)));
  }
  EXPECT_FALSE(peer.link->closed());
}

TEST_F(GrpcBounds, AcknowledgingAllThatIsSentIsNoFlood) {
  H2Peer& peer = connect();
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, header_block(call_fields(kReflection))));
  // As HAProxy does: for the stream and for the connection, for every frame that it got.
  const auto acknowledge = [&] {
    std::size_t frames = 0;
    for (const Frame& got : peer.receive()) {
      if (got.type != NGHTTP2_DATA) continue;
      ++frames;
      const std::string size = big_endian(got.payload.size(), 4);
      peer.send(frame(NGHTTP2_WINDOW_UPDATE, 0, 1, size) + frame(NGHTTP2_WINDOW_UPDATE, 0, 0, size));
    }
    return frames;
  };
  for (int i = 0; i < 2000; ++i) {
    peer.send(frame(NGHTTP2_DATA, 0, 1, grpc_message("\x1a\x01x")));
    ASSERT_EQ(acknowledge(), 1U) << i;
  }
  // One long message after the other, which comes back inside its answer.
  const std::string question = grpc_message("\x1a\x80\x80\x20" + std::string(std::size_t{512} << 10, 'x'));
  for (int i = 0; i < 20; ++i) {
    for (std::size_t at = 0; at < question.size(); at += 10'000) {
      peer.send(frame(NGHTTP2_DATA, 0, 1, question.substr(at, 10'000)));
    }
    while (acknowledge() > 0) {
    }
  }
  EXPECT_FALSE(peer.link->closed());
}

TEST_F(GrpcBounds, TakingALongAnswerByteByByteIsAFlood) {
  H2Peer& peer = connect_without_window();
  peer.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, header_block(call_fields(kReflection))));
  for (int i = 0; i < 100; ++i) peer.send(frame(NGHTTP2_DATA, 0, 1, grpc_message("\x1a\x15weir/v1/limiter.proto")));
  send_until_closed(peer, frame(NGHTTP2_WINDOW_UPDATE, 0, 1, big_endian(1, 4)), 5000);
  expect_ended(peer, kCalm);
}

TEST_F(GrpcBounds, MalformedFramesEndInGoAway) {
  H2Peer& peer = connect();
  peer.send(frame(NGHTTP2_PING, 0, 0, "short"));
  expect_ended(peer, NGHTTP2_FRAME_SIZE_ERROR);
}

}  // namespace
}  // namespace weir::grpc
