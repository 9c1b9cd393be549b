// The versions of the rules in the database: every text that was active, with its author and reason.
//
// A version is numbered by the database and never changes. Where `rules: database`, the latest one with the source
// kDatabaseRules is active; versions of other sources are a record of files that servers have loaded.
//
// Functions on a session, which belongs to its thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "database/session.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::control {

inline constexpr std::string_view kRulesTopic = "rules";
inline constexpr std::string_view kDatabaseRules = "database";

struct RuleVersion {
  std::int64_t version = 0;
  TimePoint at{};
  std::string author;
  std::string reason;
  std::string node;
  std::string source;  // kDatabaseRules, or a path
  std::string hash;    // of the text
  std::int64_t rules = 0;
  std::string text;  // empty in lists
};

// 16 hexadecimal digits, the same for the same text.
std::string hash_of_rules(std::string_view text);

// Its number.
Result<std::int64_t> add_rule_version(database::Session& session, const RuleVersion& version);
// The latest of this source; with an empty one, of any.
Result<std::optional<RuleVersion>> latest_rule_version(database::Session& session, std::string_view source);
Result<std::optional<RuleVersion>> find_rule_version(database::Session& session, std::int64_t version);
// Newest first, without their texts, and only those with a number below `below`.
Result<std::vector<RuleVersion>> list_rule_versions(database::Session& session, std::int64_t below, std::int64_t limit);

// A version as one text, for a file that outlives the database's absence; and back.
std::string encode(const RuleVersion& version);
Result<RuleVersion> decode_rule_version(std::string_view text);

}  // namespace weir::control
