// The published cases of redis-cell and throttlecrab, asked of CL.THROTTLE on the real engine.
//
// redis-cell's max_burst is one less than the capacity, as ours; throttlecrab's is the capacity, so its cases are asked
// with one less. throttlecrab answers (allowed, limit, remaining, reset, retry), we answer as redis-cell does.
#include <gtest/gtest.h>

#include <limits>

#include "frontends/resp/resp_protocol.h"
#include "tests/peers/peer_bucket.h"
#include "tests/support/recording_link.h"

namespace weir::peers {
namespace {

class ThrottleCases : public testing::Test {
 protected:
  ThrottleCases() {
    LimiterOptions options;
    options.clock = clock_;
    limiter_ = Limiter::create({}, options).value();
    protocol_ = std::make_unique<resp::RespProtocol>(link_, *limiter_, options_, 1);
  }

  std::string bytes(const std::string& command) {
    EXPECT_EQ(protocol_->on_bytes(command), command.size());
    return link_.take();
  }

  // "0 5 4 -1 1" for five integers, the error's text for an error. `terms` follow the command's name.
  std::string ask(const std::string& terms) {
    const std::string reply = bytes("CL.THROTTLE " + terms + "\r\n");
    if (!reply.starts_with("*5\r\n")) return reply.substr(0, reply.find('\r'));
    std::string plain;
    for (const char c : reply.substr(4)) {
      if (c == '\n') plain += ' ';
      if (c != ':' && c != '\r' && c != '\n') plain += c;
    }
    plain.pop_back();
    return plain;
  }

  // Limited, limit and remaining: what most published cases tell.
  std::string verdict(const std::string& terms) {
    const std::string answer = ask(terms);
    const std::size_t retry = answer.rfind(' ', answer.rfind(' ') - 1);
    return answer.substr(0, retry);
  }

  int admitted_of(int calls, const std::string& terms) {
    int admitted = 0;
    for (int i = 0; i < calls; ++i) admitted += ask(terms)[0] == '0' ? 1 : 0;
    return admitted;
  }

