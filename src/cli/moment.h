// Moments as people write them, and as they are shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::cli {

// "14:03", "14:03:20" (today, or yesterday if that is still to come, in the local time zone), "10m" (ago), or RFC 3339;
// in seconds since the epoch. `now` likewise.
Result<std::int64_t> parse_moment(std::string_view text, std::int64_t now);
// "2026-11-18T04:31:12Z"
std::string rfc3339_seconds(std::int64_t seconds);
// "14:03:20", in the local time zone, from RFC 3339; the text itself if it is no such time.
std::string local_time(std::string_view rfc3339);

}  // namespace weir::cli
