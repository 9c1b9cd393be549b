#include "base/duration_text.h"

#include <string_view>

namespace weir::base {
namespace {

long long divided_up(long long value, long long by) { return value / by + (value % by == 0 ? 0 : 1); }

// "2 h 1 min", "2 h"
std::string two_parts(long long value, long long parts, std::string_view whole, std::string_view part) {
  std::string text = std::to_string(value / parts) + " " + std::string(whole);
  if (value % parts != 0) text += " " + std::to_string(value % parts) + " " + std::string(part);
  return text;
}

}  // namespace

std::string duration_for_people(long long milliseconds) {
  if (milliseconds < 1'000) return std::to_string(milliseconds) + " ms";
  if (const long long tenths = divided_up(milliseconds, 100); tenths < 100) {
    return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
  }
  const long long seconds = divided_up(milliseconds, 1'000);
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 3'600) return two_parts(seconds, 60, "min", "s");
  const long long minutes = divided_up(seconds, 60);
  if (minutes < 24 * 60) return two_parts(minutes, 60, "h", "min");
  const long long hours = divided_up(minutes, 60);
  if (hours < 100 * 24) return two_parts(hours, 24, hours < 48 ? "day" : "days", "h");
  return std::to_string(divided_up(hours, 24)) + " days";
}

}  // namespace weir::base
