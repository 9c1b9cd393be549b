#include "ledger/period.h"

#include <gtest/gtest.h>

namespace weir::ledger {
namespace {

using namespace std::chrono;  // NOLINT: dates are unreadable without

TimePoint utc(int y, unsigned m, unsigned d, int hour = 0, int minute = 0) {
  return sys_days(year(y) / month(m) / day(d)) + hours(hour) + minutes(minute);
}

Calendar calendar(PeriodRule rule, std::string_view zone_name = "UTC") {
  const auto zone = base::TimeZone::load(zone_name);
  EXPECT_TRUE(zone.ok()) << zone.failure().message;
  const auto made = Calendar::make(rule, zone.value());
  EXPECT_TRUE(made.ok()) << made.failure().message;
  return made.value();
}

void expect_period(const Calendar& of, TimePoint at, TimePoint begins, TimePoint ends, std::string_view label) {
  const Period period = of.at(at);
  EXPECT_EQ(micros(period.begins), micros(begins)) << label;
  EXPECT_EQ(micros(period.ends), micros(ends)) << label;
  EXPECT_EQ(period_label(of.rule(), period), label);
}

TEST(Period, MonthsBeginOnTheFirstUnlessToldOtherwise) {
  const Calendar months = calendar({PeriodUnit::month, 1});
  expect_period(months, utc(2026, 2, 28, 23, 59), utc(2026, 2, 1), utc(2026, 3, 1), "2026-02");
  expect_period(months, utc(2026, 3, 1), utc(2026, 3, 1), utc(2026, 4, 1), "2026-03");
  expect_period(months, utc(2025, 12, 31, 23, 59), utc(2025, 12, 1), utc(2026, 1, 1), "2025-12");
}

TEST(Period, AnAnchorDayThatAMonthDoesNotHaveIsItsLastDayInThatMonthOnly) {
  const Calendar months = calendar({PeriodUnit::month, 31});
  expect_period(months, utc(2027, 2, 27), utc(2027, 1, 31), utc(2027, 2, 28), "2027-01");
  expect_period(months, utc(2027, 2, 28), utc(2027, 2, 28), utc(2027, 3, 31), "2027-02");
  expect_period(months, utc(2027, 3, 31), utc(2027, 3, 31), utc(2027, 4, 30), "2027-03");
  expect_period(months, utc(2028, 2, 29), utc(2028, 2, 29), utc(2028, 3, 31), "2028-02");
  expect_period(calendar({PeriodUnit::month, 29}), utc(2027, 3, 1), utc(2027, 2, 28), utc(2027, 3, 29), "2027-02");
}

TEST(Period, AMonthBelongsToWhereItBegan) {
  const Calendar months = calendar({PeriodUnit::month, 15});
  expect_period(months, utc(2026, 1, 14), utc(2025, 12, 15), utc(2026, 1, 15), "2025-12");
}

TEST(Period, FollowsTheClocksOfItsZone) {
  const Calendar months = calendar({PeriodUnit::month, 1}, "Europe/Berlin");
  expect_period(months, utc(2026, 3, 31, 21, 59), utc(2026, 2, 28, 23), utc(2026, 3, 31, 22), "2026-03");
  const Calendar days = calendar({PeriodUnit::day}, "Europe/Berlin");
  expect_period(days, utc(2026, 3, 29, 12), utc(2026, 3, 28, 23), utc(2026, 3, 29, 22), "2026-03-29");
  expect_period(days, utc(2026, 10, 25, 12), utc(2026, 10, 24, 22), utc(2026, 10, 25, 23), "2026-10-25");
  expect_period(calendar({PeriodUnit::year}, "Pacific/Kiritimati"), utc(2025, 12, 31, 10), utc(2025, 12, 31, 10),
                utc(2026, 12, 31, 10), "2026");
}

TEST(Period, WeeksBeginOnTheDayThatIsAskedFor) {
  expect_period(calendar({PeriodUnit::week, 1}), utc(2026, 3, 26), utc(2026, 3, 23), utc(2026, 3, 30), "2026-03-23");
  expect_period(calendar({PeriodUnit::week, 7}), utc(2026, 3, 26), utc(2026, 3, 22), utc(2026, 3, 29), "2026-03-22");
  expect_period(calendar({PeriodUnit::week, 4}), utc(2026, 3, 26), utc(2026, 3, 26), utc(2026, 4, 2), "2026-03-26");
  expect_period(calendar({PeriodUnit::week, 5}), utc(1969, 12, 31), utc(1969, 12, 26), utc(1970, 1, 2), "1969-12-26");
}

TEST(Period, EachHourCountsForItselfWhenClocksAreSetBack) {
  const Calendar hours = calendar({PeriodUnit::hour}, "Europe/Berlin");
  expect_period(hours, utc(2026, 10, 25, 0, 30), utc(2026, 10, 25, 0), utc(2026, 10, 25, 1), "2026-10-25T00Z");
  expect_period(hours, utc(2026, 10, 25, 1, 30), utc(2026, 10, 25, 1), utc(2026, 10, 25, 2), "2026-10-25T01Z");
  expect_period(calendar({PeriodUnit::hour}, "Asia/Kathmandu"), utc(2026, 1, 1, 0, 14), utc(2025, 12, 31, 23, 15),
                utc(2026, 1, 1, 0, 15), "2025-12-31T23:15Z");
}

TEST(Period, AnHourIsNamedByWhenItBegins) {
  expect_period(calendar({PeriodUnit::hour}, "Asia/Kathmandu"), utc(2026, 11, 18, 14, 20), utc(2026, 11, 18, 14, 15),
                utc(2026, 11, 18, 15, 15), "2026-11-18T14:15Z");
  expect_period(calendar({PeriodUnit::hour}, "Asia/Kolkata"), utc(2026, 11, 18, 14, 20), utc(2026, 11, 18, 13, 30),
                utc(2026, 11, 18, 14, 30), "2026-11-18T13:30Z");
  expect_period(calendar({PeriodUnit::hour}, "Asia/Tokyo"), utc(2026, 11, 18, 14, 20), utc(2026, 11, 18, 14),
                utc(2026, 11, 18, 15), "2026-11-18T14Z");
}

TEST(Period, ADayThatAZoneSkippedHasNoLength) {
  const Calendar days = calendar({PeriodUnit::day}, "Pacific/Apia");
  expect_period(days, utc(2011, 12, 30, 9, 59), utc(2011, 12, 29, 10), utc(2011, 12, 30, 10), "2011-12-29");
  expect_period(days, utc(2011, 12, 30, 10), utc(2011, 12, 30, 10), utc(2011, 12, 31, 10), "2011-12-31");
}

TEST(Period, RefusesAnAnchorThatTheUnitDoesNotHave) {
  EXPECT_EQ(Calendar::make({PeriodUnit::month, 32}, base::TimeZone::utc()).failure().message,
            "an anchor day of 32 for a month; expected 1 to 31");
  EXPECT_EQ(Calendar::make({PeriodUnit::week, 0}, base::TimeZone::utc()).failure().message,
            "an anchor day of 0 for a week; expected 1 to 7");
  EXPECT_EQ(Calendar::make({PeriodUnit::day, 2}, base::TimeZone::utc()).failure().message,
            "an anchor day of 2 for a day; expected 1");
}

TEST(Period, ReadsUnitsAndAnchorDays) {
  EXPECT_EQ(parse_unit("week").value(), PeriodUnit::week);
  EXPECT_EQ(parse_unit("fortnight").failure().message,
            "no period \"fortnight\"; expected hour, day, week, month or year");
  EXPECT_EQ(parse_anchor_day(PeriodUnit::month, "31").value(), 31);
  EXPECT_EQ(parse_anchor_day(PeriodUnit::week, "Sun").value(), 7);
  EXPECT_EQ(parse_anchor_day(PeriodUnit::month, "32").failure().message,
            "\"32\" is not a day of the month; expected 1 to 31");
  for (const char* text : {"0", "-1", "1.5", "", "1x", "mon"}) {
    EXPECT_FALSE(parse_anchor_day(PeriodUnit::month, text).ok()) << text;
  }
  EXPECT_EQ(parse_anchor_day(PeriodUnit::week, "1").failure().message,
            "\"1\" is not a day of the week; expected mon, tue, wed, thu, fri, sat or sun");
  EXPECT_FALSE(parse_anchor_day(PeriodUnit::year, "1").ok());
}

}  // namespace
}  // namespace weir::ledger
