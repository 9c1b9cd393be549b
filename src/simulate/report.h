// Report: what a replayed log tells about one or two rule sets. A plain value; report_json.h and report_html.h write
// it.
//
// With two sets the first is called "now" and the second "then"; with one, both words mean that one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulate/log_reader.h"
#include "simulate/subject_table.h"
#include "simulate/time_series.h"
#include "weir/time.h"

namespace weir::simulate {

struct LogSummary {
  std::string name;
  std::string format;
  std::uint64_t lines = 0;
  std::uint64_t unparsed = 0;
};

struct SetSummary {
  std::string name;
  std::size_t rules = 0;
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::uint64_t shadow_denied = 0;  // allowed, and a rule in shadow mode would have denied
  std::uint64_t no_rule = 0;        // no rule applied
  std::uint64_t degraded = 0;       // the memory for buckets was full, and a failure policy decided
};

// A limit that would have denied at most the target share of a rule's requests.
struct Suggestion {
  std::string rule;
  std::int64_t limit = 0;  // that was simulated
  double share = 0;        // of the rule's requests that it denies by itself
  std::int64_t suggested = 0;
  double suggested_share = 0;
  bool reached = true;   // false: no limit that is possible denies so few
  bool cut_off = false;  // computed from the beginning of the log only
};

struct RuleSummary {
  std::string rule;
  std::array<std::string, kMaxSets> summary;  // empty: the set does not have it
  std::array<std::string, kMaxSets> mode;
  std::array<std::uint64_t, kMaxSets> requests{};  // that it applied to
  std::array<std::uint64_t, kMaxSets> denied{};    // that were denied and report it
  std::array<std::uint64_t, kMaxSets> over{};      // that exceeded it: denied, in shadow, or denied by another too
  std::uint64_t subjects = 0;                      // different ones, as far as they were told apart
  TimePoint first_denied{};                        // under the last set; the epoch: never
  TimePoint last_denied{};
  std::vector<std::uint64_t> denied_series;  // under the last set, by the steps of the report; empty: none
};

struct Report {
  std::vector<LogSummary> logs;
  std::uint64_t lines = 0;
  std::uint64_t unparsed = 0;
  std::optional<BadLine> first_unparsed;
  std::uint64_t refused = 0;  // identity would have refused them: 400
  std::optional<BadLine> first_refused;
  std::uint64_t requests = 0;
  std::uint64_t logged_429 = 0;    // that the log says were answered with 429
  std::uint64_t out_of_order = 0;  // with a time before the line before; counted at the latest time seen
  TimePoint from{};
  TimePoint to{};

  std::vector<SetSummary> sets;
  std::vector<RuleSummary> rules;         // most denials first
  std::vector<SubjectCounts> top_denied;  // by denials under the last set
  std::vector<SubjectCounts> top_requests;
  std::vector<SubjectCounts> changed;  // two sets: by how much their denials differ
  std::uint64_t newly_denied = 0;      // requests that the first set allows and the second denies
  std::uint64_t newly_allowed = 0;
  bool exact_subjects = true;  // false: more subjects than could be kept
  PeakRates::Peak peak_second;
  PeakRates::Peak peak_minute;
  TimePoint series_start{};
  Duration series_step{0};
  std::vector<StepCounts> series;
  double target = 0;
  std::vector<Suggestion> suggestions;
  std::vector<std::string> notes;

  const SetSummary& now() const { return sets.front(); }
  const SetSummary& then() const { return sets.back(); }
};

}  // namespace weir::simulate
