// Checks rules that someone sent, as the server would before it loads them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "admin/json_writer.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::admin {

struct RulesFault {
  std::int64_t line = 0;  // 0: of the whole text
  std::int64_t column = 0;
  std::string field;
  std::string message;
};

struct CheckedRules {
  std::vector<RulesFault> faults;  // empty: the rules are valid
  std::vector<std::string> warnings;
  Rules rules;

  bool ok() const { return faults.empty(); }
};

CheckedRules check_rules_text(const std::string& text, TimePoint now);

// "errors":[{"line":…,"column":…,"field":…,"message":…}]
void write_faults(JsonWriter& out, const std::vector<RulesFault>& faults);
void write_texts(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts);

}  // namespace weir::admin
