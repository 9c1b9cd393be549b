#include "server/background_tasks.h"

#include <gtest/gtest.h>

#include <future>

namespace weir::server {
namespace {

TEST(BackgroundTasks, RunsEachTaskAgainAndAgainUntilStopped) {
  BackgroundTasks tasks;
  std::promise<void> third_run;
  int quick = 0;
  int slow = 0;
  tasks.add(std::chrono::milliseconds(1), [&] {
    if (++quick == 3) third_run.set_value();
  });
  tasks.add(std::chrono::hours(1), [&] { ++slow; });
  EXPECT_EQ(quick, 0) << "nothing runs before the start";
  tasks.start();
  third_run.get_future().wait();
  tasks.stop();
  const int ran = quick;
  EXPECT_GE(ran, 3);
  EXPECT_EQ(slow, 0) << "the first run comes one period after the start";
  tasks.stop();
  EXPECT_EQ(quick, ran);
}

TEST(BackgroundTasks, MayEndWithoutEverStarting) {
  BackgroundTasks tasks;
  tasks.add(std::chrono::seconds(1), [] {});
}

}  // namespace
}  // namespace weir::server