  void at(Duration since_start) { clock_->set(start_ + since_start); }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  TimePoint start_ = clock_->now();
  std::unique_ptr<Limiter> limiter_;
  resp::RespOptions options_;
  transport::RecordingLink link_;
  std::unique_ptr<resp::RespProtocol> protocol_;
};

using PeerRedisCell = ThrottleCases;
using PeerThrottlecrab = ThrottleCases;

// One per second with a burst of five: the sequence that redis-cell is specified by.
struct CellStep {
  Duration at;
  std::int64_t quantity;
  Answer exact;        // by the library
  std::string answer;  // by the command: whole seconds, rounded up
};
const std::vector<CellStep>& cell_steps() {
  static const std::vector<CellStep> steps = {
      {0ms, 6, never_fits(5, 0s), "1 5 5 -1 0"},     {0ms, 1, allowed(4, 1s), "0 5 4 -1 1"},
      {0ms, 1, allowed(3, 2s), "0 5 3 -1 2"},        {0ms, 1, allowed(2, 3s), "0 5 2 -1 3"},
      {0ms, 1, allowed(1, 4s), "0 5 1 -1 4"},        {0ms, 1, allowed(0, 5s), "0 5 0 -1 5"},
      {0ms, 1, denied(0, 1s, 5s), "1 5 0 1 5"},      {3000ms, 1, allowed(2, 3s), "0 5 2 -1 3"},
      {3100ms, 1, allowed(1, 3900ms), "0 5 1 -1 4"}, {4000ms, 1, allowed(1, 4s), "0 5 1 -1 4"},
      {8000ms, 1, allowed(4, 1s), "0 5 4 -1 1"},     {9500ms, 1, allowed(4, 1s), "0 5 4 -1 1"},
      {9500ms, 0, allowed(4, 1s), "0 5 4 -1 1"},     {9500ms, 2, allowed(2, 3s), "0 5 2 -1 3"},
      {9500ms, 5, denied(2, 3s, 3s), "1 5 2 3 3"},
  };
  return steps;
}

TEST_F(PeerRedisCell, ItsSequenceOfFifteenStepsByTheCommand) {
  for (std::size_t i = 0; i < cell_steps().size(); ++i) {
    const CellStep& step = cell_steps()[i];
    at(step.at);
    EXPECT_EQ(ask("k 4 1 1 " + std::to_string(step.quantity)), step.answer) << "step " << i;
  }
}

TEST_F(PeerRedisCell, ItsSequenceOfFifteenStepsToTheMicrosecondByTheLibrary) {
  PeerBucket bucket({.algorithm = Algorithm::gcra, .limit = 1, .window = 1s, .burst = 5});
  for (std::size_t i = 0; i < cell_steps().size(); ++i) {
    const CellStep& step = cell_steps()[i];
    bucket.at(step.at);
    EXPECT_EQ(bucket.take(step.quantity), step.exact) << "step " << i;
  }
}

TEST_F(PeerRedisCell, OneIntervalIsThePeriodDividedByTheCount) {
  EXPECT_EQ(ask("day 0 24 86400"), "0 1 0 -1 3600");
  EXPECT_EQ(ask("hour 0 6 3600"), "0 1 0 -1 600");
  EXPECT_EQ(ask("minute 0 6 60"), "0 1 0 -1 10");
  EXPECT_EQ(ask("period 0 6 120"), "0 1 0 -1 20");
  EXPECT_EQ(ask("second 0 5 1"), "0 1 0 -1 1");
  at(199'999us);
  EXPECT_EQ(ask("second 0 5 1"), "1 1 0 1 0");
  at(200ms);
  EXPECT_EQ(ask("second 0 5 1"), "0 1 0 -1 1");
}

TEST_F(PeerRedisCell, ACountOrPeriodOfZeroIsAnError) {
  EXPECT_TRUE(ask("k 10 0 1").starts_with("-ERR count"));
  EXPECT_TRUE(ask("k 10 1 0").starts_with("-ERR period"));
  EXPECT_TRUE(ask("k 10 0 0").starts_with("-ERR count"));
}

TEST_F(PeerRedisCell, AllowsDeniesAndAllowsAgainAfterTheWaitItNamed) {
  EXPECT_EQ(ask("user123 0 1 2 1"), "0 1 0 -1 2");
  EXPECT_EQ(ask("user123 0 1 2 1"), "1 1 0 2 2");
  at(2s);
  EXPECT_EQ(ask("user123 0 1 2 1"), "0 1 0 -1 2");
}

TEST_F(PeerRedisCell, TheReadmesExamplesCountByKey) {
  EXPECT_EQ(ask("user123 15 30 60"), "0 16 15 -1 2");
  EXPECT_EQ(ask("user123-read-rate 15 30 60"), "0 16 15 -1 2");
  EXPECT_EQ(ask("user123-write-rate 5 10 60"), "0 6 5 -1 6");
}

// There such intervals never accumulate (under 1 ms) or leave INT64_MAX (under 1 us).
TEST_F(PeerRedisCell, CountsIntervalsThatItCannot) {
  EXPECT_EQ(admitted_of(6'100, "milli 6000 6000 1"), 6'001);
  EXPECT_EQ(verdict("micro 9 10000000 1 10"), "0 10 0");
  EXPECT_EQ(verdict("micro 9 10000000 1 1"), "1 10 0");
}

// There the product wraps, and negative terms are taken.
TEST_F(PeerRedisCell, RefusesNumbersThatItLetsOverflow) {
  EXPECT_TRUE(ask("k 9223372036854775807 1 1").starts_with("-ERR max_burst"));
  EXPECT_TRUE(ask("k 1 1 9223372036854775807").starts_with("-ERR period"));
  EXPECT_TRUE(ask("k 1 1 1 9223372036854775807").starts_with("-ERR quantity"));
  EXPECT_TRUE(ask("k -1 1 1").starts_with("-ERR max_burst"));
  EXPECT_TRUE(ask("k 1 -1 1").starts_with("-ERR count"));
}

TEST_F(PeerThrottlecrab, TheFirstRequestLeavesOneLessThanTheBurst) { EXPECT_EQ(verdict("test 4 10 60"), "0 5 4"); }

TEST_F(PeerThrottlecrab, CountsABurstDownAndDeniesTheNext) {
  for (const char* left : {"4", "3", "2", "1", "0"}) EXPECT_EQ(verdict("k 4 10 60"), std::string("0 5 ") + left);
  EXPECT_EQ(ask("k 4 10 60"), "1 5 0 6 30");
  at(6s);
  EXPECT_EQ(verdict("k 4 10 60"), "0 5 0");
  EXPECT_EQ(verdict("k 4 10 60"), "1 5 0");
}

TEST_F(PeerThrottlecrab, RefillsOneAfterOneInterval) {
  EXPECT_EQ(admitted_of(3, "k 1 60 60"), 2);
  at(1s);
  EXPECT_EQ(verdict("k 1 60 60"), "0 2 0");
}

TEST_F(PeerThrottlecrab, EveryStoreLeavesNothingOfTheTokenThatWasRefilled) {
  EXPECT_EQ(admitted_of(4, "k 2 6 60"), 3);
  at(10s);
  EXPECT_EQ(verdict("k 2 6 60"), "0 3 0");
}

TEST_F(PeerThrottlecrab, KeysDoNotShareABucket) {
  EXPECT_EQ(verdict("key1 1 2 60"), "0 2 1");
  EXPECT_EQ(verdict("key2 1 2 60"), "0 2 1");
  EXPECT_EQ(verdict("key1 1 2 60"), "0 2 0");
  EXPECT_EQ(verdict("key1 1 2 60"), "1 2 0");
  EXPECT_EQ(verdict("key2 1 2 60"), "0 2 0");
  EXPECT_EQ(verdict("key2 1 2 60"), "1 2 0");
}

TEST_F(PeerThrottlecrab, ADenialOfAQuantityChangesNothing) {
  EXPECT_EQ(verdict("k 9 10 60 5"), "0 10 5");
  EXPECT_EQ(verdict("k 9 10 60 6"), "1 10 5");
  EXPECT_EQ(verdict("k 9 10 60 5"), "0 10 0");
  EXPECT_EQ(verdict("other 4 10 60 3"), "0 5 2");
  EXPECT_EQ(verdict("other 4 10 60 3"), "1 5 2");
  EXPECT_EQ(verdict("other 4 10 60 2"), "0 5 0");
}

TEST_F(PeerThrottlecrab, AQuantityAboveTheBurstIsDeniedAndZeroOnlyLooks) {
  EXPECT_EQ(verdict("k 9 100 60 15"), "1 10 10");
  EXPECT_EQ(verdict("k 9 100 60 0"), "0 10 10");
}

TEST_F(PeerThrottlecrab, RefillsFastAndFractionalRatesInTime) {
  EXPECT_EQ(verdict("fast 9 600 60"), "0 10 9");
  EXPECT_EQ(admitted_of(9, "fast 9 600 60"), 9);
  EXPECT_EQ(admitted_of(2, "exact 1 120 60"), 2);
  EXPECT_EQ(admitted_of(3, "fractional 2 7 60"), 3);  // one every 8.57 s
  at(500ms);
  EXPECT_EQ(verdict("exact 1 120 60"), "0 2 0");
  at(1s);
  EXPECT_EQ(verdict("fast 9 600 60"), "0 10 9");
  at(8s);
  EXPECT_EQ(verdict("fractional 2 7 60"), "1 3 0");
  at(9s);
  EXPECT_EQ(verdict("fractional 2 7 60"), "0 3 0");
}

TEST_F(PeerThrottlecrab, AnswersWhenTheClockGoesBackAndForth) {
  EXPECT_EQ(verdict("jump 2 10 60"), "0 3 2");
  at(-5s);
  EXPECT_EQ(verdict("jump 2 10 60"), "0 3 1");
  at(10s);  // 1 2/3 of the two have been repaid
  EXPECT_EQ(verdict("jump 2 10 60"), "0 3 1");
  for (const int i : {0, -1, 2, -3, 4}) {
    at(std::chrono::seconds(i));
    EXPECT_EQ(ask("jitter 9 10 60")[0], '0') << i;
  }
}

// throttlecrab says 5 and 7 s until the bucket is full; one and five units at one every 0.6 s take 0.6 s and 3 s.
TEST_F(PeerThrottlecrab, TellsTheTimeUntilFull) {
  EXPECT_EQ(ask("test_key 9 100 60"), "0 10 9 -1 1");
  EXPECT_EQ(ask("test_key2 9 100 60 5"), "0 10 5 -1 3");
}

// throttlecrab admits 17: it lets the arrival time fall behind the clock.
TEST_F(PeerThrottlecrab, AdmitsNoMoreThanTheBurstAfterSeventeenIdleSeconds) {
  EXPECT_EQ(admitted_of(20, "k 9 1 1"), 10);
  at(17s);
  EXPECT_EQ(admitted_of(20, "k 9 1 1"), 10);
  at(17s + 17s);
  EXPECT_EQ(admitted_of(20, "k 9 1 1"), 10);
}

TEST_F(PeerThrottlecrab, AdmitsTheBurstOfManyCallsAndNoMore) {
  EXPECT_EQ(admitted_of(4, "exhaust 2 100 60"), 3);
  EXPECT_EQ(admitted_of(10, "rapid 4 100 60"), 5);
  EXPECT_EQ(admitted_of(5, "client 2 100 60"), 3);
  PeerBucket threads({.algorithm = Algorithm::gcra, .limit = 10, .window = 60s, .burst = 10});
  EXPECT_EQ(threads.admitted_of(5), 5);
  EXPECT_EQ(threads.admitted_of(20, "other"), 10);
}

TEST_F(PeerThrottlecrab, TakesAnyKeyThatAClientCanSend) {
  for (const std::string& key : {std::string("user:email@example.com"), std::string("api:v2/users/{id}"),
                                 std::string("'with spaces'"), std::string("with:colons:everywhere"),
                                 std::string("UTF8:\xe6\xb5\x8b"), std::string(1000, 'x'), std::string("''")}) {
    EXPECT_EQ(verdict(key + " 4 100 60"), "0 5 4") << key;
    EXPECT_EQ(verdict(key + " 4 100 60"), "0 5 3") << key;
  }
}

TEST_F(PeerThrottlecrab, AppliesOtherNumbersToTheSameKey) {
  EXPECT_EQ(verdict("k 9 100 60"), "0 10 9");
  EXPECT_EQ(verdict("k 4 100 60"), "0 5 3");  // what was used stays used
}

TEST_F(PeerThrottlecrab, ReadsCommandsInAnyCaseAndMixed) {
  EXPECT_EQ(bytes("PiNg\r\n"), "+PONG\r\n");
  EXPECT_EQ(bytes("cl.ThRoTtLe k 9 100 60\r\nping hello\r\nCL.THROTTLE k 9 100 60\r\n"),
            "*5\r\n:0\r\n:10\r\n:9\r\n:-1\r\n:1\r\n$5\r\nhello\r\n*5\r\n:0\r\n:10\r\n:8\r\n:-1\r\n:2\r\n");
  EXPECT_TRUE(bytes("UNKNOWN\r\n").starts_with("-ERR unknown command"));
}

TEST_F(PeerThrottlecrab, NamesWhatIsWrongWithTheArguments) {
  EXPECT_TRUE(ask("test_key").starts_with("-ERR wrong number of arguments"));
  EXPECT_TRUE(ask("test_key not_a_number 100 60").starts_with("-ERR max_burst"));
  EXPECT_TRUE(ask("test_key -5 100 60").starts_with("-ERR max_burst"));
  EXPECT_TRUE(ask("k -1 10 60").starts_with("-ERR max_burst"));  // its burst of 0
  EXPECT_TRUE(ask("k 9 0 60").starts_with("-ERR count"));
  EXPECT_TRUE(ask("k 9 10 0").starts_with("-ERR period"));
}

// throttlecrab refuses a negative quantity; redis-cell, whose command this is, gives it back.
TEST_F(PeerThrottlecrab, GivesBackANegativeQuantity) {
  EXPECT_EQ(verdict("k 9 10 60 3"), "0 10 7");
  EXPECT_EQ(verdict("k 9 10 60 -1"), "0 10 8");
}

// throttlecrab saturates; numbers above 10^12 are an error here, and numbers up to it are exact.
TEST_F(PeerThrottlecrab, RefusesNumbersThatItSaturates) {
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  const std::string large = std::to_string(std::numeric_limits<std::int64_t>::max() / 1000);
  EXPECT_TRUE(ask("k 9 10 60 " + std::to_string(std::numeric_limits<std::int64_t>::max() / 2)).starts_with("-ERR qua"));
  EXPECT_TRUE(ask("k " + large + " 100 60").starts_with("-ERR max_burst"));
  EXPECT_TRUE(ask("k 9 " + large + " 60").starts_with("-ERR count"));
  EXPECT_TRUE(ask("k " + most + ' ' + most + ' ' + most).starts_with("-ERR max_burst"));
  EXPECT_EQ(verdict("k 999999999999 100 60"), "0 1000000000000 999999999999");
  EXPECT_EQ(verdict("tiny 0 1 1"), "0 1 0");
}

}  // namespace
}  // namespace weir::peers
