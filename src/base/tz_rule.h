// TzRule: how a zone's clock changes in years that its table of changes does not cover, from the text at the end of a
// time zone file, such as "CET-1CEST,M3.5.0,M10.5.0/3" (POSIX.1, TZ, with the wider hours of RFC 8536). A value.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string_view>

namespace weir::base {

class TzRule {
 public:
  // A change of the clock: from this instant on, the offset applies.
  struct Change {
    std::chrono::sys_seconds at;
    std::chrono::seconds offset;
  };

  // Nothing if the text is not such a rule.
  static std::optional<TzRule> parse(std::string_view text);

  bool changes() const { return summer_.has_value(); }
  // What applies the whole year. Precondition: !changes().
  std::chrono::seconds offset() const { return standard_; }
  // The two changes of a year, in order of time. Precondition: changes().
  std::array<Change, 2> of(std::chrono::year year) const;

 private:
  // A day of the year and the time of day, by the clock before the change.
  struct Date {
    enum class Kind { month_week_day, day_without_leap, day_with_leap };
    Kind kind = Kind::month_week_day;
    unsigned month = 1;
    unsigned week = 1;  // 5: the last
    unsigned weekday = 0;
    int day = 0;
    std::chrono::seconds time = std::chrono::hours(2);

    std::chrono::local_seconds of(std::chrono::year year) const;
  };
  struct Summer {
    std::chrono::seconds offset;
    Date begins;
    Date ends;
  };
  class Reader;

  std::chrono::seconds standard_{0};
  std::optional<Summer> summer_;
};

}  // namespace weir::base
