#include "base/tz_rule.h"

#include <gtest/gtest.h>

namespace weir::base {
namespace {

using namespace std::chrono;  // NOLINT: dates are unreadable without

sys_seconds utc(int y, unsigned m, unsigned d, int hour, int minute = 0) {
  return sys_days(year(y) / month(m) / day(d)) + hours(hour) + minutes(minute);
}

TEST(TzRule, ReadsTheChangesOfEurope) {
  const auto rule = TzRule::parse("CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_TRUE(rule && rule->changes());
  const auto changes = rule->of(year(2026));
  EXPECT_EQ(changes[0].at, utc(2026, 3, 29, 1));
  EXPECT_EQ(changes[0].offset, hours(2));
  EXPECT_EQ(changes[1].at, utc(2026, 10, 25, 1));
  EXPECT_EQ(changes[1].offset, hours(1));
}

TEST(TzRule, PutsTheChangesOfTheSouthInOrderOfTime) {
  const auto rule = TzRule::parse("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0");  // Lord Howe
  ASSERT_TRUE(rule && rule->changes());
  const auto changes = rule->of(year(2027));
  EXPECT_EQ(changes[0].at, utc(2027, 4, 3, 15));
  EXPECT_EQ(changes[0].offset, hours(10) + minutes(30));
  EXPECT_EQ(changes[1].at, utc(2027, 10, 2, 15, 30));
  EXPECT_EQ(changes[1].offset, hours(11));
}

TEST(TzRule, ReadsAnOffsetThatNeverChanges) {
  const auto rule = TzRule::parse("<-0930>9:30");
  ASSERT_TRUE(rule);
  EXPECT_FALSE(rule->changes());
  EXPECT_EQ(rule->offset(), -(hours(9) + minutes(30)));
}

TEST(TzRule, CountsDaysWithAndWithoutLeapDays) {
  const auto without = TzRule::parse("AAA0BBB,J60/0,J300/0");
  const auto with = TzRule::parse("AAA0BBB,60/0,300/0");
  ASSERT_TRUE(without && with);
  EXPECT_EQ(without->of(year(2027))[0].at, utc(2027, 3, 1, 0));
  EXPECT_EQ(without->of(year(2028))[0].at, utc(2028, 3, 1, 0));
  EXPECT_EQ(with->of(year(2027))[0].at, utc(2027, 3, 2, 0));
  EXPECT_EQ(with->of(year(2028))[0].at, utc(2028, 3, 1, 0));
}

TEST(TzRule, TakesHoursBeyondTheDay) {
  const auto rule = TzRule::parse("<-02>2<-01>,M3.5.0/-1,M10.5.0/25:30");  // Nuuk, and later
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->of(year(2026))[0].at, utc(2026, 3, 29, 1));
  EXPECT_EQ(rule->of(year(2026))[1].at, utc(2026, 10, 26, 2, 30));
}

TEST(TzRule, RefusesWhatIsNotOne) {
  for (const char* text : {"", "C-1", "CET", "CET-1CEST", "CET-1CEST,", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
                           "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0/3,x",
                           "CET-1CEST,J0,J1", "CET-1CEST,M3.5.0,366", "CET-168", "<CET-1", "CET-1:60", "CET--1",
                           "CET-1CEST,M-3.5.0,M10.5.0", "CET-99999999999999999999"}) {
    EXPECT_FALSE(TzRule::parse(text)) << text;
  }
}

}  // namespace
}  // namespace weir::base
