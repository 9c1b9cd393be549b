// The files that rules are read from, as texts.
//
// A path is a file, or a folder: all its *.yaml and *.yml whose names do not begin with a dot, in the order of their
// names. Failures: Code::unavailable (temporary: too many open files, a disk error), not_found,
// permission_denied, resource_exhausted (too large or too many), invalid_argument (not a regular file); the message
// begins with the path. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/yaml_document.h"
#include "rules/read/file_state.h"
#include "weir/result.h"

namespace weir::rules {

inline constexpr std::size_t kMaxRulesFileBytes = base::kMaxYamlBytes;
inline constexpr std::size_t kMaxRulesFolderBytes = 4 * kMaxRulesFileBytes;
inline constexpr std::size_t kMaxRulesFiles = 1'000;

struct SourceText {
  std::string name;
  std::string text;
};
using SourceTexts = std::vector<SourceText>;

// The files of a path: the path itself unless it is a folder.
Result<std::vector<std::filesystem::path>> list_rules_files(const std::filesystem::path& path);

// The path that means standard input.
inline constexpr const char* kStandardInput = "-";

// The texts at one moment: files that change while they are read are read again (read_at_rest). The path `-` is
// standard input, up to its end.
Result<SourceTexts> read_source(const std::filesystem::path& path);

// Reads until `look` finds the same before and after, kMaxReads times at most; what was read last counts then. Calls
// `pause` in between.
inline constexpr int kMaxReads = 20;
Result<SourceTexts> read_at_rest(const std::function<Result<FileStates>()>& look,
                                 const std::function<Result<SourceTexts>()>& read, const std::function<void()>& pause);

// The same number for the same names and texts, never 0. For telling versions of an operator's files apart; not
// collision-resistant.
std::uint64_t fingerprint(const SourceTexts& texts);

}  // namespace weir::rules
