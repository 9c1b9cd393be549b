// A line of a log and what a parser made of it, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulate/log_format.h"

namespace weir::simulate {

struct ParsedLine {
  ParsedLine(LogFormat format, std::string_view text, const std::vector<FieldMapping>& mappings = {},
             const Zone& zone = base::TimeZone::utc())
      : line(std::string(text) + std::string(kLinePadding, '\0')), parser(make_line_parser(format, zone, mappings)) {
    if (const char* const why = parser->parse(std::string_view(line.data(), text.size()), record)) wrong = why;
  }

  std::string field(std::string_view name) const {
    for (const LogField& each : record.fields) {
      if (each.name == name) return std::string(each.value);
    }
    return {};
  }
  std::string header(std::string_view name) const {
    for (const LogField& each : record.headers) {
      if (each.name == name) return std::string(each.value);
    }
    return {};
  }

  const std::string line;
  const std::unique_ptr<LineParser> parser;
  LogRecord record;
  std::string wrong;  // empty: it was read
};

}  // namespace weir::simulate
