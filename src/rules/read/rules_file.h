// Reads rules files: YAML, every field checked.
//
// The failure lists all errors, one per line, "file:line:column: field: what is wrong and what is expected". Bounds:
// rule_check.h, conditions.h, yaml_document.h and rules_source.h. Pure apart from reading files; thread-safe.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml_document.h"
#include "rules/compile/fault_list.h"
#include "rules/read/rules_source.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

// A file or a folder (rules_source.h). `defaults` apply to their own file, `global_mode: shadow` and
// `on_no_rule: deny` in any file to all.
Result<Rules> read_rules_file(const std::filesystem::path& path);

// The same from texts that have been read; `name` is what errors of the whole are reported under. `warnings` gets the
// lines of rule_warnings.h, with their positions.
Result<Rules> parse_rules(const SourceTexts& texts, const std::string& name, TimePoint now,
                          std::vector<std::string>& warnings);

// Gives each text to `take`, in order. One that is not YAML is an error.
void read_documents(const SourceTexts& texts, FaultList& faults,
                    const std::function<void(const base::YamlDocument&)>& take);

// From text; `file_name` is what errors are reported under.
Result<Rules> parse_rules(std::string_view text, const std::string& file_name);

}  // namespace weir::rules
