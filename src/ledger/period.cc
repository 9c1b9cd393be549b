#include "ledger/period.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cstdio>

#include "base/ascii.h"

namespace weir::ledger {
namespace {

using std::chrono::days;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

constexpr std::array<std::string_view, 5> kUnits = {"hour", "day", "week", "month", "year"};
constexpr std::array<std::string_view, 7> kWeekdays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
constexpr std::int64_t kHour = 3600;
constexpr int kEpochYear = 1970;
constexpr int kEpochWeekday = 4;  // a Thursday

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The first day of a period, by the zone's own calendar. Not for hours.
days first_day(const PeriodRule& rule, std::int64_t number) {
  using namespace std::chrono;  // NOLINT: dates are unreadable without
  switch (rule.unit) {
    case PeriodUnit::day:
      return days(number);
    case PeriodUnit::week:
      return days(7 * number + rule.anchor_day - kEpochWeekday);
    case PeriodUnit::month: {
      const std::int64_t years_since = floor_div(number, 12);
      const year_month month = year(kEpochYear + static_cast<int>(years_since)) /
                               std::chrono::month(static_cast<unsigned>(number - 12 * years_since) + 1);
      const day last = (month / std::chrono::last).day();
      return sys_days(month / std::min(day(static_cast<unsigned>(rule.anchor_day)), last)).time_since_epoch();
    }
    default:
      return sys_days(year(kEpochYear + static_cast<int>(number)) / January / 1).time_since_epoch();
  }
}

// The number of the period that a day belongs to, or of one beside it.
std::int64_t number_near(const PeriodRule& rule, days day) {
  const std::chrono::year_month_day date{sys_days(day)};
  const std::int64_t years = static_cast<int>(date.year()) - kEpochYear;
  switch (rule.unit) {
    case PeriodUnit::day:
      return day.count();
    case PeriodUnit::week:
      return floor_div(day.count() + kEpochWeekday - rule.anchor_day, 7);
    case PeriodUnit::month:
      return 12 * years + static_cast<unsigned>(date.month()) - 1;
    default:
      return years;
  }
}

}  // namespace

std::string_view unit_name(PeriodUnit unit) { return kUnits[static_cast<std::size_t>(unit)]; }

Result<PeriodUnit> parse_unit(std::string_view name) {
  const auto found = std::find(kUnits.begin(), kUnits.end(), name);
  if (found != kUnits.end()) return static_cast<PeriodUnit>(found - kUnits.begin());
  return Failure{Code::invalid_argument,
                 "no period \"" + std::string(name) + "\"; expected hour, day, week, month or year"};
}

Result<int> parse_anchor_day(PeriodUnit unit, std::string_view text) {
  const auto refuse = [text](const char* expected) {
    return Failure{Code::invalid_argument, "\"" + std::string(text) + "\" is " + expected};
  };
  if (unit == PeriodUnit::week) {
    const auto found = std::find(kWeekdays.begin(), kWeekdays.end(), base::lowered(std::string(text)));
    if (found == kWeekdays.end()) return refuse("not a day of the week; expected mon, tue, wed, thu, fri, sat or sun");
    return static_cast<int>(found - kWeekdays.begin()) + 1;
  }
  if (unit != PeriodUnit::month) return refuse("given, but only months and weeks have an anchor day");
  int day = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), day);
  if (error != std::errc() || end != text.data() + text.size() || day < 1 || day > 31) {
    return refuse("not a day of the month; expected 1 to 31");
  }
  return day;
}

std::string period_label(const PeriodRule& rule, const Period& period) {
  const bool hour = rule.unit == PeriodUnit::hour;
  const std::int64_t minute = floor_div(micros(period.begins), std::int64_t{60'000'000});
  const std::int64_t full_hours = floor_div(minute, std::int64_t{60});
  const std::chrono::year_month_day date{
      sys_days(hour ? days(floor_div(full_hours, std::int64_t{24})) : first_day(rule, period.number))};
  char text[32];
  const int size = std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02dZ", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                 static_cast<int>(full_hours - 24 * floor_div(full_hours, std::int64_t{24})),
                                 static_cast<int>(minute - 60 * full_hours));
  assert(size == 17);
  constexpr std::size_t kYear = 4, kMonth = 7, kDay = 10, kFullHour = 13, kWhole = 17;
  switch (rule.unit) {
    case PeriodUnit::hour:
      return minute == 60 * full_hours ? std::string(text, kFullHour) + "Z" : std::string(text, kWhole);
    case PeriodUnit::month:
      return {text, kMonth};
    case PeriodUnit::year:
      return {text, kYear};
    default:
      return {text, kDay};
  }
}

Result<Calendar> Calendar::make(const PeriodRule& rule, std::shared_ptr<const base::TimeZone> zone) {
  const int most = rule.unit == PeriodUnit::month ? 31 : rule.unit == PeriodUnit::week ? 7 : 1;
  if (rule.anchor_day < 1 || rule.anchor_day > most) {
    return Failure{Code::invalid_argument, "an anchor day of " + std::to_string(rule.anchor_day) + " for a " +
                                               std::string(unit_name(rule.unit)) + "; expected 1" +
                                               (most > 1 ? " to " + std::to_string(most) : "")};
  }
  return Calendar(rule, std::move(zone));
}

bool Calendar::covers(TimePoint time) {
  constexpr sys_days first = std::chrono::year(1900) / 1 / 1;
  constexpr sys_days last = std::chrono::year(2399) / 1 / 1;
  return first <= time && time < last;
}

sys_seconds Calendar::start(std::int64_t number) const {
  if (rule_.unit == PeriodUnit::hour) {
    const sys_seconds utc(seconds(number * kHour));
    const std::int64_t offset = zone_->offset_at(utc).count();
    return utc - seconds(offset - kHour * floor_div(offset, kHour));
  }
  return zone_->first_instant_at(std::chrono::local_seconds(first_day(rule_, number)));
}

Period Calendar::number(std::int64_t number) const { return {number, start(number), start(number + 1)}; }

Period Calendar::at(TimePoint wall) const {
  assert(covers(wall));
  const auto second = std::chrono::floor<seconds>(wall);
  const seconds local = second.time_since_epoch() + zone_->offset_at(second);
  std::int64_t number = rule_.unit == PeriodUnit::hour ? floor_div(second.time_since_epoch().count(), kHour)
                                                       : number_near(rule_, std::chrono::floor<days>(local));
  // Near a change of the clock, and before the anchor day, it is one beside that.
  while (start(number) > wall) --number;
  sys_seconds ends = start(number + 1);
  while (ends <= wall) ends = start(++number + 1);
  return {number, start(number), ends};
}

}  // namespace weir::ledger
