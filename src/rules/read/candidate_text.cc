#include "rules/read/candidate_text.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "rules/compile/rule_check.h"
#include "rules/read/rules_file.h"
#include "rules/read/rules_text.h"
#include "rules/read/yaml_text.h"

namespace weir::rules {
namespace {

constexpr std::string_view kFile = "rules";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Where the field begins in a line of its own; none: the line does not have it.
std::optional<std::size_t> field_column(const std::string& line, std::string_view field) {
  std::size_t at = line.find_first_not_of(' ');
  if (at == std::string::npos) return std::nullopt;
  if (line.compare(at, 2, "- ") == 0) at = line.find_first_not_of(' ', at + 1);
  if (at == std::string::npos || line.compare(at, field.size(), field) != 0) return std::nullopt;
  const std::size_t colon = at + field.size();
  return colon < line.size() && line[colon] == ':' ? std::optional(at) : std::nullopt;
}

bool is_blank(const std::string& line) {
  const std::size_t at = line.find_first_not_of(' ');
  return at == std::string::npos || line[at] == '#';
}

// The lines of one rule, from the one with its dash to the one before the next.
struct RuleLines {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t column = 0;  // of its fields
};

std::optional<RuleLines> find_rule(const std::vector<std::string>& lines, std::string_view id) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<std::size_t> column = field_column(lines[i], "id");
    if (!column) continue;
    std::string value = lines[i].substr(*column + 3);
    value = value.substr(0, value.find(" #"));
    std::erase_if(value, [](char c) { return c == ' ' || c == '"' || c == '\''; });
    if (value != id) continue;
    RuleLines found{.begin = i, .end = i + 1, .column = *column};
    const auto indent = [&](std::size_t line) { return lines[line].find_first_not_of(' '); };
    while (found.begin > 0 && indent(found.begin) >= found.column) --found.begin;
    while (found.end < lines.size() && (is_blank(lines[found.end]) || indent(found.end) >= found.column)) ++found.end;
    return found;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_field(const std::vector<std::string>& lines, const RuleLines& rule,
                                      std::string_view field) {
  for (std::size_t i = rule.begin; i < rule.end; ++i) {
    if (field_column(lines[i], field) == rule.column) return i;
  }
  return std::nullopt;
}

// The field and what is indented under it.
void remove_field(std::vector<std::string>& lines, RuleLines& rule, std::size_t line) {
  std::size_t end = line + 1;
  while (end < rule.end && !is_blank(lines[end]) && lines[end].find_first_not_of(' ') > rule.column) ++end;
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line), lines.begin() + static_cast<std::ptrdiff_t>(end));
  rule.end -= end - line;
}

// Gives the dash of a rule whose first field is removed to its next field. False: it has none.
bool move_dash(std::vector<std::string>& lines, const RuleLines& rule) {
  for (std::size_t i = rule.begin + 1; i < rule.end; ++i) {
    if (is_blank(lines[i]) || lines[i].find_first_not_of(' ') != rule.column) continue;
    const std::size_t dash = lines[rule.begin].find('-');
    lines[rule.begin][dash] = ' ';
    lines[i][dash] = '-';
    return true;
  }
  return false;
}

void set_field(std::vector<std::string>& lines, RuleLines& rule, std::string_view field, const std::string& value) {
  const std::string text = std::string(field) + ": " + value;
  if (const std::optional<std::size_t> line = find_field(lines, rule, field)) {
    const std::size_t comment = lines[*line].find(" #", rule.column);
    const std::string rest = comment == std::string::npos ? "" : " " + lines[*line].substr(comment);
    lines[*line] = lines[*line].substr(0, rule.column) + text + rest;
    return;
  }
  const std::size_t after = find_field(lines, rule, "limit").value_or(rule.begin) + 1;
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(after), std::string(rule.column, ' ') + text);
  ++rule.end;
}

std::string number_text(std::int64_t number) { return std::to_string(number); }

std::string duration_text(Duration duration) {
  std::string text;
  YamlText::duration(duration).write_value(text, 0);
  const std::size_t begin = text.find_first_not_of(' ');
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

// None: the rule is not written in lines of its own.
std::optional<std::string> edited(const std::string& text, const Rule& rule, CandidateEnd end) {
  std::vector<std::string> lines = lines_of(text);
  std::optional<RuleLines> found = find_rule(lines, rule.id);
  if (!found) return std::nullopt;
  const std::optional<std::size_t> candidate = find_field(lines, *found, "candidate");
  if (!candidate) return std::nullopt;
  if (*candidate == found->begin && !move_dash(lines, *found)) return std::nullopt;
  remove_field(lines, *found, *candidate);
  if (end == CandidateEnd::promoted) {
    const AllowanceChange& change = *rule.candidate;
    if (change.limit) set_field(lines, *found, "limit", number_text(*change.limit));
    if (change.window) set_field(lines, *found, "window", duration_text(*change.window));
    if (change.burst) set_field(lines, *found, "burst", number_text(*change.burst));
    if (change.queue) set_field(lines, *found, "queue", number_text(*change.queue));
  }
  return joined(lines);
}

// The same for a file whose lines end with CR LF.
std::optional<std::string> edited_as_written(const std::string& text, const Rule& rule, CandidateEnd end) {
  if (text.find('\r') == std::string::npos) return edited(text, rule, end);
  std::string plain = text;
  std::erase(plain, '\r');
  const std::optional<std::string> changed = edited(plain, rule, end);
  if (!changed) return changed;
  std::string made;
  for (const char c : *changed) made += c == '\n' ? "\r\n" : std::string(1, c);
  return made;
}

}  // namespace

Rule without_candidate(const Rule& rule, CandidateEnd end) {
  Rule changed = rule;
  if (end == CandidateEnd::promoted) changed.allowance = changed_spec(rule, *rule.candidate);
  changed.candidate.reset();
  return changed;
}

Result<EndedCandidate> end_candidate(const std::string& text, std::string_view id, CandidateEnd end) {
  Result<Rules> read = parse_rules(text, std::string(kFile));
  if (!read.ok()) return read.failure();
  Rules rules = std::move(read).value();
  const auto rule =
      std::find_if(rules.rules.begin(), rules.rules.end(), [&](const Rule& each) { return each.id == id; });
  if (rule == rules.rules.end()) return Failure{Code::not_found, "no rule has the id " + std::string(id)};
  if (!rule->candidate) {
    return Failure{Code::failed_precondition, "the rule " + std::string(id) + " has no candidate"};
  }
  const Rule before = *rule;
  *rule = without_candidate(before, end);
  if (const std::optional<std::string> shorter = edited_as_written(text, before, end)) {
    const Result<Rules> again = parse_rules(*shorter, std::string(kFile));
    if (again.ok() && again.value() == rules) return EndedCandidate{*shorter, before, *rule, false};
  }
  return EndedCandidate{write_rules(rules), before, *rule, true};
}

}  // namespace weir::rules
