// Scalars of a YAML file as values.
//
// Each read_… gives the value or a failure whose message fits behind a field name: `is "5x", expected a whole number`.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/yaml_document.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::rules {

Result<std::string> read_text(const base::YamlNode& node);
Result<std::int64_t> read_whole_number(const base::YamlNode& node, std::int64_t least, std::int64_t most);
// A whole number and a percent sign, as in "50%".
Result<std::int64_t> read_percent(const base::YamlNode& node, std::int64_t least, std::int64_t most);
Result<bool> read_bool(const base::YamlNode& node);
// A whole number and ms, s, m, h or d, as in "60s".
Result<Duration> read_duration(const base::YamlNode& node);
// RFC 3339, as in "2026-12-31T00:00:00Z"; digits of a second beyond microseconds are dropped.
Result<TimePoint> read_instant(const base::YamlNode& node);

// The same from text alone, for flags and environment variables.
Result<Duration> parse_duration(std::string_view text);
Result<TimePoint> parse_instant(std::string_view text);

// "a list", "a map", "empty" or the quoted text.
std::string describe(const base::YamlNode& node);
// "file:line:column: field: what"; without "field: " when it is empty.
std::string fault_at(std::string_view file, const base::YamlNode& node, std::string_view field, std::string_view what);
}  // namespace weir::rules
