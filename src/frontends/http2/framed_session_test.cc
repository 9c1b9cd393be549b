// What RFC 9113 asks of a server, frame by frame. What nghttp2 agrees on is in session_oracle_test.cc.
#include "frontends/http2/framed_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/session_script.h"

namespace weir::http2 {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint8_t kWhole = NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM;

class FramedConnection : public testing::Test {
 protected:
  Recorder& connect(const SessionLimits& limits = {}, std::string_view settings = {}) {
    peer_ = std::make_unique<Recorder>(
        [this, &limits](Events& events) { return std::make_unique<FramedSession>(events, limits, FloodGuard(clock)); });
    peer_->receive(std::string(kPreface) + frame(NGHTTP2_SETTINGS, 0, 0, settings));
    return *peer_;
  }
  static std::string setting(std::uint16_t id, std::uint32_t value) { return big_endian(id, 2) + big_endian(value, 4); }
  static std::string get(std::int32_t stream, std::uint8_t flags = kWhole) {
    return frame(NGHTTP2_HEADERS, flags, stream,
                 header_block({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "weir"}}));
  }
  static constexpr std::uint8_t kOpen = NGHTTP2_FLAG_END_HEADERS;

  void expect_end(std::uint32_t error) {
    EXPECT_THAT(peer_->goaways, ElementsAre(error));
    EXPECT_TRUE(peer_->finished());
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();

 private:
  std::unique_ptr<Recorder> peer_;
};

TEST_F(FramedConnection, TheSameBytesAfterTheTableChangedAreReadAnew) {
  // POST, http, "/", and the entry of the table that is the newest.
  const std::string refers = "\x83\x86\x84\xbe";
  const auto remembered = [](std::string_view value) { return "\x40\x03x-a\x03" + std::string(value); };
  for (const bool stream_is_open : {true, false}) {
    SCOPED_TRACE(stream_is_open);
    Recorder& peer = connect();
    peer.receive(frame(NGHTTP2_HEADERS, kOpen, 1, "\x83\x86\x84" + remembered("one")));
    peer.receive(frame(NGHTTP2_HEADERS, kWhole, 3, refers));
    peer.receive(frame(NGHTTP2_HEADERS, kWhole, 17, refers));
    EXPECT_THAT(peer.log, Contains("17 x-a=one"));
    // Trailers of a request under way, or fields for a stream that is over: both change the table.
    peer.receive(frame(NGHTTP2_HEADERS, kWhole, stream_is_open ? 1 : 3, remembered("two")));
    peer.receive(frame(NGHTTP2_HEADERS, kWhole, 19, refers));
    EXPECT_THAT(peer.log, Contains("19 x-a=two"));
    EXPECT_THAT(peer.log, Not(Contains("19 x-a=one")));
  }
}

TEST_F(FramedConnection, ARequestThatEndsBeforeItsBodyIsNoPatternForTheNext) {
  Recorder& peer = connect();
  peer.receive(get(1));
  const std::string block =
      header_block({{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {"content-length", "5"}});
  peer.receive(frame(NGHTTP2_HEADERS, kWhole, 3, block));
  EXPECT_THAT(peer.answers[3].resets, ElementsAre(NGHTTP2_PROTOCOL_ERROR));
  peer.receive(frame(NGHTTP2_HEADERS, kOpen, 17, block) + frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 17, "five!"));
  EXPECT_THAT(peer.log, Contains("17 :method=POST"));
  EXPECT_TRUE(peer.answers[17].ended);
}

TEST_F(FramedConnection, AClientMayShrinkItsTableAndLetItGrowAgain) {
  const std::string start = "\x83\x86\x84";
  const std::string remembered = "\x40\x03x-a\x03one";
  Recorder& peer = connect();
  peer.receive(frame(NGHTTP2_HEADERS, kWhole, 1, start + remembered));
  peer.receive(frame(NGHTTP2_HEADERS, kWhole, 3, start + '\xbe'));
  // To nothing and back to 4,096 bytes, all in front of the fields: the entry is gone, and the next one is the first.
  const std::string resized = "\x20\x3f\xe1\x1f" + start + "\x40\x03x-a\x03two";
  peer.receive(frame(NGHTTP2_HEADERS, kWhole, 17, resized));
  peer.receive(frame(NGHTTP2_HEADERS, kWhole, 19, start + '\xbe'));
  EXPECT_THAT(peer.log, Contains("3 x-a=one"));
  EXPECT_THAT(peer.log, Contains("19 x-a=two"));
  EXPECT_THAT(peer.goaways, IsEmpty());
  // Larger than we allow.
  peer.receive(frame(NGHTTP2_HEADERS, kWhole, 33, "\x3f\xe2\x1f" + start));
  expect_end(NGHTTP2_COMPRESSION_ERROR);
}

TEST_F(FramedConnection, AnAnswerAheadOfItsRequestAsksForNoMoreOfIt) {
  Recorder& peer = connect();
  peer.receive(get(5, kOpen));
  EXPECT_TRUE(peer.answers[5].ended);
  EXPECT_THAT(peer.answers[5].resets, ElementsAre(NGHTTP2_NO_ERROR));
  // What was on its way meanwhile is no fault.
  peer.receive(frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 5, "late"));
  EXPECT_FALSE(peer.finished());
}

