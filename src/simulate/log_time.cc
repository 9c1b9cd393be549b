#include "simulate/log_time.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

namespace weir::simulate {
namespace {

using std::chrono::seconds;

// Two or four digits at `at`; negative: these are none.
int digits_at(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int number = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

int month_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t found = at + 3 > text.size() ? std::string_view::npos : kMonths.find(text.substr(at, 3));
  return found == std::string_view::npos || found % 3 != 0 ? -1 : static_cast<int>(found / 3) + 1;
}

std::optional<seconds> since_epoch(int year, int month, int day, int hour, int minute, int second) {
  if (year < 1970 || month < 1 || day < 1 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch() + std::chrono::hours{hour} + std::chrono::minutes{minute} +
         seconds{second};
}

// Takes ".310" or ",310" from the front.
Duration take_fraction(std::string_view& text) {
  if (text.empty() || (text[0] != '.' && text[0] != ',')) return Duration{0};
  std::int64_t micros = 0;
  std::int64_t unit = 100'000;
  std::size_t at = 1;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) micros += (text[at] - '0') * unit;
  text.remove_prefix(at);
  return Duration{micros};
}

// What follows the time: "", "Z", "+0200", "+02:00", "-07:00".
std::optional<TimePoint> in_zone(seconds local, Duration fraction, std::string_view rest, const base::TimeZone& zone) {
  if (rest.empty()) {
    return TimePoint{zone.first_instant_at(std::chrono::local_seconds{local}).time_since_epoch()} + fraction;
  }
  if (rest == "Z" || rest == "z" || rest == "UTC") return TimePoint{local} + fraction;
  const bool colon = rest.size() == 6 && rest[3] == ':';
  if ((rest.size() != 5 && !colon) || (rest[0] != '+' && rest[0] != '-')) return std::nullopt;
  const int hours = digits_at(rest, 1, 2);
  const int minutes = digits_at(rest, colon ? 4 : 3, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const seconds offset = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  return TimePoint{rest[0] == '-' ? local + offset : local - offset} + fraction;
}

}  // namespace

std::optional<TimePoint> parse_common_time(std::string_view text, const base::TimeZone& zone) {
  if (text.size() < 20 || text[2] != '/' || text[6] != '/' || text[11] != ':' || text[14] != ':' || text[17] != ':') {
    return std::nullopt;
  }
  const auto local = since_epoch(digits_at(text, 7, 4), month_at(text, 3), digits_at(text, 0, 2),
                                 digits_at(text, 12, 2), digits_at(text, 15, 2), digits_at(text, 18, 2));
  if (!local) return std::nullopt;
  text.remove_prefix(20);
  const Duration fraction = take_fraction(text);
  if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  return in_zone(*local, fraction, text, zone);
}

std::optional<TimePoint> parse_iso_time(std::string_view text, const base::TimeZone& zone) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != ' ') || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const auto local = since_epoch(digits_at(text, 0, 4), digits_at(text, 5, 2), digits_at(text, 8, 2),
                                 digits_at(text, 11, 2), digits_at(text, 14, 2), digits_at(text, 17, 2));
  if (!local) return std::nullopt;
  text.remove_prefix(19);
  const Duration fraction = take_fraction(text);
  if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  return in_zone(*local, fraction, text, zone);
}

std::optional<TimePoint> parse_unix_time(std::string_view text) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error != std::errc{} || whole <= 0) return std::nullopt;
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const Duration fraction = take_fraction(rest);
  if (!rest.empty()) return std::nullopt;             // an exponent, or no number
  constexpr std::int64_t kSeconds = 100'000'000'000;  // the year 5138; as milliseconds that is 1973
  if (whole < kSeconds) return from_micros(whole * 1'000'000) + fraction;
  if (whole < kSeconds * 1'000) return from_micros(whole * 1'000);
  if (whole < kSeconds * 1'000'000) return from_micros(whole);
  return from_micros(whole / 1'000);
}

std::optional<TimePoint> parse_log_time(std::string_view text, const base::TimeZone& zone) {
  if (auto time = parse_iso_time(text, zone)) return time;
  if (auto time = parse_common_time(text, zone)) return time;
  return parse_unix_time(text);
}

std::optional<TimePoint> CommonTimes::parse(std::string_view text) {
  if (text.size() == length_ && std::memcmp(text.data(), last_.data(), length_) == 0 && length_ > 0) return time_;
  const std::optional<TimePoint> time = parse_common_time(text, *zone_);
  if (time && text.size() <= kMaxText) {
    std::copy(text.begin(), text.end(), last_.begin());
    length_ = text.size();
    time_ = *time;
  }
  return time;
}

}  // namespace weir::simulate
