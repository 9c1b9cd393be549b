// The fields of a rules file: one table for each kind of map, in which a field is read, written, checked and
// documented.
//
// The reader, the writer (rules_text.h), check_rule and the reference in docs/rules.md all use these tables, so a new
// field is one new row. The tables are constant; all functions are pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/compile/rule_check.h"
#include "rules/read/field_at.h"
#include "rules/read/yaml_text.h"
#include "weir/rule.h"

namespace weir::rules {

template <typename T>
struct Field {
  std::string_view name;
  std::string_view meaning;  // Markdown, for the reference
  std::string_view absent;   // Markdown: what applies without the field
  // Errors go to the list of `at`. Null: read by the code that reads the map as a whole.
  void (*read)(const FieldAt& at, T& into) = nullptr;
  // None: the field is not written, because reading without it gives the same. Null: as for `read`.
  std::optional<YamlText> (*write)(const T& from) = nullptr;
  // What is wrong with the value, wherever it came from. Null: nothing can be, or the row of another field says it.
  void (*check)(const T& value, RuleFaults& faults) = nullptr;
};

// The top level of a file; a rule; a plan or what an override changes; an override, apart from that; a block; a local
// limit; what happens when the store does not answer; an estimate.
std::span<const Field<Rules>> top_fields();
std::span<const Field<Rule>> rule_fields();
std::span<const Field<AllowanceChange>> change_fields();
std::span<const Field<Override>> override_fields();
std::span<const Field<Block>> block_fields();
std::span<const Field<LocalLimit>> local_limit_fields();
std::span<const Field<OnStoreFailure>> store_failure_fields();
std::span<const Field<Estimate>> estimate_fields();

template <typename T>
std::vector<std::string_view> field_names(std::span<const Field<T>> fields) {
  std::vector<std::string_view> names;
  names.reserve(fields.size());
  for (const Field<T>& field : fields) names.push_back(field.name);
  return names;
}

// The fields of `from` that are not absent, as a map.
template <typename T>
void write_fields(std::span<const Field<T>> fields, const T& from, YamlText& map) {
  for (const Field<T>& field : fields) {
    std::optional<YamlText> value = field.write == nullptr ? std::nullopt : field.write(from);
    if (value) map.add(field.name, std::move(*value));
  }
}

// The table as Markdown: | field | meaning | default |.
template <typename T>
std::string fields_as_markdown(std::span<const Field<T>> fields) {
  std::string out = "| field | meaning | default |\n|---|---|---|\n";
  for (const Field<T>& field : fields) {
    out.append("| `").append(field.name).append("` | ").append(field.meaning).append(" | ").append(field.absent);
    out += " |\n";
  }
  return out;
}

}  // namespace weir::rules
