#include "rules/read/rules_text.h"

#include "rules/read/rule_fields.h"

namespace weir::rules {
namespace {

constexpr std::size_t kRuleIndent = 4;

void write_rule(const Rule& rule, std::string& out) {
  const char* before = "  - ";
  for (const Field<Rule>& field : rule_fields()) {
    const std::optional<YamlText> value = field.write(rule);
    if (!value) continue;
    out += before;
    YamlText::write_field(out, kRuleIndent, field.name, *value);
    before = "    ";
  }
}

}  // namespace

std::string write_rules(const Rules& rules) {
  std::string out;
  for (const Field<Rules>& field : top_fields()) {
    const std::optional<YamlText> value = field.write == nullptr ? std::nullopt : field.write(rules);
    if (value) YamlText::write_field(out, 0, field.name, *value);
  }
  out += rules.rules.empty() ? "rules: []\n" : "rules:\n";
  for (const Rule& rule : rules.rules) write_rule(rule, out);
  return out;
}

}  // namespace weir::rules