TEST_F(FramedConnection, AnAnswerWhoseRequestEndsInTheSameBreathIsNotReset) {
  Recorder& peer = connect();
  peer.receive(get(5, kOpen) + frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 5, "late"));
  EXPECT_TRUE(peer.answers[5].ended);
  EXPECT_THAT(peer.answers[5].resets, IsEmpty());
  EXPECT_THAT(peer.closed, ElementsAre(5));
}

TEST_F(FramedConnection, AnswersWaitForTheConnectionsWindow) {
  Recorder& peer = connect({}, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1'000'000));
  peer.receive(get(9));   // 100,000 bytes
  peer.receive(get(17));  // 100 bytes, after them
  EXPECT_EQ(peer.answers[9].body, 65535U);
  EXPECT_FALSE(peer.answers[17].ended);
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(30'000, 4)));
  EXPECT_EQ(peer.answers[9].body, 95'535U);
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(30'000, 4)));
  EXPECT_EQ(peer.answers[9].body, 100'000U);
  EXPECT_TRUE(peer.answers[9].ended);
  EXPECT_TRUE(peer.answers[17].ended);
  EXPECT_THAT(peer.closed, ElementsAre(9, 17));
}

TEST_F(FramedConnection, AResetTakesAWaitingAnswerOutOfTheQueue) {
  Recorder& peer = connect({}, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 10));
  peer.receive(get(9) + get(17) + get(25));
  EXPECT_EQ(peer.answers[17].body, 10U);
  peer.receive(frame(NGHTTP2_RST_STREAM, 0, 17, big_endian(NGHTTP2_CANCEL, 4)));
  peer.receive(frame(NGHTTP2_SETTINGS, 0, 0, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 200'000)) +
               frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(200'000, 4)));
  EXPECT_THAT(peer.closed, ElementsAre(9, 17, 25));
  EXPECT_EQ(peer.answers[9].body, 100'000U);
  EXPECT_EQ(peer.answers[17].body, 10U);
}

TEST_F(FramedConnection, AnswersThatNobodyTakesDoNotPileUp) {
  Recorder& peer = connect({.held = 250'000}, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0));
  // Answers of 100,000 bytes: the third is too much, and one of 100 bytes is not.
  peer.receive(get(9) + get(25) + get(41) + get(49));
  EXPECT_THAT(peer.answers[41].resets, ElementsAre(NGHTTP2_ENHANCE_YOUR_CALM));
  EXPECT_THAT(peer.closed, ElementsAre(41));
  // What one stream gave up is there for another.
  peer.receive(frame(NGHTTP2_RST_STREAM, 0, 9, big_endian(NGHTTP2_CANCEL, 4)) + get(57));
  EXPECT_THAT(peer.closed, ElementsAre(9, 41));
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 25, big_endian(100'000, 4)) +
               frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(400'000, 4)) + get(73));
  EXPECT_TRUE(peer.answers[25].ended);
  peer.receive(frame(NGHTTP2_SETTINGS, 0, 0, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 100'000)));
  EXPECT_THAT(peer.closed, ElementsAre(9, 25, 41, 49, 57, 73));
  EXPECT_TRUE(peer.answers[73].ended);
}

TEST_F(FramedConnection, WhatIsTakenOfALongAnswerIsNotKept) {
  Recorder& peer = connect({}, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 70'000));
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(100'000, 4)) + get(9));
  EXPECT_EQ(peer.answers[9].body, 70'000U);
  EXPECT_EQ(peer.kept(9), 30'000U);
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 9, big_endian(30'000, 4)));
  EXPECT_EQ(peer.answers[9].body, 100'000U);
  EXPECT_TRUE(peer.answers[9].ended);
}

TEST_F(FramedConnection, AWindowMayShrinkBelowNothing) {
  Recorder& peer = connect({}, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 60));
  peer.receive(get(17));
  peer.receive(frame(NGHTTP2_SETTINGS, 0, 0, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0)));
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 17, big_endian(60, 4)));
  EXPECT_EQ(peer.answers[17].body, 60U) << "sixty were granted before";
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 17, big_endian(40, 4)));
  EXPECT_TRUE(peer.answers[17].ended);
}

TEST_F(FramedConnection, WindowsReachTheLargestNumberAndNotOneMore) {
  constexpr std::uint32_t kLargest = 0x7fffffff;
  Recorder& peer = connect({}, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 60));
  peer.receive(get(1, kOpen) + get(17));  // 60 bytes of 100 are out on the second
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 1, big_endian(kLargest - 60, 4)) +
               frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(kLargest - 65'535, 4)));
  EXPECT_THAT(peer.answers[1].resets, IsEmpty());
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 1, big_endian(1, 4)));
  EXPECT_THAT(peer.answers[1].resets, ElementsAre(NGHTTP2_FLOW_CONTROL_ERROR));
  // Sixty below nothing, so the largest number may be added. The highest bit of the number means nothing.
  peer.receive(frame(NGHTTP2_SETTINGS, 0, 0, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0)) +
               frame(NGHTTP2_WINDOW_UPDATE, 0, 17, big_endian(kLargest | 0x80000000U, 4)));
  EXPECT_TRUE(peer.answers[17].ended);
  // A setting that makes an open stream's window too large.
  peer.receive(get(19, kOpen) + frame(NGHTTP2_WINDOW_UPDATE, 0, 19, big_endian(kLargest, 4)));
  EXPECT_THAT(peer.goaways, IsEmpty());
  peer.receive(frame(NGHTTP2_SETTINGS, 0, 0, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1)));
  expect_end(NGHTTP2_FLOW_CONTROL_ERROR);
}

TEST_F(FramedConnection, TheLastStreamThatANumberCanNameIsServed) {
  Recorder& peer = connect();
  constexpr std::int32_t kLast = 0x7fffffff;
  peer.receive(get(kLast - 14, kOpen) + get(kLast));
  EXPECT_TRUE(peer.answers[kLast].ended);
  peer.receive(frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, kLast - 14, ""));
  EXPECT_TRUE(peer.answers[kLast - 14].ended);
  peer.leave();
  EXPECT_THAT(peer.last_served, ElementsAre(static_cast<std::uint32_t>(kLast)));
  EXPECT_TRUE(peer.finished());
}

TEST_F(FramedConnection, PaddingIsNoPartOfWhatItPads) {
  const std::string block =
      header_block({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "weir"}});
  Recorder& peer = connect();
  // As much as possible, after a priority, and none at all.
  const std::string most(255, '\0');
  peer.receive(frame(NGHTTP2_HEADERS, kOpen | NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_PRIORITY, 1,
                     '\xff' + std::string(5, '\0') + block + most));
  peer.receive(frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, "\xff" + ("one" + most)));
  peer.receive(frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, std::string("\0two", 4)));
  peer.receive(frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_END_STREAM, 1, '\xff' + most));
  EXPECT_THAT(peer.log, Contains("1 body onetwo"));
  EXPECT_THAT(peer.goaways, IsEmpty());
}

TEST_F(FramedConnection, HeaderFieldsMayComeInFivePieces) {
  Fields fields = {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "weir"}};
  for (int i = 0; i < 15; ++i) fields.emplace_back("x-" + std::to_string(i), std::string(1000, 'v'));
  const std::string block = header_block(fields);
  Recorder& peer = connect();
  std::string bytes;
  const std::size_t piece = block.size() / 5 + 1;
  for (std::size_t i = 0; i < 5; ++i) {
    bytes += frame(i == 0 ? NGHTTP2_HEADERS : NGHTTP2_CONTINUATION,
                   i == 0   ? NGHTTP2_FLAG_END_STREAM
                   : i == 4 ? NGHTTP2_FLAG_END_HEADERS
                            : 0,
                   1, block.substr(i * piece, piece));
  }
  for (const char& byte : bytes) peer.receive({&byte, 1});
  EXPECT_THAT(peer.log, Contains("1 x-14=" + std::string(1000, 'v')));
  EXPECT_TRUE(peer.answers[1].ended);
}

TEST_F(FramedConnection, TheFirstPieceMayHoldAPriorityAndNothingElse) {
  Recorder& peer = connect();
  const std::string block = header_block({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}});
  peer.receive(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_PRIORITY, 1, std::string(5, '\0')));
  peer.receive(frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, block));
  EXPECT_TRUE(peer.answers[1].ended);
  EXPECT_THAT(peer.goaways, IsEmpty());
  peer.receive(frame(NGHTTP2_HEADERS, kWhole | NGHTTP2_FLAG_PRIORITY, 3, std::string(4, '\0')));
  expect_end(NGHTTP2_FRAME_SIZE_ERROR);
}

