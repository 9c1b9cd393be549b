#include "simulate/log_format.h"

#include <utility>

#include "simulate/text_lines.h"

namespace weir::simulate {
namespace {

constexpr std::pair<std::string_view, LogFormat> kFormatNames[] = {
    {"nginx", LogFormat::common},      {"apache", LogFormat::common},   {"common", LogFormat::common},
    {"combined", LogFormat::common},   {"caddy", LogFormat::json},      {"envoy", LogFormat::envoy},
    {"envoy-json", LogFormat::json},   {"haproxy", LogFormat::haproxy}, {"traefik", LogFormat::common},
    {"traefik-json", LogFormat::json}, {"json", LogFormat::json}};

}  // namespace

std::vector<std::string> log_format_names() {
  std::vector<std::string> names;
  for (const auto& [name, format] : kFormatNames) names.emplace_back(name);
  return names;
}

std::optional<LogFormat> log_format_from_name(std::string_view name) {
  for (const auto& [each, format] : kFormatNames) {
    if (each == name) return format;
  }
  return std::nullopt;
}

std::string_view log_format_text(LogFormat format) {
  switch (format) {
    case LogFormat::common:
      return "common or combined (nginx, Apache, Traefik)";
    case LogFormat::envoy:
      return "Envoy's default text";
    case LogFormat::haproxy:
      return "HAProxy's httplog";
    case LogFormat::json:
      return "JSON lines";
  }
  return {};
}

std::unique_ptr<LineParser> make_line_parser(LogFormat format, const Zone& zone,
                                             std::span<const FieldMapping> mappings) {
  switch (format) {
    case LogFormat::common:
      return std::make_unique<CommonLine>(zone);
    case LogFormat::envoy:
      return std::make_unique<EnvoyLine>(zone);
    case LogFormat::haproxy:
      return std::make_unique<HaproxyLine>(zone);
    case LogFormat::json:
      return std::make_unique<JsonLine>(zone, mappings);
  }
  return nullptr;
}

std::optional<LogFormat> detect_format(std::span<const std::string_view> lines, const Zone& zone,
                                       std::span<const FieldMapping> mappings) {
  std::optional<LogFormat> best;
  std::size_t most = 0;
  // HAProxy before common: a line of the former may have what the latter needs too.
  for (const LogFormat format : {LogFormat::json, LogFormat::envoy, LogFormat::haproxy, LogFormat::common}) {
    const std::unique_ptr<LineParser> parser = make_line_parser(format, zone, mappings);
    LogRecord record;
    std::size_t parsed = 0;
    for (const std::string_view line : lines) parsed += parser->parse(line, record) == nullptr ? 1 : 0;
    if (parsed <= most) continue;
    most = parsed;
    best = format;
  }
  return best;
}

}  // namespace weir::simulate
