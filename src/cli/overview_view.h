// Overview: what `weir status` and `weir top` show of a server, read from GET /admin/v1/overview. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/admin_client.h"

namespace weir::cli {

struct RuleRow {
  std::string rule;
  std::string mode;
  double passed = 0;  // per second, like the next two
  double denied = 0;
  double shadow_denied = 0;
  bool fallback = false;
};

struct SubjectRow {
  std::string subject;
  std::string rule;
  double value = 0;  // per second; of those close to their limit: the share that is used
  std::int64_t used = 0;
  std::int64_t limit = 0;
};

struct Overview {
  std::string node;
  std::string at;
  double allowed = 0;
  double denied = 0;
  double denied_share = 0;
  double usual_denied_share = 0;
  double shadow_denied = 0;
  double shed = 0;
  double blocked = 0;
  double degraded = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  std::string store;
  bool store_ok = true;
  std::string breaker;
  double store_p99_ms = 0;
  double store_keys = 0;  // in Redis an estimate, like the next
  double store_bytes = 0;
  std::string database;
  bool database_ok = true;
  std::string database_detail;
  std::string rules_version;
  std::string rules_error;
  std::vector<std::string> fallbacks;  // "search-per-key: allow"
  std::vector<double> series;          // all decisions a second, oldest first; -1 where nothing is known
  std::vector<RuleRow> rules;
  std::vector<SubjectRow> denied_subjects;
  std::vector<SubjectRow> near_limit;
  std::vector<SubjectRow> hot_subjects;

  bool is_shedding() const { return is_seen(shed); }
  // A rate that does not show as 0.
  static bool is_seen(double per_second) { return per_second >= 0.05; }
  // What is wrong, a sentence each; empty: nothing.
  std::vector<std::string> troubles() const;
};

Overview read_overview(JsonView json);

// "12.3k/s allowed, 3.2/s denied (0.1 %, usually 0.0 %), 812/s shed": what matters most is first.
std::string decisions_text(const Overview& now, std::string_view separator, bool with_usual = true);

// "1234", "12.3k", "0.4": at most five characters.
std::string rate_text(double per_second);
// A whole number; from 1,000 on as a rate.
std::string count_text(double count);
// "3.2 %"
// "1.4 MB"
std::string bytes_text(double bytes);
std::string percent_text(double share);

}  // namespace weir::cli
