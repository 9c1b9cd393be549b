// Metrics: everything a scrape shows, summed over the loops at the moment it is asked for.
//
// The hot path counts into DecisionCounters; the rest of the process is asked through `Facts`, a plain value that the
// server fills on each scrape. Labels are bounded: rules by kMaxRuleLabels (the rest is rule="other"), spaces of
// ad-hoc charges likewise, everything else by an enumeration. Rules that are no longer loaded have no series.
//
// Thread-safe once built, if `facts` is. Borrows the counters.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/latency_counts.h"
#include "observe/decision_counters.h"
#include "weir/time.h"

namespace weir::observe {

// What a store on the network has done, summed over the loops.
struct RemoteStoreFacts {
  struct FailureCount {
    std::string_view kind;
    std::uint64_t count = 0;
  };
  struct LatencyBucket {
    double below_seconds = 0;  // the last one counts all the rest
    std::uint64_t count = 0;
  };
  struct ScriptOutcome {
    std::string_view outcome;
    std::vector<LatencyBucket> buckets;
  };
  struct Script {
    std::string_view name;
    std::uint64_t errors = 0;
    std::vector<ScriptOutcome> outcomes;
  };
  struct Server {
    std::string name;
    std::uint64_t calls = 0;
    std::uint64_t answered = 0;
    double latency_seconds = 0;  // of all that were answered, together
    std::uint64_t failures = 0;
    std::int64_t in_flight = 0;
    std::int64_t memory_bytes = -1;  // -1: not known, like the next two
    std::int64_t memory_max_bytes = -1;
    std::int64_t cpu_us = -1;
    std::int64_t keys = -1;  // ours, estimated from a sample, like the next
    std::int64_t key_bytes = -1;
  };
  enum class Breaker : std::uint8_t { closed, open, half_open };
  Breaker breaker = Breaker::closed;
  std::uint64_t breaker_opened = 0;
  std::uint64_t calls = 0;
  std::uint64_t script_calls = 0;
  std::uint64_t script_loads = 0;
  std::uint64_t redirects = 0;
  std::uint64_t connects = 0;
  std::uint64_t prefilter_hits = 0;
  double fallback_seconds = 0;
  std::uint64_t census_failures = 0;
  std::vector<FailureCount> failures;
  std::vector<LatencyBucket> latency;
  std::vector<Script> scripts;
  std::vector<Server> servers;
};

// How often a failure policy answered for a rule.
struct PolicyCount {
  std::string_view policy;
  std::uint64_t count = 0;
};

// A rule that a failure policy answers for at the moment, and for how long that has been so.
struct RuleFallback {
  std::uint32_t ordinal = 0;
  std::string_view policy;
  Duration lasted{0};
};

// Subjects of a rule that have a bucket at the moment.
struct RuleSubjects {
  std::uint32_t ordinal = 0;
  std::int64_t count = 0;
};

// Requests with a mistake that the rules met, such as "unknown_plan".
struct RuleIssueCount {
  std::string_view issue;
  std::uint64_t count = 0;
};

// Answers over HTTP of one class, such as "2xx".
struct StatusCount {
  std::string_view name;
  std::uint64_t count = 0;
};

// Requests that identity refused, by why: "malformed", "unauthenticated", "revoked_key".
struct RefusalCount {
  std::string_view reason;
  std::uint64_t count = 0;
};

// Logins that failed: of which listener, and whether by "password", "token", "no_token", "client_certificate", or
// "throttled" because too many failed before.
struct FailedLoginCount {
  std::string listener;
  std::string_view kind;
  std::uint64_t count = 0;
};

// The times that gateways sent, by result: "used", "missing", "untrusted", "unreadable", "out_of_bounds".
struct GatewayTimeCount {
  std::string_view result;
  std::uint64_t count = 0;
};

// How wrong the estimates of one rule were.
struct EstimateErrors {
  std::string rule;
  std::uint64_t settled = 0;
  std::uint64_t over = 0;   // units reserved too much
  std::uint64_t under = 0;  // and too little
};

// A number that one module alone has. Those of one name are one family, with the help of the first.
struct FactMetric {
  enum class Kind : std::uint8_t { gauge, counter };
  std::string_view name;
  std::string_view help;
  Kind kind = Kind::gauge;
  double value = 0;
  std::vector<std::pair<std::string_view, std::string>> labels{};  // bounded, as everywhere
};

// How long the answers of one front end took: a sample of them.
struct FrontEndTimes {
  std::string front_end;  // "http", as in `listen`
  base::LatencySums sums;
};

// Where the steps of what is left of a rule end, as shares of its capacity; the last step has all the rest.
inline constexpr std::array<double, 8> kRemainingBounds = {0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1};

// What was left of a rule after decisions, of a sample of them.
struct RuleRemaining {
  std::string rule;
  std::array<std::uint64_t, kRemainingBounds.size() + 1> counts{};
};

// The state of the process besides its decisions.
struct Facts {
  std::string version;
  TimePoint started;

