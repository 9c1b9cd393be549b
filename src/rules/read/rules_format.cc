#include "rules/read/rules_format.h"

#include <array>

#include "rules/formats/envoy_file.h"
#include "rules/formats/limitador_file.h"
#include "rules/read/rules_file.h"

namespace weir::rules {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"weir", "envoy", "limitador"};  // by RulesFormat

template <typename Reader>
Result<ForeignRules> read_with(Reader reader, const SourceTexts& texts, const std::string& name) {
  FaultList faults;
  read_documents(texts, faults, [&](const base::YamlDocument& document) { reader.add(document, faults); });
  return std::move(reader).finish(name, faults);
}

}  // namespace

std::string_view format_name(RulesFormat format) { return kNames[static_cast<std::size_t>(format)]; }

std::optional<RulesFormat> format_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<RulesFormat>(i);
  }
  return std::nullopt;
}

Result<ForeignRules> parse_rules(const SourceTexts& texts, const std::string& name, RulesFormat format) {
  switch (format) {
    case RulesFormat::envoy:
      return read_with(EnvoyReader(), texts, name);
    case RulesFormat::limitador:
      return read_with(LimitadorReader(), texts, name);
    case RulesFormat::weir:
      break;
  }
  Result<Rules> rules = parse_rules(texts, name);
  if (!rules.ok()) return rules.failure();
  return ForeignRules{std::move(rules).value(), {}};
}

Result<ForeignRules> read_rules(const std::filesystem::path& path, RulesFormat format) {
  const Result<SourceTexts> texts = read_source(path);
  if (!texts.ok()) return texts.failure();
  return parse_rules(texts.value(), path.string(), format);
}

}  // namespace weir::rules
