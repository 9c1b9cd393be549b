#include "server/snapshot_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/contract/calls.h"
#include "tests/support/log_file.h"

namespace weir::server {
namespace {

using contract::allowance_of;
using contract::ask;
using contract::charge_of;
using contract::spread_key;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class SnapshotKeeperTest : public testing::Test {
 protected:
  SnapshotKeeperTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-snapshot-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SnapshotKeeperTest() override { std::filesystem::remove_all(folder_); }

  // Three buckets of one window, used at `when`, saved, and loaded now.
  void restart_after_use_at(TimePoint when) {
    memory::MemoryStore before;
    for (std::uint64_t i = 0; i < 3; ++i) ask(before, Action::take, when, charge_of(spread_key(i), allowance_, 5));
    SnapshotFile(before, folder_ / "snapshot", keys_, log_.log()).save();
    SnapshotFile after(store_, folder_ / "snapshot", keys_, log_.log());
    EXPECT_TRUE(after.load(clock_.now()).ok());
  }

  const Allowance allowance_ = allowance_of(Algorithm::sliding_log, 5, std::chrono::minutes(10));
  const keys::KeyRing keys_;
  ManualClock clock_;
  LogFile log_{clock_};
  memory::MemoryStore store_;
  std::filesystem::path folder_;
};

TEST_F(SnapshotKeeperTest, WarnsOfASnapshotFromTheFutureAndHonoursItForOneWindow) {
  restart_after_use_at(clock_.now() + hours(24 * 400));
  EXPECT_THAT(log_.text(), HasSubstr("\"level\":\"warn\",\"event\":\"snapshot_from_future\""));
  EXPECT_THAT(log_.text(), HasSubstr("\"buckets\":3,\"farthest_ahead_ms\":34560000000"));
  const Charge charge = charge_of(spread_key(1), allowance_);
  const ChargeOutcome denied = ask(store_, Action::take, clock_.now(), charge);
  EXPECT_FALSE(denied.admitted) << "what was used is used";
  EXPECT_EQ(denied.retry_after, std::chrono::minutes(10));
  clock_.advance(denied.retry_after);
  EXPECT_TRUE(ask(store_, Action::take, clock_.now(), charge).admitted);
}

TEST_F(SnapshotKeeperTest, ADifferenceOfLessThanASecondIsNoNews) {
  restart_after_use_at(clock_.now() + milliseconds(999));
  EXPECT_THAT(log_.text(), Not(HasSubstr("snapshot_from_future")));
  EXPECT_THAT(log_.text(), HasSubstr("\"loaded\":3,\"idle\":0,\"no_room\":0,\"moved_back\":3"));
}

TEST_F(SnapshotKeeperTest, ASnapshotOfThePastIsAsItWas) {
  restart_after_use_at(clock_.now() - seconds(200));
  EXPECT_THAT(log_.text(), HasSubstr("\"loaded\":3,\"idle\":0,\"no_room\":0,\"moved_back\":0"));
  EXPECT_EQ(ask(store_, Action::peek, clock_.now(), charge_of(spread_key(1), allowance_)).retry_after, seconds(400));
}

}  // namespace
}  // namespace weir::server
