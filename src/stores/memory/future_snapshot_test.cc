// A snapshot written under a clock that was ahead: what was used stays used, and for no longer than it could be if it
// had been used when the snapshot is loaded.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "stores/memory/snapshot.h"
#include "tests/contract/calls.h"

namespace weir::memory {
namespace {

using contract::all_algorithms;
using contract::allowance_of;
using contract::ask;
using contract::charge_of;
using contract::spread_key;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SnapshotKeyId kKeyId = {7};
constexpr Duration kWindow = seconds(600);
constexpr std::uint64_t kSubjects = 40;

std::string test_name(const testing::TestParamInfo<Algorithm>& tested) {
  std::string name(algorithm_name(tested.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class FutureSnapshot : public testing::TestWithParam<Algorithm> {
 protected:
  FutureSnapshot() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-future-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FutureSnapshot() override { std::filesystem::remove_all(folder_); }

  Charge charge(std::uint64_t subject, std::int64_t cost) const {
    return charge_of(spread_key(subject), allowance_, cost);
  }

  struct LastChange {
    TimePoint at;
    std::int64_t remaining = 0;
    Duration reset_after{0};
  };

  // Each subject takes and gives back a few times in the two windows before `now`, ends with a take, and tells where it
  // stood after that.
  std::vector<LastChange> use(MemoryStore& store, TimePoint now) {
    std::vector<LastChange> last(kSubjects);
    for (std::uint64_t subject = 0; subject < kSubjects; ++subject) {
      TimePoint at = now - 2 * kWindow;
      for (const Duration step : {kWindow / 2, kWindow / 2, kWindow / 3, kWindow / 3, kWindow / 4}) {
        at += Duration(static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(step.count())));
        ask(store, Action::take, at, charge(subject, static_cast<std::int64_t>(1 + random_() % 5)));
        if (random_() % 4 == 0) ask(store, Action::refund, at, charge(subject, 2));
        at += milliseconds(1);
        const ChargeOutcome outcome = ask(store, Action::take, at, charge(subject, 1));
        if (!outcome.admitted) continue;
        last[subject] = {at, outcome.remaining, outcome.reset_after};
      }
    }
    return last;
  }

  LoadReport restart(MemoryStore& before, MemoryStore& after, TimePoint now) {
    EXPECT_TRUE(save_snapshot(before, folder_ / "snapshot", kKeyId).ok());
    const Result<LoadReport> loaded = load_snapshot(after, folder_ / "snapshot", kKeyId, now);
    EXPECT_TRUE(loaded.ok());
    return loaded.ok() ? loaded.value() : LoadReport{};
  }

  const Allowance allowance_ = allowance_of(GetParam(), 20, kWindow);
  std::mt19937_64 random_{20'261'118};
  std::filesystem::path folder_;
};
INSTANTIATE_TEST_SUITE_P(Memory, FutureSnapshot, testing::ValuesIn(all_algorithms()), test_name);

TEST_P(FutureSnapshot, RestrictsAsIfItsLastChangesHadBeenMadeWhenItIsLoaded) {
  const TimePoint now = from_micros(1'800'000'123'456'789);
  for (const Duration ahead : {Duration(hours(2)), Duration(hours(24 * 400)), Duration(microseconds(1'200'000'001))}) {
    MemoryStore before;
    const std::vector<LastChange> last = use(before, now + ahead);
    MemoryStore after;
    const LoadReport report = restart(before, after, now);
    EXPECT_EQ(report.loaded, kSubjects);
    EXPECT_EQ(report.moved_back, kSubjects);
    EXPECT_LE(report.farthest_ahead, ahead);
    EXPECT_GT(report.farthest_ahead, ahead - 2 * kWindow);
    Duration longest{0};
    for (std::uint64_t subject = 0; subject < kSubjects; ++subject) {
      const ChargeOutcome state = ask(after, Action::peek, now, charge(subject, 0));
      EXPECT_LE(state.remaining, last[subject].remaining) << "nothing that was used is forgotten";
      EXPECT_GT(state.reset_after.count(), 0);
      // Aligned sub-buckets are let go when one ends, which may be one later.
      const Duration slack = GetParam() == Algorithm::bucketed_window ? kWindow / 10 : Duration(0);
      EXPECT_LE(state.reset_after, last[subject].reset_after + slack);
      longest = std::max(longest, last[subject].reset_after + slack);
      const ChargeOutcome denied = ask(after, Action::peek, now, charge(subject, 20));
      // A leaky bucket lets a request of any size join while the wait is short enough.
      EXPECT_TRUE(!denied.admitted || GetParam() == Algorithm::leaky_bucket);
      EXPECT_TRUE(ask(after, Action::peek, now + denied.retry_after, charge(subject, 20)).admitted);
    }
    EXPECT_LE(longest, 2 * kWindow) << "what a bucket of today could restrict";
    EXPECT_EQ(after.sweep(now, 1'000'000), 0u);
    after.sweep(now + longest, 1'000'000);
    EXPECT_EQ(after.stats().keys, 0u);
  }
}

// Most algorithms do not depend on where a window begins, and answer exactly as they would have.
TEST_P(FutureSnapshot, AnswersAsItWouldHaveUnderItsOwnClock) {
  const bool aligned = GetParam() == Algorithm::fixed_window || GetParam() == Algorithm::bucketed_window ||
                       GetParam() == Algorithm::sliding_counter;
  // Shifted by a multiple of the window, aligned windows are the same too, except that two counts have become one.
  const Duration ahead = aligned ? 6 * 24 * 400 * kWindow : Duration(hours(24 * 400)) + microseconds(7'654'321);
  const TimePoint now = from_micros(1'800'000'123'456'789);
  MemoryStore before;
  for (std::uint64_t subject = 0; subject < kSubjects; ++subject) {
    for (const Duration back : {kWindow / 2, kWindow / 5, Duration(0)}) {
      const std::int64_t cost = static_cast<std::int64_t>(1 + random_() % 8);
      ask(before, Action::take, now + ahead - back, charge(subject, cost));
    }
    ask(before, Action::refund, now + ahead, charge(subject, 1));
  }
  MemoryStore after;
  restart(before, after, now);
  for (std::uint64_t subject = 0; subject < kSubjects; ++subject) {
    for (const Duration later : {Duration(0), kWindow / 7, kWindow / 2, kWindow}) {
      const std::int64_t cost = static_cast<std::int64_t>(random_() % 20);
      const ChargeOutcome expected = ask(before, Action::peek, now + ahead + later, charge(subject, cost));
      const ChargeOutcome got = ask(after, Action::peek, now + later, charge(subject, cost));
      if (GetParam() == Algorithm::sliding_counter) {
        EXPECT_LE(got.remaining, expected.remaining);
        continue;
      }
      EXPECT_EQ(got.admitted, expected.admitted);
      EXPECT_EQ(got.remaining, expected.remaining);
      EXPECT_EQ(got.retry_after, expected.retry_after);
      EXPECT_EQ(got.reset_after, expected.reset_after);
    }
  }
}

TEST_P(FutureSnapshot, ABucketThatIsNotAheadIsLeftAsItIs) {
  const TimePoint now = from_micros(1'800'000'123'456'789);
  MemoryStore before;
  ASSERT_TRUE(ask(before, Action::take, now, charge(1, 7)).admitted);
  ASSERT_TRUE(ask(before, Action::take, now + microseconds(1), charge(2, 7)).admitted);
  MemoryStore after;
  const LoadReport report = restart(before, after, now);
  EXPECT_EQ(report.loaded, 2u);
  EXPECT_EQ(report.moved_back, 1u);
  EXPECT_EQ(report.farthest_ahead, microseconds(1));
  const ChargeOutcome expected = ask(before, Action::peek, now, charge(1, 3));
  const ChargeOutcome got = ask(after, Action::peek, now, charge(1, 3));
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace weir::memory
