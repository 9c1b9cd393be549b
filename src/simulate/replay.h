// Replay: decides about the requests of a log by one or two rule sets, at the time that the log says, with the engine
// that serves.
//
//   auto replay = Replay::create({.sets = {{"rules.yaml", rules}}});
//   while (logs.next()) replay.value()->add(logs.record(), logs.current());
//   Report report = replay.value()->finish(&logs);
//
// Memory is bounded: buckets by ReplayOptions::max_bytes for each set, subjects by SubjectTable. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "identity/identity.h"
#include "keys/key_encoder.h"
#include "observe/subject_text.h"
#include "simulate/charge_tape.h"
#include "simulate/log_attributes.h"
#include "simulate/log_reader.h"
#include "simulate/report.h"
#include "weir/limiter.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace weir::simulate {

struct NamedRules {
  std::string name;
  Rules rules;
};

struct ReplayOptions {
  std::vector<NamedRules> sets;  // one or two
  identity::IdentityOptions identity;
  std::vector<FieldMapping> mappings;
  std::size_t max_bytes = std::size_t{512} << 20;
  std::size_t top = 20;          // subjects in each list
  std::optional<double> target;  // share of denials to suggest limits for, 0 to 1
  bool plain_subjects = true;    // false: subjects are shown by their hash only
};

class Replay {
 public:
  // The failure names the set and what is wrong with its rules, or the option of identity.
  static Result<std::unique_ptr<Replay>> create(ReplayOptions options);

  // One line of a log.
  void add(const LogRecord& record, const LogReader& from);
  // A request whose attributes are known. Requests must come in the order of time.
  void add(TimePoint time, const Request& request);
  std::uint64_t requests() const { return requests_; }

  // `logs`: what the records came from; null: none. Afterwards nothing can be added.
  Result<Report> finish(const MergedLogs* logs);

 private:
  struct RuleState {
    RuleSummary summary;
    std::vector<std::string> per;
    Duration window{0};
    AllowanceSpec spec;
    bool counted = false;  // it has a bucket, so peaks and suggestions mean something
    std::unique_ptr<TimeSeries> denied;
  };
  struct Set {
    SetSummary summary;
    std::unique_ptr<Limiter> limiter;
    std::vector<std::uint32_t> by_ordinal;  // of outcomes: indexes of rules_
    Decision decision;
  };
  static constexpr std::uint32_t kNoRule = UINT32_MAX;
  static constexpr std::size_t kMaxSeries = 64;  // rules whose denials are kept by time

  Replay(ReplayOptions options, LogAttributes attributes);
  Status add_set(NamedRules set, std::size_t index);
  std::uint32_t rule_of(Set& set, const RuleOutcome& outcome);
  void count_outcomes(std::size_t index, TimePoint time, const Request& request);
  void count_subject(std::size_t index, RuleState& rule, const RuleOutcome& outcome, TimePoint time, bool denied,
                     const Request& request);
  std::string subject_of(const RuleState& rule, const RuleOutcome& outcome, const Request& request) const;
  void add_lists(Report& report) const;
  Status add_suggestions(Report& report);
  void add_notes(Report& report) const;

  const ReplayOptions options_;
  LogAttributes attributes_;
  const HashKey hash_key_;
  const keys::KeyEncoder encoder_;
  const observe::SecretNames secrets_;
  const std::shared_ptr<ManualClock> clock_;
  std::vector<Set> sets_;
  std::vector<RuleState> rules_;
  std::unordered_map<std::string, std::uint32_t> rule_index_;
  SubjectTable subjects_;
  TimeSeries series_;
  PeakRates peaks_;
  std::unique_ptr<ChargeTape> tape_;  // null: no suggestions
  bool has_quotas_ = false;           // some set has quota rules, which were left out
  std::size_t series_used_ = 0;

  std::uint64_t requests_ = 0;
  std::uint64_t refused_ = 0;
  std::optional<BadLine> first_refused_;
  std::uint64_t logged_429_ = 0;
  std::uint64_t out_of_order_ = 0;
  std::uint64_t newly_denied_ = 0;
  std::uint64_t newly_allowed_ = 0;
  TimePoint from_{};
  TimePoint latest_{};
};

}  // namespace weir::simulate
