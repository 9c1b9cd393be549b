#include "admin/rules_check.h"

#include <algorithm>
#include <charconv>

#include "rules/compile/rule_set.h"
#include "rules/read/rules_file.h"

namespace weir::admin {
namespace {

constexpr std::string_view kName = "rules";

// "rules:3:9: limit: is 0, expected …" without what was read of it; nothing changes if it does not begin so.
bool take_number(std::string_view& rest, std::int64_t& number) {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || end == rest.data() + rest.size() || *end != ':') return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
  return true;
}

RulesFault fault_of(std::string_view line) {
  RulesFault fault;
  std::string_view rest = line;
  if (rest.starts_with(kName) && rest.substr(kName.size()).starts_with(':')) {
    std::string_view numbers = rest.substr(kName.size() + 1);
    if (take_number(numbers, fault.line) && take_number(numbers, fault.column)) rest = numbers;
  }
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::size_t colon = rest.find(": ");
  if (colon != std::string_view::npos && rest.substr(0, colon).find(' ') == std::string_view::npos) {
    fault.field = rest.substr(0, colon);
    rest.remove_prefix(colon + 2);
  }
  fault.message = rest;
  return fault;
}

std::vector<RulesFault> faults_of(std::string_view message) {
  std::vector<RulesFault> faults;
  while (!message.empty()) {
    const std::string_view line = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(line.size() + 1, message.size()));
    if (!line.empty()) faults.push_back(fault_of(line));
  }
  return faults;
}

}  // namespace

CheckedRules check_rules_text(const std::string& text, TimePoint now) {
  CheckedRules checked;
  const std::string name(kName);
  Result<Rules> read = rules::parse_rules(rules::SourceTexts{{name, text}}, name, now, checked.warnings);
  if (!read.ok()) {
    checked.faults = faults_of(read.failure().message);
    return checked;
  }
  checked.rules = std::move(read).value();
  rules::RuleNames names;
  const auto compiled = rules::RuleSet::compile(checked.rules, names);
  if (!compiled.ok()) checked.faults = faults_of(compiled.failure().message);
  return checked;
}

void write_faults(JsonWriter& out, const std::vector<RulesFault>& faults) {
  constexpr std::size_t kMostShown = 100;
  out.begin_array("errors");
  for (std::size_t i = 0; i < std::min(kMostShown, faults.size()); ++i) {
    out.begin_object();
    out.member("line", faults[i].line);
    out.member("column", faults[i].column);
    out.member("field", faults[i].field);
    out.member("message", faults[i].message);
    out.end_object();
  }
  out.end_array();
}

void write_texts(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  out.begin_array(name);
  for (const std::string& each : texts) out.value(each);
  out.end_array();
}

}  // namespace weir::admin
