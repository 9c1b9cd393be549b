// Rules files as data, for programs that look at rules, change them or take them from elsewhere before they load them.
//
//   auto file = weir::read_rules("rules.yaml");
//   if (!file.ok()) { std::cerr << file.failure().message << '\n'; return 1; }   // file, line, column, what is
//   expected for (const std::string& warning : file.value().warnings) std::cerr << warning << '\n';
//   file.value().rules.global_shadow = true;
//   auto limiter = weir::Limiter::create(file.value().rules);
//
// Limiter::open() is shorter where the file is loaded as it is, and can reload it. Thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir {

struct RulesFile {
  Rules rules;
  std::vector<std::string> warnings;  // "file:line:column: field: what", as `weir rules validate` prints them
};

// A file, or a folder of them (docs/rules.md). The failure lists every error, one a line. `now` decides which overrides
// have ended, which is a warning; without it, none has.
Result<RulesFile> read_rules(const std::filesystem::path& path, TimePoint now = {});
// The same from text. `name` is what errors and warnings are reported under.
Result<RulesFile> parse_rules(std::string_view text, const std::string& name, TimePoint now = {});

}  // namespace weir
