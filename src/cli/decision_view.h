// DecisionView: the JSON of a decision, read back and shown to people. A decision of a server and one made in this
// process are shown by the same code.
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
  std::int64_t limit = -1;  // -1: unlimited
  std::int64_t remaining = 0;
  std::int64_t capacity = 0;   // 0: the server is of a version that does not send it
  std::int64_t window_ms = 0;  // the same
  std::int64_t retry_after_ms = 0;
  std::int64_t reset_after_ms = 0;
  std::string subject;  // empty: nothing was counted
};

struct DecisionView {
  bool allowed = true;
  bool degraded = false;
  std::string reason;
  std::string rule;     // empty: none decided
  std::string message;  // of the rule that denied; usually empty
  std::int64_t retry_after_ms = 0;
  std::int64_t retry_at_ms = 0;  // Unix time; 0: no wait, or the server does not send it
  std::int64_t delay_ms = 0;
  std::vector<RuleView> rules;

  // invalid_argument: the text is a problem report; the message is its detail. internal: Weir does not answer like
  // this.
  static Result<DecisionView> read(std::string_view json);
  // The verdict, then every rule.
  void show(const Terminal& terminal) const;
  // Every rule, one line each, in columns. Without verdicts after a refund or a reset, which decide nothing.
  void show_rules(const Terminal& terminal, bool verdicts) const;
};

}  // namespace weir::cli
