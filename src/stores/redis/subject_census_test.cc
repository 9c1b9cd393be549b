#include "stores/redis/subject_census.h"

#include <gtest/gtest.h>

#include <random>

namespace weir::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class CensusTest : public testing::Test {
 protected:
  static Charge charge(std::uint64_t low, std::uint32_t most = 0) {
    Charge charge;
    charge.key = {1, low};
    charge.rule = "r";
    charge.number = 7;
    charge.max_subjects = most;
    return charge;
  }
  void record(std::uint64_t count, std::uint32_t most = 0, Duration lifetime = minutes(1)) {
    for (std::uint64_t i = 0; i < count; ++i) census_.record(charge(random_(), most), lifetime, now_);
  }
  std::int64_t count() {
    const std::vector<SubjectCensus::Count> counts = census_.counts(now_);
    return counts.empty() ? 0 : counts[0].subjects;
  }

  std::mt19937_64 random_{20'261'118};
  SubjectCensus::Time now_{std::chrono::hours(1)};
  SubjectCensus census_;
};

TEST_F(CensusTest, CountsFewSubjectsExactlyAndManyWithinAFewPerCent) {
  record(1'000);
  EXPECT_EQ(count(), 1'000);
  record(99'000);
  EXPECT_NEAR(static_cast<double>(count()), 100'000, 15'000);
  now_ += minutes(1);
  EXPECT_EQ(count(), 0);
}

TEST_F(CensusTest, ASubjectThatIsChargedAgainCountsOnce) {
  for (int i = 0; i < 100; ++i) census_.record(charge(5), minutes(1), now_);
  EXPECT_EQ(count(), 1);
}

TEST_F(CensusTest, AfterManySubjectsFewAreCountedFinelyAgain) {
  record(50'000);
  now_ += minutes(2);
  std::vector<std::uint64_t> few(200);
  for (std::uint64_t& id : few) id = random_();
  for (int step = 0; step < 600; ++step) {
    now_ += seconds(1);
    for (const std::uint64_t id : few) census_.record(charge(id), minutes(1), now_);
    // Never half of them only, while the sample becomes finer.
    if (step > 90) {
      EXPECT_GT(count(), 20) << step;
    }
  }
  EXPECT_EQ(count(), 200);
}

TEST_F(CensusTest, TellsASixteenthOfTheBoundAtOnceAndElseEverySecond) {
  EXPECT_TRUE(census_.look(charge(0, 160), now_).due) << "what the other nodes know";
  EXPECT_FALSE(census_.look(charge(0, 160), now_).due) << "under way";
  EXPECT_TRUE(census_.news(7, now_).subjects.empty());
  census_.told(7, 0, now_);
  record(9, 160);
  EXPECT_FALSE(census_.look(charge(0, 160), now_).due);
  record(1, 160);
  EXPECT_TRUE(census_.look(charge(0, 160), now_).due);
  const SubjectCensus::News news = census_.news(7, now_);
  EXPECT_EQ(news.subjects.size(), 10U);
  EXPECT_EQ(news.rule, "r");
  EXPECT_EQ(news.subjects[0].lives_us, 67'500'000) << "a minute and an eighth";
  census_.told(7, 159, now_);
  EXPECT_FALSE(census_.look(charge(0, 160), now_).full);
  now_ += seconds(1);
  EXPECT_TRUE(census_.look(charge(0, 160), now_).due);
  census_.news(7, now_);
  census_.told(7, 160, now_);
  EXPECT_TRUE(census_.look(charge(0, 160), now_).full);
  EXPECT_EQ(count(), 160);
  EXPECT_FALSE(census_.look(charge(0, 161), now_).full) << "a bound that was raised";
}

TEST_F(CensusTest, SamplesALargeRuleAtAFixedRate) {
  constexpr std::uint32_t kMost = 100'000;
  census_.look(charge(0, kMost), now_);
  record(kMost, kMost);
  const SubjectCensus::News news = census_.news(7, now_);
  EXPECT_EQ(news.level, 5U);
  const double seen = static_cast<double>(news.subjects.size()) * 32;
  EXPECT_NEAR(seen, kMost, kMost * 0.08) << "4 standard errors";
  for (const auto& each : news.subjects) EXPECT_EQ(each.id % 32, 0U);
  census_.told(7, 3'125, now_);
  EXPECT_TRUE(census_.look(charge(0, kMost), now_).full);
}

TEST_F(CensusTest, AFailedExchangeIsTriedAgainASecondLaterWithAll) {
  census_.look(charge(0, 16), now_);
  record(5, 16);
  EXPECT_EQ(census_.news(7, now_).subjects.size(), 5U);
  census_.failed(7, now_);
  EXPECT_EQ(census_.failures(), 1U);
  EXPECT_FALSE(census_.look(charge(0, 16), now_ + milliseconds(999)).due);
  EXPECT_TRUE(census_.look(charge(0, 16), now_ + seconds(1)).due);
}

}  // namespace
}  // namespace weir::redis
