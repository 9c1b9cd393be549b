// Answers that no script can give: an error of that bucket, counted, reported, and never passed on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <limits>

#include "stores/redis/encoding.h"
#include "tests/redis/fake_server.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

class AnswerFault : public ::testing::Test {
 protected:
  AnswerFault() { server_.release_all(); }
  std::uint64_t failures(FailureKind kind) { return harness_.store().stats().failures[static_cast<std::size_t>(kind)]; }

  FakeServer server_;
  StoreHarness harness_{server_.url(), seconds(10)};
  const Allowance allowance_ = allowance_of(Algorithm::token_bucket, 10, hours(1));
  const Charge charge_ = charge_of(allowance_, 1);
};

TEST_F(AnswerFault, NumbersOutOfRangeAreAnErrorOfThatBucket) {
  const std::string wrong[] = {
      outcome_text(1, kLeast),  // what Lua's NaN and infinity become
      outcome_text(1, -1),
      outcome_text(1, 11),  // more than the bucket can hold
      outcome_text(3, 0),   // no verdict
      outcome_text(-1, 0),
      outcome_text(0, 0, -5),
      outcome_text(0, 0, kLeast),
      outcome_text(0, 0, 5, -1),
      outcome_text(1, 0, 0, 0, -1),
      outcome_text(0, 0, (std::int64_t{1} << 53) + 1),
      "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
      "*6\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
      "*5\r\n:1\r\n$1\r\n1\r\n:1\r\n:1\r\n:1\r\n",
      "$2\r\nOK\r\n",
      ":1\r\n",
      "$-1\r\n",
      "*-1\r\n",
      "*0\r\n",
  };
  for (const std::string& answer : wrong) {
    server_.set_answer(answer);
    TestCall call(Action::take, {charge_});
    harness_.run(call);
    EXPECT_EQ(call.status, Code::unavailable) << answer;
  }
  EXPECT_EQ(failures(FailureKind::bucket), std::size(wrong));
  EXPECT_TRUE(harness_.changes.empty()) << "the server itself is in order";
  ASSERT_EQ(harness_.bad_buckets.size(), 1U) << "told at most once a second";
  EXPECT_THAT(harness_.bad_buckets[0], StartsWith(bucket_name(charge_) + ": "));

  server_.set_answer(outcome_text(1, 10));
  TestCall good(Action::take, {charge_});
  harness_.run(good);
  EXPECT_EQ(good.status, Code::ok);
  EXPECT_EQ(harness_.store().stats().connects, 1U);
}

TEST_F(AnswerFault, OfSeveralBucketsTheOneThatIsWrongIsNamed) {
  const Charge other = charge_of(allowance_, 2);
  server_.set_answer("*10\r\n:1\r\n:1\r\n:0\r\n:0\r\n:0\r\n:1\r\n:-1\r\n:0\r\n:0\r\n:0\r\n");
  TestCall call(Action::take, {charge_, other});
  harness_.run(call);
  EXPECT_EQ(call.status, Code::unavailable);
  ASSERT_EQ(harness_.bad_buckets.size(), 1U);
  EXPECT_THAT(harness_.bad_buckets[0], StartsWith(bucket_name(other)));
}

TEST_F(AnswerFault, AnErrorInTheScriptIsThatBucketsOwn) {
  server_.set_answer("-ERR user_script:7: attempt to index a nil value script: 00, on @user_script:7.\r\n");
  for (int i = 0; i < 10; ++i) {
    TestCall call(Action::take, {charge_});
    harness_.run(call);
    EXPECT_EQ(call.status, Code::unavailable);
  }
  EXPECT_TRUE(harness_.changes.empty());
  ASSERT_EQ(harness_.bad_buckets.size(), 1U);
  EXPECT_THAT(harness_.bad_buckets[0], HasSubstr("attempt to index a nil value"));
}

TEST_F(AnswerFault, AnErrorOfTheServerOpensTheBreakerAndSaysWhatTheServerSaid) {
  server_.set_answer("-ERR unknown command 'EVALSHA', with args beginning with: 'x'\r\n");
  for (int i = 0; i < 3; ++i) {
    TestCall call(Action::take, {charge_});
    harness_.run(call);
    EXPECT_EQ(call.status, Code::unavailable);
  }
  ASSERT_EQ(harness_.changes.size(), 1U);
  EXPECT_EQ(harness_.changes[0].state, BreakerState::open);
  EXPECT_EQ(harness_.changes[0].trouble.cause, Cause::other);
  EXPECT_THAT(harness_.changes[0].trouble.said, HasSubstr("unknown command"));
  EXPECT_EQ(failures(FailureKind::other), 3U);
  // Another failure in the meantime is reported as well: probes see it.
  server_.set_answer("-NOPERM this user has no permissions to run the 'evalsha' command\r\n");
  harness_.run_until("the probe finds out", [&] { return harness_.changes.size() > 1; });
  EXPECT_EQ(harness_.changes[1].state, BreakerState::open);
  EXPECT_EQ(harness_.changes[1].trouble.cause, Cause::permission);
  EXPECT_EQ(harness_.store().stats().breaker(), BreakerState::open) << "the probe is over";
  server_.set_answer(outcome_text(1, 10));
  harness_.run_until("the breaker closes", [&] { return harness_.changes.size() > 2; });
  EXPECT_EQ(harness_.changes[2].state, BreakerState::closed);
  EXPECT_EQ(harness_.store().stats().probes_under_way, 0U);
}

}  // namespace
}  // namespace weir::redis::testing
