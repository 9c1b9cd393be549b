// FramedSession beside nghttp2 on the same bytes, right and wrong: the same events, the same answers, the same end.
//
// Left out, because the two choose differently:
//  - WINDOW_UPDATE of nothing for a stream: RFC 9113 resets the stream, nghttp2 ends the connection;
//  - more streams than announced: refused here one by one, the connection's end in nghttp2;
//  - fields with forbidden bytes, or PRIORITY of a stream on itself: malformed here and ignored there, or the reverse;
//  - padding that is longer than the frame, for a stream that is over: nghttp2 does not look at it;
//  - an acknowledgement of SETTINGS that were not sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/session_script.h"

namespace weir::http2 {
namespace {

constexpr SessionLimits kLimits{.streams = 10'000};

FloodGuard guard() { return FloodGuard(std::make_shared<ManualClock>()); }

void compare(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Script script([&random](std::uint64_t most) { return random() % most; });
  Recorder framed([](Events& events) { return make_session(events, kLimits, guard()); });
  Recorder oracle([](Events& events) { return std::make_unique<Nghttp2Oracle>(events, kLimits, guard()); });
  const auto both = [&](std::string_view bytes) {
    framed.receive(bytes);
    oracle.receive(bytes);
  };
  both(Script::greeting());
  for (int step = 0; step < 80 && !oracle.finished(); ++step) {
    // One step at a time: what is answered before a reset arrives depends on how much is received at once.
    const std::string bytes = script.step();
    const std::size_t middle = random() % (bytes.size() + 1);
    both(std::string_view(bytes).substr(0, middle));
    both(std::string_view(bytes).substr(middle));
    if (step == 60 && seed % 5 == 0) {
      framed.leave();
      oracle.leave();
    }
    ASSERT_EQ(framed.log, oracle.log);
    ASSERT_EQ(framed.goaways, oracle.goaways);
    ASSERT_EQ(framed.last_served, oracle.last_served);
    ASSERT_EQ(framed.finished(), oracle.finished());
    if (oracle.finished()) break;
    ASSERT_EQ(framed.closed, oracle.closed);
    ASSERT_EQ(framed.pings, oracle.pings);
    ASSERT_EQ(framed.acknowledged, oracle.acknowledged);
    for (const auto& [id, answer] : oracle.answers) {
      SCOPED_TRACE("stream " + std::to_string(id));
      ASSERT_EQ(framed.answers[id].resets, answer.resets);
      // nghttp2 drops what it had queued for a stream that it resets; here it is already written.
      if (answer.resets.count(NGHTTP2_PROTOCOL_ERROR) > 0) continue;
      ASSERT_EQ(framed.answers[id].fields, answer.fields);
      ASSERT_EQ(framed.answers[id].body, answer.body);
      ASSERT_EQ(framed.answers[id].ended, answer.ended);
    }
  }
}

TEST(FramedSession, TellsAndAnswersWhatNghttp2Does) {
  for (std::uint64_t seed = 1; seed <= 3000 && !testing::Test::HasFatalFailure(); ++seed) compare(seed);
}

}  // namespace
}  // namespace weir::http2
