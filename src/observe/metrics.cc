#include "observe/metrics.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <utility>

#include "observe/latency_metrics.h"
#include "observe/metric_families.h"
#include "observe/metric_text.h"
#include "observe/rule_metrics.h"
#include "observe/store_metrics.h"

namespace weir::observe {
namespace {

double unix_seconds(TimePoint time) { return static_cast<double>(micros(time)) / 1e6; }

void collect_rules(const Facts& facts, FactWriter& write) {
  write.counter("weir_rules_reloads_total",
                "Attempts to load the rules, by result; unchanged: the files equal the loaded rules.",
                facts.reloads_succeeded, {{"result", "success"}});
  write.also(facts.reloads_failed, {{"result", "failure"}});
  write.also(facts.reloads_unchanged, {{"result", "unchanged"}});
  write.gauge("weir_rules_last_success_timestamp_seconds", "When the current rules were loaded.",
              unix_seconds(facts.rules_last_success));
  write.gauge("weir_rules_current", "1 if the loaded rules are those on disk, 0 if the file there is invalid.",
              facts.rules_current ? 1 : 0);
  write.gauge("weir_rules_loaded", "Number of rules loaded.", static_cast<double>(facts.rules_loaded));
  write.gauge("weir_rules_version", "Version of the active rules, as /admin/v1/rules has it; 0: not recorded yet.",
              static_cast<double>(facts.rules_version));
}

void collect_rule_issues(const Facts& facts, std::vector<MetricFamily>& out) {
  MetricFamily issues = family(MetricType::Counter, "weir_rule_issues_total",
                               "Requests with a plan that a rule does not have, a cost that is not a whole number, or "
                               "without an attribute that a matching rule counts by.");
  for (const RuleIssueCount& each : facts.rule_issues) {
    issues.metric.push_back(sample(MetricType::Counter, static_cast<double>(each.count), {{"issue", each.issue}}));
  }
  if (!issues.metric.empty()) out.push_back(std::move(issues));
}

void collect_estimates(const Facts& facts, std::vector<MetricFamily>& out) {
  if (facts.estimates.empty()) return;
  MetricFamily settled = family(MetricType::Counter, "weir_estimate_settled_total",
                                "Committed reservations whose amount the rule had estimated.");
  MetricFamily over =
      family(MetricType::Counter, "weir_estimate_over_units_total", "Units by which estimates were too high.");
  MetricFamily under =
      family(MetricType::Counter, "weir_estimate_under_units_total", "Units by which estimates were too low.");
  for (const EstimateErrors& each : facts.estimates) {
    const auto counted = [&](std::uint64_t count) {
      return sample(MetricType::Counter, static_cast<double>(count), {{"rule", each.rule}});
    };
    settled.metric.push_back(counted(each.settled));
    over.metric.push_back(counted(each.over));
    under.metric.push_back(counted(each.under));
  }
  for (MetricFamily* each : {&settled, &over, &under}) out.push_back(std::move(*each));
}

void collect_store(const Facts& facts, FactWriter& write) {
  const Label store{"store", facts.store_name};
  write.gauge("weir_store_keys", "Buckets held now.", static_cast<double>(facts.store_keys), {store});
  write.gauge("weir_store_bytes", "Memory taken by buckets.", static_cast<double>(facts.store_bytes), {store});
  write.gauge("weir_store_max_bytes", "The bound on the memory taken by buckets.",
              static_cast<double>(facts.store_max_bytes), {store});
  write.counter("weir_store_expired_total", "Buckets removed because they were full again.", facts.store_expired,
                {store});
  write.counter("weir_store_evictions_total", "Refilled buckets evicted for new subjects.", facts.store_evictions,
                {store});
  write.counter("weir_store_refused_newcomers_total", "Charges that found no room for a new bucket.",
                facts.store_refused_newcomers, {store});
  write.counter("weir_store_coarse_charges_total",
                "Charges of buckets that could not grow at the memory bound and so count longer than their window.",
                facts.store_coarse_charges, {store});
  write.counter("weir_local_limit_denials_total", "Denials by a rule's local_limit, without asking the store.",
                facts.local_denials);
  write.counter("weir_forged_handles_total", "Invalid handles of leases and reservations: not sealed by this service.",
                facts.forged_handles);
  write.counter("weir_uncharged_units_total",
                "Units of commits, reports of usage and late charges beyond a rule's overdraft.",
                facts.uncharged_units);
  write.counter("weir_store_snapshots_total", "Snapshots of the store, by result.", facts.snapshots_saved,
                {{"result", "success"}});
  write.also(facts.snapshots_failed, {{"result", "failure"}});
}

void collect_fallbacks(const std::vector<PolicyCount>& counts, std::vector<MetricFamily>& out) {
  MetricFamily fallbacks = family(MetricType::Counter, "weir_fallback_decisions_total",
                                  "Times that a rule's failure policy answered in place of the store.");
  for (const PolicyCount& each : counts) {
    fallbacks.metric.push_back(sample(MetricType::Counter, static_cast<double>(each.count), {{"policy", each.policy}}));
  }
  if (!fallbacks.metric.empty()) out.push_back(std::move(fallbacks));
}

void collect_http(const std::vector<StatusCount>& counts, std::vector<MetricFamily>& out) {
  MetricFamily responses = family(MetricType::Counter, "weir_http_responses_total",
                                  "Answers of the HTTP API, by class of their status; 1xx is 100 Continue.");
  for (const StatusCount& each : counts) {
    responses.metric.push_back(sample(MetricType::Counter, static_cast<double>(each.count), {{"class", each.name}}));
  }
  if (!responses.metric.empty()) out.push_back(std::move(responses));
}

void collect_callers(const Facts& facts, std::vector<MetricFamily>& out) {
  MetricFamily refused = family(MetricType::Counter, "weir_refused_callers_total",
                                "Requests that identity refused before any rule was evaluated.");
  for (const RefusalCount& each : facts.refused_callers) {
    refused.metric.push_back(sample(MetricType::Counter, static_cast<double>(each.count), {{"reason", each.reason}}));
  }
  if (!refused.metric.empty()) out.push_back(std::move(refused));
  FactWriter(out).gauge("weir_identity_current",
                        "1 if the loaded keys and revocations are those on disk, 0 if a file there is invalid.",
                        facts.identity_current ? 1 : 0);
}

void collect_logins(const std::vector<FailedLoginCount>& counts, std::vector<MetricFamily>& out) {
  MetricFamily failed = family(MetricType::Counter, "weir_failed_logins_total",
                               "Logins that were refused, by listener and kind; throttled: refused without a check, "
                               "because too many from the same address had failed.");
  for (const FailedLoginCount& each : counts) {
    failed.metric.push_back(sample(MetricType::Counter, static_cast<double>(each.count),
                                   {{"listener", each.listener}, {"kind", each.kind}}));
  }
  if (!failed.metric.empty()) out.push_back(std::move(failed));
}

void collect_connections(const Facts& facts, FactWriter& write) {
  write.gauge("weir_connections", "Open connections, on all listeners.", static_cast<double>(facts.connections_open));
  write.counter("weir_connections_accepted_total", "Connections accepted.", facts.connections_accepted);
  write.counter("weir_connections_refused_total", "Connections refused: too many at once, or no descriptor left.",
                facts.connections_refused);
  write.counter("weir_connections_timed_out_total", "Connections closed because the peer sent or read too slowly.",
                facts.connections_timed_out);
  write.gauge("weir_connection_memory_bytes", "Memory that connections take, on all listeners.",
              static_cast<double>(facts.connection_bytes));
  write.gauge("weir_connection_memory_max_bytes", "The bound on the memory that connections take.",
              static_cast<double>(facts.connection_max_bytes));
  write.counter("weir_connection_memory_refusals_total",
                "Requests and connections refused because the memory for connections was used up.",
                facts.connection_memory_refusals);
}

void collect_clock(const Facts& facts, FactWriter& write, std::vector<MetricFamily>& out) {
  write.gauge("weir_clock_ahead_seconds",
              "How far the time that buckets count by is ahead of the wall clock; above 0 after that was set back.",
              static_cast<double>(facts.clock_ahead.count()) / 1e6);
  write.counter("weir_clock_steps_total", "Times that the wall clock was set, by direction.", facts.clock_steps_forward,
                {{"direction", "forward"}});
  write.also(facts.clock_steps_backward, {{"direction", "backward"}});
  MetricFamily times = family(MetricType::Counter, "weir_gateway_times_total",
                              "Times sent by gateways, by result (redis.time: gateway).");
  for (const GatewayTimeCount& each : facts.gateway_times) {
    times.metric.push_back(sample(MetricType::Counter, static_cast<double>(each.count), {{"result", each.result}}));
  }
  if (!times.metric.empty()) out.push_back(std::move(times));
}

void collect_more(const std::vector<FactMetric>& metrics, std::vector<MetricFamily>& out) {
  const std::size_t first = out.size();
  for (const FactMetric& each : metrics) {
    const MetricType type = each.kind == FactMetric::Kind::counter ? MetricType::Counter : MetricType::Gauge;
    // Samples of one family mostly follow each other.
    const auto known = std::find_if(out.rbegin(), out.rend() - static_cast<std::ptrdiff_t>(first),
                                    [&](const MetricFamily& family) { return family.name == each.name; });
    const bool is_new = known == out.rend() - static_cast<std::ptrdiff_t>(first);
    MetricFamily& in = is_new ? out.emplace_back(family(type, each.name, each.help)) : *known;
    in.metric.push_back(sample(type, each.value, {}));
    for (const auto& [name, value] : each.labels) in.metric.back().label.push_back({std::string(name), value});
  }
}

}  // namespace

Metrics::Metrics(std::vector<const DecisionCounters*> loops, std::shared_ptr<const RuleLabels> labels,
                 std::function<Facts()> facts)
    : loops_(std::move(loops)), labels_(std::move(labels)), facts_(std::move(facts)) {}

void Metrics::collect_decisions(std::vector<MetricFamily>& out) const {
  const auto sum = [this](auto&& read) {
    std::uint64_t total = 0;
    for (const DecisionCounters* loop : loops_) total += read(*loop);
    return total;
  };
  MetricFamily decisions = family(MetricType::Counter, "weir_decisions_total", "Decisions, by reason and answer.");
  for (int r = 0; r < kReasonCount; ++r) {
    const auto reason = static_cast<Reason>(r);
    for (const bool allowed : {true, false}) {
      const std::uint64_t count = sum([&](const DecisionCounters& c) { return c.decisions(reason, allowed); });
      // From the start with 0, where there can be a decision of that reason.
      const bool usual = allowed ? reason == Reason::ok || reason == Reason::no_rule : reason != Reason::ok;
      if (count == 0 && !usual) continue;
      decisions.metric.push_back(sample(MetricType::Counter, static_cast<double>(count),
                                        {{"reason", reason_name(reason)}, {"allowed", allowed ? "true" : "false"}}));
    }
  }
  if (!decisions.metric.empty()) out.push_back(std::move(decisions));
  FactWriter write(out);
  write.counter("weir_degraded_decisions_total", "Decisions made by a failure policy, without the store.",
                sum([](const DecisionCounters& c) { return c.degraded(); }));
}

// Of the rules without a label the one that has waited longest.
void Metrics::collect_rule_fallbacks(const Facts& facts, const RuleLabels::Table& table,
                                     std::vector<MetricFamily>& out) {
  FactWriter(out).gauge("weir_rules_on_fallback", "Rules that the store does not answer for at the moment.",
                        static_cast<double>(facts.rule_fallbacks.size()));
  std::map<std::pair<std::string_view, std::string_view>, Duration> longest;  // by rule and policy
  for (const RuleFallback& each : facts.rule_fallbacks) {
    Duration& lasted = longest[{table.ids[table.row(each.ordinal)], each.policy}];
    lasted = std::max(lasted, each.lasted);
  }
  MetricFamily seconds = family(MetricType::Gauge, "weir_rule_fallback_seconds",
                                "How long the store has not answered for the rule, by the policy that answers.");
  for (const auto& [labels, lasted] : longest) {
    seconds.metric.push_back(sample(MetricType::Gauge, static_cast<double>(lasted.count()) / 1e6,
                                    {{"rule", labels.first}, {"policy", labels.second}}));
  }
  if (!seconds.metric.empty()) out.push_back(std::move(seconds));
}

// A family of its own: a rule may have any id, that of a space too, and no two samples may have the same labels.
void Metrics::collect_charges(std::vector<MetricFamily>& out) const {
  std::map<std::string_view, std::array<std::uint64_t, kChargeResultCount>> sums;
  const auto add = [&sums](const ChargeCounters& charges, std::size_t row) {
    for (std::size_t r = 0; r < kChargeResultCount; ++r) {
      sums[charges.space(row)][r] += charges.charges(row, static_cast<ChargeResult>(r));
    }
  };
  for (const DecisionCounters* loop : loops_) {
    for (std::size_t row = 0; row < loop->charges().rows_used(); ++row) add(loop->charges(), row);
    add(loop->charges(), ChargeCounters::kOtherSpace);
  }
  MetricFamily charges = family(MetricType::Counter, "weir_ad_hoc_charges_total",
                                "Charges whose limit was sent with the request, by source and outcome.");
  for (const auto& [space, counts] : sums) {
    for (std::size_t r = 0; r < kChargeResultCount; ++r) {
      charges.metric.push_back(
          sample(MetricType::Counter, static_cast<double>(counts[r]),
                 {{"space", space}, {"outcome", charge_result_name(static_cast<ChargeResult>(r))}}));
    }
  }
  if (!charges.metric.empty()) out.push_back(std::move(charges));
}

std::string Metrics::text() const {
  const std::shared_ptr<const RuleLabels::Table> table = labels_->table();
  const Facts facts = facts_();
  std::string out;
  out.reserve(last_size_.load(std::memory_order_relaxed));
  write_rule_counts(out, loops_, *table);
  write_rule_subjects(out, facts.rule_subjects, *table);
  write_rule_remaining(out, facts.remaining);
  append_families(out, collect(facts, *table));
  last_size_.store(out.size() + out.size() / 8, std::memory_order_relaxed);
  return out;
}

std::vector<MetricFamily> Metrics::collect(const Facts& facts, const RuleLabels::Table& table) const {
  std::vector<MetricFamily> out;
  FactWriter write(out);
  write.gauge("weir_rules_without_label",
              "Loaded rules that are counted together as rule=\"other\", because there are too many.",
              static_cast<double>(table.without_label));
  collect_decisions(out);
  collect_charges(out);
  collect_rules(facts, write);
  collect_rule_issues(facts, out);
  collect_estimates(facts, out);
  collect_store(facts, write);
  collect_fallbacks(facts.fallbacks, out);
  collect_rule_fallbacks(facts, table, out);
  if (facts.remote_store) collect_remote_store(*facts.remote_store, out);
  collect_http(facts.http_responses, out);
  collect_answer_times(facts.answer_times, out);
  collect_logins(facts.failed_logins, out);
  collect_callers(facts, out);
  collect_connections(facts, write);
  collect_clock(facts, write, out);
  collect_more(facts.more, out);
  write.counter("weir_log_suppressed_lines_total", "Repeated log lines that were suppressed.",
                facts.log_lines_suppressed);
  write.gauge("weir_build_info", "Always 1; the label is the version of the program.", 1, {{"version", facts.version}});
  write.gauge("process_start_time_seconds", "When the process started.", unix_seconds(facts.started));
  return out;
}

}  // namespace weir::observe
