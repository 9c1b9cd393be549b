// DecisionView: the JSON of a decision, read back and shown to people. Whether the decision came from a
// server or was made in this process, it is shown by the same code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"
#include "weir/result.h"

namespace weir::cli {

struct RuleView {
  std::string rule;
  std::string algorithm;
  std::string mode;
  bool allowed = true;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  std::int64_t retry_after_ms = 0;
  std::int64_t reset_after_ms = 0;
};

struct DecisionView {
  bool allowed = true;
  bool degraded = false;
  std::string reason;
  std::string rule;  // empty: none decided
  std::int64_t retry_after_ms = 0;
  std::int64_t delay_ms = 0;
  std::vector<RuleView> rules;

  // invalid_argument: this is a problem report; the message is its detail. internal: this is no answer of ours.
  static Result<DecisionView> read(std::string_view json);
  void show(const Terminal& terminal) const;
};

}  // namespace weir::cli
