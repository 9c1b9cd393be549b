// The formats of access logs, and finding out which one a log has. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/json_line.h"
#include "simulate/log_record.h"
#include "simulate/log_time.h"

namespace weir::simulate {

enum class LogFormat : std::uint8_t { common, envoy, haproxy, json };

// The names that --format takes: several programs write the same format.
std::vector<std::string> log_format_names();
std::optional<LogFormat> log_format_from_name(std::string_view name);
// "common or combined (nginx, Apache, Traefik)"
std::string_view log_format_text(LogFormat format);

std::unique_ptr<LineParser> make_line_parser(LogFormat format, const Zone& zone,
                                             std::span<const FieldMapping> mappings);

// The format that most of these lines have; nothing if it is none of them. Precondition: as in LineParser::parse.
std::optional<LogFormat> detect_format(std::span<const std::string_view> lines, const Zone& zone,
                                       std::span<const FieldMapping> mappings);

}  // namespace weir::simulate