TEST_F(FramedConnection, AFieldRepeatedByReferenceCountsEveryTime) {
  // 4,000 bytes that are remembered, then a byte for each repetition: as much as five frames hold.
  const std::string bomb = "\x40\x01x\x7f\xa1\x1e" + std::string(4000, 'y');
  const auto in_five_frames = [](std::int32_t stream, std::uint8_t flags, std::string first) {
    first.resize(kMaxPayload, '\xbe');
    const std::string rest(kMaxPayload, '\xbe');
    std::string bytes = frame(NGHTTP2_HEADERS, flags, stream, first);
    for (int i = 0; i < 3; ++i) bytes += frame(NGHTTP2_CONTINUATION, 0, stream, rest);
    return bytes + frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, stream, rest);
  };
  Recorder& peer = connect();
  peer.receive(in_five_frames(1, NGHTTP2_FLAG_END_STREAM, "\x83\x86\x84" + bomb));
  EXPECT_THAT(peer.log, ElementsAre("1 begins", "1 too large after 7"));
  EXPECT_TRUE(peer.answers[1].ended);
  // In trailers too.
  peer.receive(get(3, kOpen) + in_five_frames(3, NGHTTP2_FLAG_END_STREAM, bomb));
  EXPECT_THAT(peer.answers[3].resets, ElementsAre(NGHTTP2_ENHANCE_YOUR_CALM));
  // The table is as the client believes it to be.
  peer.receive(frame(NGHTTP2_HEADERS, kWhole, 17, "\x83\x86\x84\xbe"));
  EXPECT_THAT(peer.log, Contains("17 x=" + std::string(4000, 'y')));
  EXPECT_FALSE(peer.finished());
}

