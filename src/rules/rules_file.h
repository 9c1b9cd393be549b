// Reads rules files: DESIGN §3 as YAML, every field checked.
//
// The failure lists all faults, one per line, "file:line:column: field: what is wrong and what is expected". Bounds:
// rule_check.h, conditions.h, yaml_document.h and here. Pure apart from reading files; thread-safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/fault_list.h"
#include "rules/yaml_document.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace weir::rules {

inline constexpr std::size_t kMaxRulesFileBytes = kMaxYamlBytes;
inline constexpr std::size_t kMaxRulesFolderBytes = 4 * kMaxRulesFileBytes;
inline constexpr std::size_t kMaxRulesFiles = 1'000;

// A file, or a folder: all its *.yaml and *.yml whose names do not begin with a dot, in the order of their names.
// `defaults` apply to the file they stand in, `global_mode: shadow` in any file applies to all.
Result<Rules> read_rules_file(const std::filesystem::path& path);

// Gives each file of the path to `take`, in order. A file that is not YAML is a fault; one that cannot be read ends it.
Status read_documents(const std::filesystem::path& path, FaultList& faults,
                      const std::function<void(const YamlDocument&)>& take);

// From text; `file_name` is what faults are reported under.
Result<Rules> parse_rules(std::string_view text, const std::string& file_name);

// The files that read_rules_file reads: the path itself unless it is a folder.
Result<std::vector<std::filesystem::path>> list_rules_files(const std::filesystem::path& path);

}  // namespace weir::rules
