// Reading one configuration value from its text. The failure's message says what is wrong and what is expected; the
// caller puts in front of it where the text came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

// A whole number in [least, most].
Result<std::int64_t> parse_count(std::string_view text, std::int64_t least, std::int64_t most);
// "64KiB", "256MiB", "1GiB", "512MB", "4096" (bytes), in [least, most].
Result<std::int64_t> parse_size(std::string_view text, std::int64_t least, std::int64_t most);
// "250ms", "30s", "5m", "1h", "0s", in [least, most] microseconds.
Result<Duration> parse_duration(std::string_view text, Duration least, Duration most);
// "off", "1/100", "0.01", "1", in parts of a million, rounded up: from 0 to kWholeShare.
Result<std::int64_t> parse_share(std::string_view text);
Result<bool> parse_switch(std::string_view text);
// Parts between commas, without the blanks around them; empty parts are a fault.
Result<std::vector<std::string>> parse_list(std::string_view text);

// "name=text" between commas; the first '=' divides.
Result<std::vector<std::pair<std::string, std::string>>> parse_pairs(std::string_view text);

std::string size_text(std::int64_t bytes);
std::string duration_text(Duration duration);

}  // namespace weir::server
