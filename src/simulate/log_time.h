// Times as access logs write them. Pure functions, and a cache for the form that most lines have.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "base/time_zone.h"
#include "weir/time.h"

namespace weir::simulate {

// What times without a zone mean. Never null.
using Zone = std::shared_ptr<const base::TimeZone>;

// "10/Oct/2000:13:55:36 -0700", or without the zone and with a fraction, as HAProxy writes it.
std::optional<TimePoint> parse_common_time(std::string_view text, const base::TimeZone& zone);
// "2016-04-15T20:17:00.310Z", "2016-04-15 20:17:00,310", "2016-04-15T20:17:00+02:00".
std::optional<TimePoint> parse_iso_time(std::string_view text, const base::TimeZone& zone);
// "1646861401.5241024": seconds, or milliseconds, microseconds or nanoseconds if it is that large.
std::optional<TimePoint> parse_unix_time(std::string_view text);
// Any of these.
std::optional<TimePoint> parse_log_time(std::string_view text, const base::TimeZone& zone);

// parse_common_time() for lines in order: the same second is not parsed twice.
class CommonTimes {
 public:
  explicit CommonTimes(Zone zone) : zone_(std::move(zone)) {}
  std::optional<TimePoint> parse(std::string_view text);

 private:
  static constexpr std::size_t kMaxText = 32;

  const Zone zone_;
  std::array<char, kMaxText> last_{};
  std::size_t length_ = 0;
  TimePoint time_{};
};

}  // namespace weir::simulate
