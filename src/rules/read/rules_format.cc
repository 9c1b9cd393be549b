#include "rules/read/rules_format.h"

#include <array>

#include "rules/compile/rule_warnings.h"
#include "rules/formats/envoy_file.h"
#include "rules/formats/limitador_file.h"
#include "rules/read/rules_file.h"

namespace weir::rules {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"weir", "envoy", "limitador"};  // by RulesFormat

template <typename Reader>
Result<ForeignRules> read_with(Reader reader, const SourceTexts& texts, const std::string& name, TimePoint now) {
  FaultList faults;
  read_documents(texts, faults, [&](const base::YamlDocument& document) { reader.add(document, faults); });
  Result<ForeignRules> read = std::move(reader).finish(name, faults);
  if (!read.ok()) return read;
  const RuleWarnings warnings = rule_warnings(read.value().rules, now);
  for (const RuleWarning& each : warnings.kept) read.value().warnings.push_back(to_line(read.value().rules, each));
  if (warnings.left_out > 0) read.value().warnings.push_back(left_out_line(warnings.left_out));
  return read;
}

}  // namespace

std::string_view format_name(RulesFormat format) { return kNames[static_cast<std::size_t>(format)]; }

std::optional<RulesFormat> format_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<RulesFormat>(i);
  }
  return std::nullopt;
}

Result<ForeignRules> parse_rules(const SourceTexts& texts, const std::string& name, RulesFormat format, TimePoint now) {
  switch (format) {
    case RulesFormat::envoy:
      return read_with(EnvoyReader(), texts, name, now);
    case RulesFormat::limitador:
      return read_with(LimitadorReader(), texts, name, now);
    case RulesFormat::weir:
      break;
  }
  ForeignRules read;
  Result<Rules> rules = parse_rules(texts, name, now, read.warnings);
  if (!rules.ok()) return rules.failure();
  read.rules = std::move(rules).value();
  return read;
}

Result<ForeignRules> read_rules(const std::filesystem::path& path, RulesFormat format, TimePoint now) {
  const Result<SourceTexts> texts = read_source(path);
  if (!texts.ok()) return texts.failure();
  return parse_rules(texts.value(), path.string(), format, now);
}

}  // namespace weir::rules
