// The wall clock of a real redis-server is set an hour forward and back under its buckets. Time in a
// bucket is monotone, so nothing is refilled twice.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "stores/redis/encoding.h"
#include "tests/contract/calls.h"
#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;

constexpr std::int64_t kLimit = 20;
constexpr Duration kWindow = hours(1);

// A file that the shim reads. In the middle of an aligned window to begin with, so that none begins during a test.
class SteppedClock {
 public:
  SteppedClock() : path_(folder_.path() / "offset") {
    const auto real = std::chrono::system_clock::now().time_since_epoch();
    base_ = minutes(30) - std::chrono::duration_cast<microseconds>(real) % kWindow;
    set(Duration::zero());
  }
  // Relative to where the clock was at first.
  void set(Duration step) {
    const std::int64_t offset = (base_ + step).count();
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    if (!file) file.open(path_, std::ios::binary | std::ios::out);
    file.write(reinterpret_cast<const char*>(&offset), sizeof offset);
  }
  ServerSetup setup() const {
    ServerSetup setup;
    setup.before = {"env", "LD_PRELOAD=" WEIR_CLOCK_SHIM_LIBRARY, "WEIR_CLOCK_SHIM=" + path_.string()};
    return setup;
  }

 private:
  TempFolder folder_;
  std::filesystem::path path_;
  microseconds base_{0};
};

class ClockTest : public ::testing::TestWithParam<Algorithm> {
 protected:
  std::int64_t admitted_of(const Charge& charge, std::int64_t tries) {
    std::int64_t admitted = 0;
    for (std::int64_t i = 0; i < tries; ++i) admitted += harness_.take(charge) ? 1 : 0;
    return admitted;
  }
  std::int64_t server_seconds() { return std::stoll(server_.ask({"TIME"})); }

  SteppedClock clock_;
  RedisServer server_{clock_.setup()};
  StoreHarness harness_{server_.url()};
  const Allowance allowance_ = contract::allowance_of(GetParam(), kLimit, kWindow);
};

TEST_P(ClockTest, StepsOfAnHourRefillNothingTwice) {
  const Charge charge = charge_of(allowance_, 1);
  harness_.settle(charge);
  const std::int64_t began = server_seconds();
  ASSERT_EQ(admitted_of(charge, 3 * kLimit), kLimit);

  clock_.set(-hours(1));
  ASSERT_LT(server_seconds(), began) << "the step is real";
  EXPECT_EQ(admitted_of(charge, 3 * kLimit), 0);
  TestCall look(Action::peek, {charge});
  harness_.run(look);
  EXPECT_GT(look.outcomes[0].retry_after, Duration(hours(1))) << "the wait tells how far the clock is behind";
  clock_.set(Duration::zero());
  EXPECT_EQ(admitted_of(charge, 3 * kLimit), 0);

  clock_.set(hours(1));
  ASSERT_GE(server_seconds(), began + 3600);
  const std::int64_t an_hour_later = admitted_of(charge, 3 * kLimit);
  EXPECT_GT(an_hour_later, 0) << "the server's clock is believed";
  EXPECT_LE(an_hour_later, kLimit);

  for (const Duration step : {Duration::zero(), Duration(-hours(1)), Duration(hours(1)), Duration::zero()}) {
    clock_.set(step);
    EXPECT_EQ(admitted_of(charge, 3 * kLimit), 0) << "this hour has been given already";
  }
}

// The documented bound of a step forward: the bucket is forgotten, because by that clock its time is up.
TEST_P(ClockTest, AStepForwardAndBackGivesAtMostOneMoreLimit) {
  const Charge charge = charge_of(allowance_, 2);
  harness_.settle(charge);
  ASSERT_EQ(admitted_of(charge, 3 * kLimit), kLimit);
  clock_.set(hours(4));
  ASSERT_EQ(server_.ask({"EXISTS", bucket_name(charge)}), "0");
  clock_.set(Duration::zero());
  EXPECT_LE(admitted_of(charge, 5 * kLimit), kLimit);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ClockTest, ::testing::ValuesIn(contract::all_algorithms()),
                         [](const auto& tested) {
                           std::string name(algorithm_name(tested.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weir::redis::testing