TEST_F(FramedConnection, FaultsOfOneStreamEndThatStream) {
  Recorder& peer = connect();
  for (const std::int32_t stream : {1, 3, 9, 11}) peer.receive(get(stream, kOpen));
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 1, big_endian(0, 4)));
  peer.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 3, big_endian(0x7fffffff, 4)));
  peer.receive(frame(NGHTTP2_HEADERS, kOpen, 9, header_block({{"trailers", "without an end"}})));
  peer.receive(frame(NGHTTP2_HEADERS, kWhole, 11, header_block({{":path", "/in/trailers"}})));
  EXPECT_THAT(peer.answers[1].resets, ElementsAre(NGHTTP2_PROTOCOL_ERROR));
  EXPECT_THAT(peer.answers[3].resets, ElementsAre(NGHTTP2_FLOW_CONTROL_ERROR));
  EXPECT_THAT(peer.answers[9].resets, ElementsAre(NGHTTP2_PROTOCOL_ERROR));
  EXPECT_THAT(peer.answers[11].resets, ElementsAre(NGHTTP2_PROTOCOL_ERROR));
  EXPECT_THAT(peer.goaways, IsEmpty());
}

TEST_F(FramedConnection, FaultsOfTheConnectionEndIt) {
  const std::string settings = frame(NGHTTP2_SETTINGS, 0, 0, "");
  std::string many;
  for (std::size_t i = 0; i <= FramedSession::kMaxSettings; ++i) many += setting(0x99, 1);
  const std::vector<std::pair<std::string, std::uint32_t>> faults = {
      {frame(NGHTTP2_DATA, 0, 1, std::string(16385, 'x')), NGHTTP2_FRAME_SIZE_ERROR},
      {frame(NGHTTP2_PUSH_PROMISE, NGHTTP2_FLAG_END_HEADERS, 1, std::string(4, '\0')), NGHTTP2_PROTOCOL_ERROR},
      {frame(NGHTTP2_HEADERS, 0, 1, "") + settings, NGHTTP2_PROTOCOL_ERROR},
      {frame(NGHTTP2_HEADERS, 0, 1, "") + frame(NGHTTP2_CONTINUATION, 0, 3, ""), NGHTTP2_PROTOCOL_ERROR},
      {frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_PADDED, 1, ""), NGHTTP2_PROTOCOL_ERROR},
      {frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_PRIORITY, 1, "abc"), NGHTTP2_FRAME_SIZE_ERROR},
      {get(1, kOpen) + frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, "\x05"), NGHTTP2_PROTOCOL_ERROR},
      {frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "x"), NGHTTP2_FRAME_SIZE_ERROR},
      {frame(NGHTTP2_SETTINGS, 0, 0, many), NGHTTP2_ENHANCE_YOUR_CALM},
      {frame(NGHTTP2_GOAWAY, 0, 0, "short"), NGHTTP2_FRAME_SIZE_ERROR},
      {frame(NGHTTP2_GOAWAY, 0, 1, std::string(8, '\0')), NGHTTP2_PROTOCOL_ERROR},
      {frame(NGHTTP2_WINDOW_UPDATE, 0, 0, "abc"), NGHTTP2_FRAME_SIZE_ERROR},
      {frame(NGHTTP2_PRIORITY, 0, 0, std::string(5, '\0')), NGHTTP2_PROTOCOL_ERROR},
      {frame(NGHTTP2_PRIORITY, 0, 1, "abc"), NGHTTP2_FRAME_SIZE_ERROR},
      {get(1, kOpen) + frame(NGHTTP2_RST_STREAM, 0, 1, "abc"), NGHTTP2_FRAME_SIZE_ERROR},
      {get(2), NGHTTP2_PROTOCOL_ERROR},
      {get(9) + frame(NGHTTP2_DATA, 0, 9, "behind the end"), NGHTTP2_STREAM_CLOSED},
      {get(9) + get(9), NGHTTP2_STREAM_CLOSED},
      {get(1, kOpen) + frame(NGHTTP2_HEADERS, kWhole, 1, "\xff\xff\xff\xff\xff"), NGHTTP2_COMPRESSION_ERROR},
  };
  for (const auto& [bytes, error] : faults) {
    SCOPED_TRACE(testing::PrintToString(bytes.substr(0, 20)));
    Recorder& peer = connect({}, setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 10));
    peer.receive(bytes);
    expect_end(error);
    peer.receive(get(99));
    EXPECT_THAT(peer.log, Not(Contains("99 begins")));
  }
}

