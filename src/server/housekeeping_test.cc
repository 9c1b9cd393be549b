#include "server/housekeeping.h"

#include <gtest/gtest.h>

#include <future>

namespace weir::server {
namespace {

TEST(Housekeeping, RunsEachTaskAgainAndAgainUntilStopped) {
  Housekeeping housekeeping;
  std::promise<void> third_run;
  int quick = 0;
  int slow = 0;
  housekeeping.add(std::chrono::milliseconds(1), [&] {
    if (++quick == 3) third_run.set_value();
  });
  housekeeping.add(std::chrono::hours(1), [&] { ++slow; });
  EXPECT_EQ(quick, 0) << "nothing runs before the start";
  housekeeping.start();
  third_run.get_future().wait();
  housekeeping.stop();
  const int ran = quick;
  EXPECT_GE(ran, 3);
  EXPECT_EQ(slow, 0) << "the first run comes one period after the start";
  housekeeping.stop();
  EXPECT_EQ(quick, ran);
}

TEST(Housekeeping, MayEndWithoutEverStarting) {
  Housekeeping housekeeping;
  housekeeping.add(std::chrono::seconds(1), [] {});
}

}  // namespace
}  // namespace weir::server
