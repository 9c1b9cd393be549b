// The formats that rules can be written in: our own, and those of two other rate limiters, whose files can be served
// unchanged or converted. Pure apart from reading files; thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/read/rules_source.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

enum class RulesFormat : std::uint8_t {
  weir,
  envoy,      // envoyproxy/ratelimit: one domain per file (envoy_file.h)
  limitador,  // Limitador's limits file (limitador_file.h)
};

std::string_view format_name(RulesFormat format);
std::optional<RulesFormat> format_from_name(std::string_view name);

struct ForeignRules {
  Rules rules;
  // What the files ask for and is not supported here, "file:line:column: field: …", one line each.
  std::vector<std::string> notes;
  // What is valid but probably not meant (rule_warnings.h), "file:line:column: field: …", or "rule ID: field: …" for
  // foreign formats. Bounded.
  std::vector<std::string> warnings;
};

// A file or a folder (rules_source.h). The failure lists all errors, "file:line:column: field: what is wrong".
// `now` decides which overrides have expired.
Result<ForeignRules> read_rules(const std::filesystem::path& path, RulesFormat format, TimePoint now = {});
// The same from texts that have been read; `name` is what errors of the whole are reported under.
Result<ForeignRules> parse_rules(const SourceTexts& texts, const std::string& name, RulesFormat format,
                                 TimePoint now = {});

}  // namespace weir::rules