TEST_F(FramedConnection, FramesOfExtensionsAreSkippedHoweverMany) {
  Recorder& peer = connect();
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += frame(0x10, 0xff, i % 5, i % 2 == 0 ? "" : "something");
  peer.receive(get(1, kOpen) + many + frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, ""));
  EXPECT_TRUE(peer.answers[1].ended);
  EXPECT_THAT(peer.goaways, IsEmpty());
}

TEST_F(FramedConnection, TheFirstFrameIsSettings) {
  for (const std::string& first : {get(1), frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "")}) {
    Recorder peer(
        [this](Events& events) { return std::make_unique<FramedSession>(events, SessionLimits{}, FloodGuard(clock)); });
    peer.receive(std::string(kPreface) + first);
    EXPECT_THAT(peer.goaways, ElementsAre(NGHTTP2_PROTOCOL_ERROR));
  }
}

TEST_F(FramedConnection, MoreStreamsThanAnnouncedAreRefusedOneByOne) {
  Recorder& peer = connect({.streams = 2});
  peer.receive(get(1, kOpen) + get(3, kOpen) + get(9));
  EXPECT_THAT(peer.answers[9].resets, ElementsAre(NGHTTP2_REFUSED_STREAM));
  EXPECT_THAT(peer.log, Not(Contains("9 begins")));
  peer.receive(frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, ""));
  peer.receive(get(15));
  EXPECT_TRUE(peer.answers[15].ended);
  for (std::int32_t stream = 17; stream < 5000 && !peer.finished(); stream += 2) {
    peer.receive(get(stream, kOpen));
  }
  expect_end(NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_F(FramedConnection, StreamsThatAreAnsweredAtOnceAreClosedBeforeTheyAreMany) {
  Recorder& peer = connect();
  std::string calls;
  for (std::int32_t stream = 7; stream < 16'000; stream += 16) calls += get(stream);
  peer.receive(calls);
  EXPECT_EQ(peer.closed.size(), 1000U);
  EXPECT_EQ(peer.most_open, FramedSession::kManyFinished);
}

TEST_F(FramedConnection, ThePeerMaySendAsMuchAsItWasTold) {
  Recorder& peer = connect({.window = 100'000});
  peer.receive(frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "") + get(1, kOpen) + get(3, kOpen));
  // Windows are given back as they are used: far more than one fits through, also of padding.
  for (int i = 0; i < 100; ++i) peer.receive(frame(NGHTTP2_DATA, 0, 1, std::string(16384, 'x')));
  for (int i = 0; i < 100; ++i) {
    peer.receive(frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 3, '\xff' + std::string(16000, '\0')));
  }
  EXPECT_THAT(peer.goaways, IsEmpty());
  EXPECT_THAT(peer.answers[1].resets, IsEmpty());
}

// A stream whose answer is out gets no more room: what may still arrive for it is what it was told at first.
TEST_F(FramedConnection, AStreamThatIsAnsweredMayFillItsWindowAndNotOneByteMore) {
  for (const std::uint32_t window : {65'535U, 100'000U}) {
    for (const bool padded : {false, true}) {
      SCOPED_TRACE(testing::PrintToString(window) + (padded ? " padded" : ""));
      std::string filled = get(5, kOpen);
      for (std::size_t left = window; left > 0;) {
        const std::size_t size = std::min<std::size_t>(left, 16384);
        // Padding takes as much of the window as data.
        filled += padded && size > 200
                      ? frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 5, '\xc0' + std::string(size - 1, 'x'))
                      : frame(NGHTTP2_DATA, 0, 5, std::string(size, 'x'));
        left -= size;
      }
      // In one piece with the request, so that it arrives before the stream is closed.
      Recorder& full = connect({.window = window});
      full.receive(filled);
      EXPECT_THAT(full.answers[5].resets, ElementsAre(NGHTTP2_NO_ERROR));
      Recorder& over = connect({.window = window});
      over.receive(filled + frame(NGHTTP2_DATA, 0, 5, "x"));
      EXPECT_THAT(over.answers[5].resets, ElementsAre(NGHTTP2_FLOW_CONTROL_ERROR));
      EXPECT_THAT(over.goaways, IsEmpty());
    }
  }
}

// The connection's window is opened again at half, whatever the frames are, so that a peer that follows it never waits.
TEST_F(FramedConnection, TheConnectionsWindowIsOpenedAgainBeforeItIsUsedUp) {
  for (const std::size_t size : {std::size_t{1000}, std::size_t{16384}}) {
    Recorder& peer = connect({.window = 65'535});
    peer.receive(get(1, kOpen));
    std::int64_t open = 65'535;
    for (int i = 0; i < 200; ++i) {
      ASSERT_GE(open, static_cast<std::int64_t>(size)) << "a peer that follows the window would wait forever";
      peer.receive(frame(NGHTTP2_DATA, 0, 1, std::string(size, 'x')));
      open += static_cast<std::int64_t>(std::exchange(peer.opened, 0)) - static_cast<std::int64_t>(size);
      ASSERT_LE(open, 65'535);
    }
    EXPECT_THAT(peer.goaways, IsEmpty());
  }
}

TEST_F(FramedConnection, NoStreamGetsLessThanAPeerAssumesBeforeItHasReadOurSettings) {
  EXPECT_EQ(connect({.window = 1000}).settings[NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE], 65'535U);
  EXPECT_EQ(connect({.window = 100'000}).settings[NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE], 100'000U);
}

TEST_F(FramedConnection, NothingNewIsServedOnceWeHaveLeft) {
  Recorder& peer = connect();
  peer.receive(get(1, kOpen));
  peer.leave();
  peer.receive(get(3));
  peer.receive(frame(NGHTTP2_DATA, 0, 3, "of a stream that was never opened"));
  EXPECT_FALSE(peer.finished());
  EXPECT_THAT(peer.log, Not(Contains("3 begins")));
  peer.receive(frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, ""));
  EXPECT_TRUE(peer.answers[1].ended);
  EXPECT_TRUE(peer.finished());
}

TEST_F(FramedConnection, APeerThatLeavesIsServedToItsEnd) {
  Recorder& peer = connect();
  peer.receive(get(1, kOpen) + frame(NGHTTP2_GOAWAY, 0, 0, std::string(8, '\0')));
  EXPECT_FALSE(peer.finished());
  peer.receive(frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, ""));
  EXPECT_TRUE(peer.finished());
}

TEST_F(FramedConnection, APeerWithoutATableUnderstandsEveryAnswer) {
  Recorder& peer = connect({}, setting(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0));
  peer.set_table_size(0);
  for (std::int32_t stream = 1; stream < 20; stream += 2) {
    if (stream % 16 == 7 || stream % 16 == 9 || stream % 16 == 11) continue;
    peer.receive(get(stream));
    EXPECT_EQ(peer.answers[stream].fields["grpc-status"], "0") << stream;
  }
}

}  // namespace
}  // namespace weir::http2
