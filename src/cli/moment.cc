#include "cli/moment.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "cli/terminal.h"
#include "server/config_value.h"

namespace weir::cli {
namespace {

constexpr std::int64_t kDay = 24 * 3600;

}  // namespace

Result<std::int64_t> parse_moment(std::string_view text, std::int64_t now) {
  const std::string given(text);
  std::tm time{};
  const std::time_t today = now;
  localtime_r(&today, &time);
  int used = 0;
  time.tm_sec = 0;
  const bool seconds =
      std::sscanf(given.c_str(), "%2d:%2d:%2d%n", &time.tm_hour, &time.tm_min, &time.tm_sec, &used) == 3;
  const bool minutes = !seconds && std::sscanf(given.c_str(), "%2d:%2d%n", &time.tm_hour, &time.tm_min, &used) == 2;
  if ((seconds || minutes) && static_cast<std::size_t>(used) == given.size() && time.tm_hour < 24 && time.tm_min < 60 &&
      time.tm_sec < 61) {
    if (minutes) time.tm_sec = 0;
    time.tm_isdst = -1;
    const std::int64_t moment = std::mktime(&time);
    return moment > now ? moment - kDay : moment;
  }
  std::tm utc{};
  if (const char* const end = ::strptime(given.c_str(), "%Y-%m-%dT%H:%M:%S", &utc); end != nullptr) {
    std::string_view tail = end;
    if (tail.starts_with('.')) {
      tail.remove_prefix(std::min(tail.find_first_not_of("0123456789", 1), tail.size()));
    }
    if (tail == "Z") return static_cast<std::int64_t>(timegm(&utc));
  }
  if (const Result<Duration> ago = server::parse_duration(given, Duration(0), std::chrono::hours(24 * 366)); ago.ok()) {
    return now - ago.value().count() / 1'000'000;
  }
  return Failure{Code::invalid_argument,
                 "'" + shown(text) + "' is not a time, expected 14:03, 14:03:20, 10m (ago) or 2026-11-18T14:03:20Z"};
}

std::string rfc3339_seconds(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string local_time(std::string_view rfc3339) {
  std::tm utc{};
  const std::string given(rfc3339);
  if (::strptime(given.c_str(), "%Y-%m-%dT%H:%M:%S", &utc) == nullptr) return shown(rfc3339);
  const std::time_t time = timegm(&utc);
  std::tm local{};
  localtime_r(&time, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &local)};
}

}  // namespace weir::cli
