#include "rules/rules_format.h"

#include <array>

#include "rules/envoy_file.h"
#include "rules/limitador_file.h"
#include "rules/rules_file.h"

namespace weir::rules {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"weir", "envoy", "limitador"};  // by RulesFormat

template <typename Reader>
Result<ForeignRules> read_with(Reader reader, const std::filesystem::path& path) {
  FaultList faults;
  const Status read = read_documents(path, faults, [&](const YamlDocument& document) { reader.add(document, faults); });
  if (!read.ok()) return read.failure();
  return std::move(reader).finish(path.string(), faults);
}

}  // namespace

std::string_view format_name(RulesFormat format) { return kNames[static_cast<std::size_t>(format)]; }

std::optional<RulesFormat> format_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<RulesFormat>(i);
  }
  return std::nullopt;
}

Result<ForeignRules> read_rules(const std::filesystem::path& path, RulesFormat format) {
  switch (format) {
    case RulesFormat::envoy:
      return read_with(EnvoyReader(), path);
    case RulesFormat::limitador:
      return read_with(LimitadorReader(), path);
    case RulesFormat::weir:
      break;
  }
  Result<Rules> rules = read_rules_file(path);
  if (!rules.ok()) return rules.failure();
  return ForeignRules{std::move(rules).value(), {}};
}

}  // namespace weir::rules
