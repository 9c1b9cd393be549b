#include "frontends/http/date_field.h"

#include <chrono>

namespace weir::http {
namespace {

// English whatever the locale, as the format wants it; three letters each.
constexpr std::string_view kWeekdays = "SunMonTueWedThuFriSat";
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

void append_digits(std::string& out, std::int64_t value, int count) {
  std::int64_t power = 1;
  for (int i = 1; i < count; ++i) power *= 10;
  for (; power > 0; power /= 10) out += static_cast<char>('0' + value / power % 10);
}

}  // namespace

void DateField::write(std::int64_t second) {
  second_ = second;
  const std::chrono::sys_seconds time{std::chrono::seconds(second)};
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(time - midnight);
  text_ = "Date: ";
  text_ += kWeekdays.substr(std::size_t{3} * std::chrono::weekday(midnight).c_encoding(), 3);
  text_ += ", ";
  append_digits(text_, static_cast<unsigned>(date.day()), 2);
  text_ += ' ';
  text_ += kMonths.substr(std::size_t{3} * (static_cast<unsigned>(date.month()) - 1), 3);
  text_ += ' ';
  append_digits(text_, static_cast<int>(date.year()), 4);
  text_ += ' ';
  append_digits(text_, clock.hours().count(), 2);
  text_ += ':';
  append_digits(text_, clock.minutes().count(), 2);
  text_ += ':';
  append_digits(text_, clock.seconds().count(), 2);
  text_ += " GMT\r\n";
}

}  // namespace weir::http