  std::uint64_t reloads_succeeded = 0;
  std::uint64_t reloads_failed = 0;
  std::uint64_t reloads_unchanged = 0;
  TimePoint rules_last_success;
  bool rules_current = true;  // false: the file on disk is invalid and older rules are used
  std::uint64_t rules_loaded = 0;
  std::uint64_t rules_version = 0;  // of the active rules
  std::vector<RuleIssueCount> rule_issues;

  std::string_view store_name = "memory";
  std::uint64_t store_keys = 0;
  std::uint64_t store_bytes = 0;
  std::uint64_t store_max_bytes = 0;
  std::uint64_t store_expired = 0;
  std::uint64_t store_evictions = 0;
  std::uint64_t store_refused_newcomers = 0;
  std::uint64_t store_coarse_charges = 0;  // of buckets that could not grow
  std::uint64_t snapshots_saved = 0;
  std::uint64_t snapshots_failed = 0;
  std::uint64_t local_denials = 0;  // by a rule's local_limit
  std::uint64_t forged_handles = 0;
  std::vector<EstimateErrors> estimates;
  std::uint64_t uncharged_units = 0;  // of settled reservations, beyond an overdraft
  std::vector<PolicyCount> fallbacks;
  std::vector<RuleSubjects> rule_subjects;       // with Redis: an estimate
  std::vector<RuleFallback> rule_fallbacks;      // empty: the store answers for all rules
  std::optional<RemoteStoreFacts> remote_store;  // none: buckets live in this process

  std::vector<StatusCount> http_responses;
  std::vector<FrontEndTimes> answer_times;

  std::vector<RefusalCount> refused_callers;
  std::vector<FailedLoginCount> failed_logins;
  bool identity_current = true;  // false: a file of keys on disk is invalid and older keys are used

  std::uint64_t connections_open = 0;  // on all listeners
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;    // over the bound, or for want of descriptors
  std::uint64_t connections_timed_out = 0;  // slow senders and slow readers
  std::uint64_t connection_bytes = 0;       // memory that connections take
  std::uint64_t connection_max_bytes = 0;
  std::uint64_t connection_memory_refusals = 0;  // messages and connections turned away for want of memory

  Duration clock_ahead{0};  // of bucket time before the wall clock, after that was set back
  std::uint64_t clock_steps_forward = 0;
  std::uint64_t clock_steps_backward = 0;
  std::vector<GatewayTimeCount> gateway_times;  // empty: gateways send no time

  std::uint64_t log_lines_suppressed = 0;

  std::vector<RuleRemaining> remaining;

  std::vector<FactMetric> more;
};

class Metrics {
 public:
  Metrics(std::vector<const DecisionCounters*> loops, std::shared_ptr<const RuleLabels> labels,
          std::function<Facts()> facts);

  // The scrape in the Prometheus text format.
  std::string text() const;

  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  // All but what there is for each rule (rule_metrics.h).
  std::vector<prometheus::MetricFamily> collect(const Facts& facts, const RuleLabels::Table& table) const;
  void collect_decisions(std::vector<prometheus::MetricFamily>& out) const;
  static void collect_rule_fallbacks(const Facts& facts, const RuleLabels::Table& table,
                                     std::vector<prometheus::MetricFamily>& out);
  void collect_charges(std::vector<prometheus::MetricFamily>& out) const;

  const std::vector<const DecisionCounters*> loops_;
  const std::shared_ptr<const RuleLabels> labels_;
  const std::function<Facts()> facts_;
  mutable std::atomic<std::size_t> last_size_{0};  // of a scrape, to make room for the next
};

}  // namespace weir::observe
