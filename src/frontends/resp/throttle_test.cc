// CL.THROTTLE on the real engine, with a clock of our own.
#include "frontends/resp/throttle.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "frontends/resp/resp_protocol.h"
#include "tests/support/late_limiter.h"
#include "tests/support/recording_link.h"

namespace weir::resp {
namespace {

class ThrottleTest : public testing::Test {
 protected:
  ThrottleTest() {
    LimiterOptions options;
    options.clock = clock_;
    Result<std::unique_ptr<Limiter>> made = Limiter::create({}, options);
    limiter_ = std::move(made).value();
    protocol_ = std::make_unique<RespProtocol>(link_, *limiter_, options_, 1);
  }

  // "0 5 4 -1 1" for an array of integers, the error's text for an error.
  std::string ask(const std::string& line) {
    EXPECT_EQ(protocol_->on_bytes(line + "\r\n"), line.size() + 2);
    const std::string reply = link_.take();
    if (!reply.starts_with("*5\r\n")) return reply.substr(0, reply.find('\r'));
    std::string plain;
    for (const char c : reply.substr(4)) {
      if (c == '\n') plain += ' ';
      if (c != ':' && c != '\r' && c != '\n') plain += c;
    }
    plain.pop_back();
    return plain;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::unique_ptr<Limiter> limiter_;
  RespOptions options_;
  transport::RecordingLink link_;
  std::unique_ptr<RespProtocol> protocol_;
};

TEST_F(ThrottleTest, AnswersFiveIntegersAsRedisCellDoes) {
  EXPECT_EQ(ask("CL.THROTTLE k 0 1 2 1"), "0 1 0 -1 2");
  EXPECT_EQ(ask("CL.THROTTLE k 0 1 2 1"), "1 1 0 2 2");
  clock_->advance(std::chrono::seconds(2));
  EXPECT_EQ(ask("CL.THROTTLE k 0 1 2 1"), "0 1 0 -1 2");
}

TEST_F(ThrottleTest, CountsDownABurstAndRefillsIt) {
  EXPECT_EQ(ask("cl.throttle user123 15 30 60"), "0 16 15 -1 2");
  EXPECT_EQ(ask("cl.throttle user123 15 30 60 1"), "0 16 14 -1 4");
  EXPECT_EQ(ask("cl.throttle user123 15 30 60 14"), "0 16 0 -1 32");
  EXPECT_EQ(ask("cl.throttle user123 15 30 60"), "1 16 0 2 32");
  clock_->advance(std::chrono::seconds(2));
  EXPECT_EQ(ask("cl.throttle user123 15 30 60"), "0 16 0 -1 32");
}

TEST_F(ThrottleTest, RefusesAQuantityThatNeverFitsAndChangesNothing) {
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 6"), "1 5 5 -1 0");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 5"), "0 5 0 -1 5");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 6"), "1 5 0 -1 5");
}

TEST_F(ThrottleTest, PeeksWithQuantityZero) {
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 0"), "0 5 5 -1 0");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 5"), "0 5 0 -1 5");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 0"), "0 5 0 -1 5");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 0"), "0 5 0 -1 5");
}

TEST_F(ThrottleTest, GivesBackANegativeQuantityAndNeverMoreThanFull) {
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 5"), "0 5 0 -1 5");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 -2"), "0 5 2 -1 3");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 -1000000000000"), "0 5 5 -1 0");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 5"), "0 5 0 -1 5");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1"), "1 5 0 1 5");
  EXPECT_EQ(ask("CL.THROTTLE fresh 4 1 1 -1"), "0 5 5 -1 0");
}

