// Periods tile over 50 years in every installed zone: none overlaps another, no instant lies between two, each begins
// where the zone's clocks say, and at() finds the period that contains an instant.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "ledger/period.h"

namespace weir::ledger {
namespace {

using namespace std::chrono;  // NOLINT: dates are unreadable without

constexpr sys_days kFirst = year(2010) / 1 / 1;  // with Samoa's missing day
constexpr sys_days kLast = year(2060) / 1 / 1;

// One zone of those with the same content: many names are aliases.
std::vector<std::shared_ptr<const base::TimeZone>> different_zones() {
  std::map<std::string, std::string> names;
  for (const std::string& name : base::TimeZone::installed()) {
    std::ifstream in(base::TimeZone::system_folder() + "/" + name, std::ios::binary);
    std::ostringstream content;
    content << in.rdbuf();
    names.emplace(content.str(), name);
  }
  std::vector<std::shared_ptr<const base::TimeZone>> zones;
  for (const auto& [content, name] : names) zones.push_back(base::TimeZone::load(name).value());
  EXPECT_GT(zones.size(), 300U);
  return zones;
}

local_seconds shown(const base::TimeZone& zone, TimePoint at) {
  const auto second = floor<seconds>(at);
  return local_seconds(second.time_since_epoch() + zone.offset_at(second));
}

// Its first day by the calendar of the zone, unless clocks were set forward over midnight.
void expect_begins_at_midnight(const Calendar& calendar, const Period& period) {
  const local_seconds at_start = shown(calendar.zone(), period.begins);
  const local_seconds before = shown(calendar.zone(), period.begins - seconds(1));
  const bool midnight = at_start == floor<days>(at_start);
  const bool set_forward_over_it = before + seconds(1) < at_start && floor<days>(before) < floor<days>(at_start);
  EXPECT_TRUE(midnight || set_forward_over_it) << calendar.zone().name() << " period " << period.number;
}

// Walks the periods by their numbers. Returns how many there were.
int expect_tiles(const Calendar& calendar, TimePoint from, TimePoint until) {
  const std::string where = calendar.zone().name() + " " + std::string(unit_name(calendar.rule().unit)) + " " +
                            std::to_string(calendar.rule().anchor_day);
  int periods = 0;
  TimePoint covered = calendar.at(from).begins;
  for (std::int64_t number = calendar.at(from).number; covered < until; ++number, ++periods) {
    const Period period = calendar.number(number);
    if (period.begins != covered || period.ends < period.begins) {
      ADD_FAILURE() << where << ": a gap or an overlap at " << micros(covered);
      return periods;
    }
    covered = period.ends;
    if (calendar.rule().unit == PeriodUnit::day) expect_begins_at_midnight(calendar, period);
    if (period.begins == period.ends) continue;
    // Days are many: of the usual ones, some are enough.
    if (calendar.rule().unit == PeriodUnit::day && period.ends - period.begins == days(1) && number % 16 != 0) continue;
    for (const TimePoint inside : {period.begins, period.ends - microseconds(1)}) {
      if (!(calendar.at(inside) == period)) {
        ADD_FAILURE() << where << ": at() is wrong at " << micros(inside);
        return periods;
      }
    }
  }
  return periods;
}

class Tiling : public testing::Test {
 protected:
  void expect_all_zones_tile(PeriodRule rule, int least_periods) {
    for (const auto& zone : zones_) {
      const Calendar calendar = Calendar::make(rule, zone).value();
      EXPECT_GE(expect_tiles(calendar, kFirst, kLast), least_periods);
      if (HasFailure()) return;
    }
  }
  const std::vector<std::shared_ptr<const base::TimeZone>> zones_ = different_zones();
};

TEST_F(Tiling, Days) { expect_all_zones_tile({PeriodUnit::day}, 50 * 365); }
TEST_F(Tiling, WeeksFromMonday) { expect_all_zones_tile({PeriodUnit::week, 1}, 50 * 52); }
TEST_F(Tiling, WeeksFromSunday) { expect_all_zones_tile({PeriodUnit::week, 7}, 50 * 52); }
TEST_F(Tiling, Years) { expect_all_zones_tile({PeriodUnit::year}, 50); }
TEST_F(Tiling, MonthsFromEveryAnchorDay) {
  for (const int day : {1, 2, 15, 28, 29, 30, 31}) expect_all_zones_tile({PeriodUnit::month, day}, 50 * 12);
}

TEST_F(Tiling, HoursAroundEveryChangeOfTheClock) {
  for (const auto& zone : zones_) {
    const Calendar calendar = Calendar::make({PeriodUnit::hour}, zone).value();
    seconds offset = zone->offset_at(kFirst);
    for (sys_seconds at = kFirst; at < kLast; at += hours(20)) {
      const seconds now = zone->offset_at(at);
      if (now == offset) continue;
      offset = now;
      ASSERT_GE(expect_tiles(calendar, at - hours(24), at + hours(4)), 27) << zone->name();
    }
    expect_tiles(calendar, sys_days(year(2027) / 12 / 30), sys_days(year(2028) / 1 / 3));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weir::ledger
