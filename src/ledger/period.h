// Calendar periods: the hour, day, week, month or year in which a quota counts, in a time zone.
//
//   Result<Calendar> calendar = Calendar::make({PeriodUnit::month, 15}, zone);   // from the 15th to the 15th
//   Period now = calendar.value().at(wall_time);                               // begins <= wall_time < ends
//   period_label({PeriodUnit::month, 15}, now);                                // "2026-03"
//
// Periods tile: each ends where the next one begins. A period is computed from its number, never from the one before
// it, so that an anchor day of 31 is the 28th in February and the 31st again in March.
//
// A period begins when clocks in the zone first show its beginning; when they are set forward over it, at that moment.
// Hours are the exception: each lasts an hour also when clocks are set back, and begins where a clock there shows a
// full hour. A day that a zone skipped (Samoa, 30 December 2011) is a period without length.
//
// Values; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/time_zone.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::ledger {

using weir::PeriodUnit;

// "hour", "day" and so on.
std::string_view unit_name(PeriodUnit unit);
// Failure: invalid_argument.
Result<PeriodUnit> parse_unit(std::string_view name);

// Where periods begin. `anchor_day` is the day of the month (1 to 31; later than the month has: its last day) or of the
// week (1 Monday to 7 Sunday); other units have none and take 1.
struct PeriodRule {
  PeriodUnit unit = PeriodUnit::month;
  int anchor_day = 1;

  friend bool operator==(const PeriodRule&, const PeriodRule&) = default;
};

// "mon" to "sun", or a number. Failure: invalid_argument, for what the unit does not have.
Result<int> parse_anchor_day(PeriodUnit unit, std::string_view text);

struct Period {
  std::int64_t number = 0;  // consecutive; the one with 1970-01-01 in UTC is number 0 or near it
  TimePoint begins;
  TimePoint ends;  // exclusive

  bool contains(TimePoint time) const { return begins <= time && time < ends; }
  friend bool operator==(const Period&, const Period&) = default;
};

// Names a period in accounts and exports: "2026", "2026-03", "2026-03-29" (days and, by their first day, weeks), or
// "2026-03-29T14Z" (hours, by their beginning in UTC because local hours repeat; "2026-03-29T14:15Z" in zones whose
// hours begin at another minute). The zone is not part of it: an account stays the same when a rule's zone is
// corrected, unless its hours begin at another minute then.
std::string period_label(const PeriodRule& rule, const Period& period);

class Calendar {
 public:
  // Failure: invalid_argument (an anchor day that the unit does not have).
  static Result<Calendar> make(const PeriodRule& rule, std::shared_ptr<const base::TimeZone> zone);

  // Times that periods are computed for. Others are the caller's mistake; check times that come from outside.
  static bool covers(TimePoint time);

  // The period that contains a time of the wall clock. Precondition: covers(wall).
  Period at(TimePoint wall) const;
  Period number(std::int64_t number) const;

  const PeriodRule& rule() const { return rule_; }
  const base::TimeZone& zone() const { return *zone_; }

 private:
  Calendar(const PeriodRule& rule, std::shared_ptr<const base::TimeZone> zone) : rule_(rule), zone_(std::move(zone)) {}
  std::chrono::sys_seconds start(std::int64_t number) const;

  PeriodRule rule_;
  std::shared_ptr<const base::TimeZone> zone_;
};

}  // namespace weir::ledger