TEST_F(ThrottleTest, RoundsSecondsUpFromOneMillisecondOn) {
  EXPECT_EQ(ask("CL.THROTTLE k 0 1 2"), "0 1 0 -1 2");
  clock_->advance(std::chrono::microseconds(999'001));  // 1 s and 999 µs are left
  EXPECT_EQ(ask("CL.THROTTLE k 0 1 2"), "1 1 0 1 1");
  EXPECT_EQ(ask("CL.THROTTLE other 0 1 2"), "0 1 0 -1 2");
  clock_->advance(std::chrono::microseconds(999'000));  // 1 s and 1 ms are left
  EXPECT_EQ(ask("CL.THROTTLE other 0 1 2"), "1 1 0 2 2");
}

// A denial that says "retry in 0 s" would be a lie.
TEST_F(ThrottleTest, NeverTellsADeniedCallerToRetryAtOnce) {
  EXPECT_EQ(ask("CL.THROTTLE k 0 2000 1"), "0 1 0 -1 0");
  EXPECT_EQ(ask("CL.THROTTLE k 0 2000 1"), "1 1 0 1 0");
}

// The defect of redis-cell: intervals under a millisecond never accumulate there.
TEST_F(ThrottleTest, AccumulatesIntervalsUnderAMillisecond) {
  for (int i = 0; i < 6001; ++i) ASSERT_EQ(ask("CL.THROTTLE k 6000 6000 1")[0], '0') << i;
  EXPECT_EQ(ask("CL.THROTTLE k 6000 6000 1").substr(0, 8), "1 6001 0");
}

// The other: intervals under a microsecond give a remaining of INT64_MAX there.
TEST_F(ThrottleTest, CountsIntervalsUnderAMicrosecond) {
  EXPECT_EQ(ask("CL.THROTTLE k 9 10000000 1 10"), "0 10 0 -1 0");
  EXPECT_EQ(ask("CL.THROTTLE k 9 10000000 1 5").substr(0, 6), "1 10 0");
  clock_->advance(std::chrono::microseconds(1));
  EXPECT_EQ(ask("CL.THROTTLE k 9 10000000 1 0").substr(0, 7), "0 10 10");
}

TEST_F(ThrottleTest, DoesNotGrowAfterIdleness) {
  EXPECT_EQ(ask("CL.THROTTLE k 9 1 1 10"), "0 10 0 -1 10");
  clock_->advance(std::chrono::seconds(1000));
  EXPECT_EQ(ask("CL.THROTTLE k 9 1 1 10"), "0 10 0 -1 10");
  EXPECT_EQ(ask("CL.THROTTLE k 9 1 1 1"), "1 10 0 1 10");
}

TEST_F(ThrottleTest, KeepsStateWhenTheTermsChange) {
  EXPECT_EQ(ask("CL.THROTTLE k 9 1 1 10"), "0 10 0 -1 10");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1 1").substr(0, 5), "1 5 0");
}

TEST_F(ThrottleTest, NamesTheArgumentThatIsWrong) {
  struct Case {
    std::string line;
    std::string beginning;
  };
  const std::vector<Case> cases = {
      {"CL.THROTTLE", "-ERR wrong number of arguments for 'cl.throttle' command: key is missing"},
      {"CL.THROTTLE k", "-ERR wrong number of arguments for 'cl.throttle' command: max_burst is missing"},
      {"CL.THROTTLE k 1", "-ERR wrong number of arguments for 'cl.throttle' command: count is missing"},
      {"CL.THROTTLE k 1 1", "-ERR wrong number of arguments for 'cl.throttle' command: period is missing"},
      {"CL.THROTTLE k 1 1 1 1 1", "-ERR wrong number of arguments for 'cl.throttle' command: unexpected argument"},
      {"CL.THROTTLE k x 1 1", "-ERR max_burst: is 'x', expected an integer from 0 to 999999999999"},
      {"CL.THROTTLE k -1 1 1", "-ERR max_burst: is '-1'"},
      {"CL.THROTTLE k 9223372036854775807 1 1", "-ERR max_burst: is '9223372036854775807'"},
      {"CL.THROTTLE k 1 0 1", "-ERR count: is '0', expected an integer from 1 "},
      {"CL.THROTTLE k 1 -5 1", "-ERR count: is '-5'"},
      {"CL.THROTTLE k 1 1.5 1", "-ERR count: is '1.5'"},
      {"CL.THROTTLE k 1 1 0", "-ERR period: is '0'"},
      {"CL.THROTTLE k 1 1 9223372036854775808", "-ERR period: is '9223372036854775808'"},
      {"CL.THROTTLE k 1 1 1 -1000000000001",
       "-ERR quantity: is '-1000000000001', expected an integer from -1000000000000 "},
      {"CL.THROTTLE k 1 1 1 -9223372036854775808", "-ERR quantity: is '-9223372036854775808'"},
      {"CL.THROTTLE k 1 1 1 99999999999999999999", "-ERR quantity: is '99999999999999999999'"},
      {"CL.THROTTLE k 1 1 1 ''", "-ERR quantity: is ''"},
      {"CL.THROTTLE k 999999999999 1 316224000", "-ERR max_burst: with one more unit: is 1000000000000, expected at "},
      {"CL.THROTTLE " + std::string(4097, 'k') + " 1 1 1", "-ERR key: is longer than 4096 bytes"},
  };
  for (const Case& c : cases) EXPECT_EQ(ask(c.line).substr(0, c.beginning.size()), c.beginning) << c.line;
  EXPECT_FALSE(link_.closed());
}

TEST_F(ThrottleTest, NeverTakesEmptyTermsForThoseOfTheLastCommand) {
  EXPECT_EQ(ask("CL.THROTTLE k '' '' ''").substr(0, 23), "-ERR max_burst: is '', ");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1"), "0 5 4 -1 1");
  EXPECT_EQ(ask("CL.THROTTLE k 4 x 1").substr(0, 20), "-ERR count: is 'x', ");
  EXPECT_EQ(ask("CL.THROTTLE k 4 1 1"), "0 5 3 -1 2");
  EXPECT_EQ(ask("CL.THROTTLE k '' '' ''").substr(0, 23), "-ERR max_burst: is '', ");
}

TEST_F(ThrottleTest, SaysSoWhenTheStoreDoesNotAnswer) {
  LateLimiter late;
  RespProtocol protocol(link_, late, options_, 2);
  protocol.on_bytes("CL.THROTTLE a 1 1 1\r\nCL.THROTTLE b 1 1 1\r\n");
  ChargeOutcome outcome;
  outcome.status = Code::deadline_exceeded;
  late.answer(0, outcome);
  EXPECT_EQ(link_.take(), "-UNAVAILABLE the store did not answer\r\n");
  outcome.status = Code::resource_exhausted;
  late.answer(1, outcome);
  EXPECT_EQ(link_.take(), "-UNAVAILABLE the store has no room for this bucket\r\n");
}

}  // namespace
}  // namespace weir::resp
