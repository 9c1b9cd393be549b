#include "observe/metric_table.h"

#include <algorithm>
#include <array>

#include "base/json_text.h"

namespace weir::observe {
namespace {

using Group = MetricGroup;
using Kind = MetricKind;

constexpr std::string_view kRedis = "with Redis";
constexpr std::string_view kDatabase = "with a database";
constexpr std::string_view kQuotas = "with quota rules";
constexpr std::string_view kShedding = "with load shedding";
constexpr std::string_view kRegions = "with region.coordinator";

constexpr MetricRow kMetrics[] = {
    {"weir_decisions_total", Kind::counter, Group::decisions, "Decisions, by reason and answer.", "reason, allowed",
     "24", ""},
    {"weir_degraded_decisions_total", Kind::counter, Group::decisions,
     "Decisions made by a failure policy, without the store.", "", "", ""},
    {"weir_action_decisions_total", Kind::counter, Group::decisions,
     "Decisions by the request's action and the node's region; `none`: the request has no action, `other`: more than "
     "100 actions. Over HTTP a denial is a 429 unless the caller asked for another status.",
     "action, region, outcome", "102 × 2", ""},
    {"weir_tenant_decisions_total", Kind::counter, Group::decisions,
     "Decisions by tenant, for the tenants in `metrics.tenants`; `other`: everyone else.", "tenant, outcome", "101 × 2",
     "with `metrics.tenants`"},
    {"weir_ad_hoc_charges_total", Kind::counter, Group::decisions,
     "Charges whose limit was sent with the request, by source and outcome.", "space, outcome", "9 × 4", ""},
    {"weir_shedding_requests_total", Kind::counter, Group::decisions,
     "Requests by class and result, while shedding is configured.", "class, result", "classes × 2", "with `shedding`"},
    {"weir_shedding_active", Kind::gauge, Group::decisions, "1 while requests of the class are being shed.", "class",
     "classes", "with `shedding`"},
    {"weir_shedding_load", Kind::gauge, Group::decisions, "The load that classes are shed by: 1 is the capacity.", "",
     "", "with `shedding`"},
    {"weir_local_limit_denials_total", Kind::counter, Group::decisions,
     "Denials by a rule's local_limit, without asking the store.", "", "", ""},
    {"weir_fallback_decisions_total", Kind::counter, Group::decisions,
     "Times that a rule's failure policy answered in place of the store.", "policy", "5", ""},
    {"weir_answer_seconds", Kind::histogram, Group::decisions,
     "Time from receiving requests until their answers were made, of a sample, by front end.", "front_end",
     "front ends", ""},
    {"weir_http_responses_total", Kind::counter, Group::decisions,
     "Answers of the HTTP API, by class of their status; 1xx is 100 Continue.", "class", "5", ""},
    {"weir_hold_calls_total", Kind::counter, Group::decisions,
     "Calls about leases (acquire, renew, release) and reservations (reserve, commit, extend, release), by how they "
     "ended; refused: an invalid call, or a lease or reservation that is gone or closed.",
     "kind, call, result", "28", ""},
    {"weir_forged_handles_total", Kind::counter, Group::decisions,
     "Invalid handles of leases and reservations: not sealed by this service.", "", "", ""},
    {"weir_uncharged_units_total", Kind::counter, Group::decisions,
     "Units of commits, reports of usage and late charges beyond a rule's overdraft.", "", "", ""},
    {"weir_hot_subjects", Kind::gauge, Group::decisions, "Subjects with at least 2 % of all decisions.", "", "", ""},
    {"weir_journal_entries_total", Kind::counter, Group::decisions, "Entries that the journal of decisions has kept.",
     "", "", ""},
    {"weir_journal_bytes", Kind::gauge, Group::decisions, "Memory of the journal of decisions.", "", "", ""},
    {"weir_journal_stored_total", Kind::counter, Group::decisions,
     "Entries of the journal that were written to the database.", "", "", "with `journal.database`"},
    {"weir_journal_lost_total", Kind::counter, Group::decisions,
     "Entries of the journal that were overwritten before the database had them.", "", "", "with `journal.database`"},
    {"weir_trace_spans_total", Kind::counter, Group::decisions,
     "Spans of traces: sent to the collector, dropped because the queue was full, lost because the collector did not "
     "accept them.",
     "result", "3", ""},
    {"weir_checks_total", Kind::counter, Group::rules,
     "Results of each rule for the checks that it applied to. A check that only another rule denied counts as allowed "
     "here.",
     "rule, algorithm, outcome", "1,001 × 6", ""},
    {"weir_denials_total", Kind::counter, Group::rules,
     "Denied requests, by the rule that is reported, the reason, and what the rule counts by; `shared`: the bucket "
     "that new subjects beyond max_subjects share.",
     "rule, reason, subject", "1,001 × 12 × 2", ""},
    {"weir_candidate_requests_total", Kind::counter, Group::rules,
     "Requests by what the rule's candidate numbers would decide: the same as the rule, `would_deny` (allowed now) or "
     "`would_allow` (denied now); `warming`: its bucket has not seen a whole window yet. Restarts from 0 when the "
     "numbers change.",
     "rule, verdict", "256 × 4", "while a rule has a `candidate`"},
    {"weir_adaptive_limit", Kind::gauge, Group::rules,
     "The limit that a concurrency rule with `limit: {auto: …}` has found, by subject.", "rule, subject", "256",
     "while such a rule has leases"},
    {"weir_near_limit_total", Kind::counter, Group::rules,
     "Allowed checks that left less than a fifth of the rule's limit.", "rule", "1,001", ""},
    {"weir_shared_subject_checks_total", Kind::counter, Group::rules,
     "Checks that were counted in the bucket that new subjects beyond max_subjects share.", "rule", "1,001",
     "while a rule has `max_subjects`"},
    {"weir_rule_remaining_ratio", Kind::histogram, Group::rules,
     "What was left of the rule's capacity after a decision, as a share of it; of one decision in 16. The sum is an "
     "upper estimate from the buckets.",
     "rule", "1,001", ""},
    {"weir_rule_subjects", Kind::gauge, Group::rules,
     "Subjects of the rule that have a bucket; with Redis an estimate.", "rule", "1,001", "while a rule has subjects"},
    {"weir_rules_reloads_total", Kind::counter, Group::rules,
     "Attempts to load the rules, by result; unchanged: the files equal the loaded rules.", "result", "3", ""},
    {"weir_rules_last_success_timestamp_seconds", Kind::gauge, Group::rules, "When the current rules were loaded.", "",
     "", ""},
    {"weir_rules_current", Kind::gauge, Group::rules,
     "1 if the loaded rules are those on disk, 0 if the file there is invalid.", "", "", ""},
    {"weir_rules_loaded", Kind::gauge, Group::rules, "Number of rules loaded.", "", "", ""},
    {"weir_rules_version", Kind::gauge, Group::rules,
     "Version of the active rules, as /admin/v1/rules has it; 0: not recorded yet.", "", "", ""},
    {"weir_rules_info", Kind::gauge, Group::rules,
     "Always 1; the labels are the version of the active rules and the hash of their text.", "version, hash", "1", ""},
    {"weir_rules_without_label", Kind::gauge, Group::rules,
     "Loaded rules that are counted together as rule=\"other\", because there are too many.", "", "", ""},
    {"weir_rule_issues_total", Kind::counter, Group::rules,
     "Requests with a plan that a rule does not have, a cost that is not a whole number, or without an attribute that "
     "a matching rule counts by.",
     "issue", "3", ""},
    {"weir_rules_on_fallback", Kind::gauge, Group::rules, "Rules that the store does not answer for at the moment.", "",
     "", ""},
    {"weir_rule_fallback_seconds", Kind::gauge, Group::rules,
     "How long the store has not answered for the rule, by the policy that answers.", "rule, policy", "1,001",
     "while the store does not answer"},
    {"weir_estimate_settled_total", Kind::counter, Group::rules,
     "Committed reservations whose amount the rule had estimated.", "rule", "rules with an estimate",
     "while a rule has an `estimate`"},
    {"weir_estimate_over_units_total", Kind::counter, Group::rules, "Units by which estimates were too high.", "rule",
     "rules with an estimate", "while a rule has an `estimate`"},
    {"weir_estimate_under_units_total", Kind::counter, Group::rules, "Units by which estimates were too low.", "rule",
     "rules with an estimate", "while a rule has an `estimate`"},
    {"weir_override_misfits", Kind::gauge, Group::rules,
     "Overrides set at run time that do not fit a rule that they name, or name no existing rule.", "", "", kDatabase},
    {"weir_store_keys", Kind::gauge, Group::store, "Buckets held now.", "store", "1", ""},
    {"weir_store_bytes", Kind::gauge, Group::store, "Memory taken by buckets.", "store", "1", ""},
    {"weir_store_max_bytes", Kind::gauge, Group::store, "The bound on the memory taken by buckets.", "store", "1", ""},
    {"weir_store_expired_total", Kind::counter, Group::store, "Buckets removed because they were full again.", "store",
     "1", ""},
    {"weir_store_evictions_total", Kind::counter, Group::store, "Refilled buckets evicted for new subjects.", "store",
     "1", ""},
    {"weir_store_refused_newcomers_total", Kind::counter, Group::store, "Charges that found no room for a new bucket.",
     "store", "1", ""},
    {"weir_store_coarse_charges_total", Kind::counter, Group::store,
     "Charges of buckets that could not grow at the memory bound and so count longer than their window.", "store", "1",
     ""},
    {"weir_store_snapshots_total", Kind::counter, Group::store, "Snapshots of the store, by result.", "result", "2",
     ""},
    {"weir_store_breaker_state", Kind::gauge, Group::redis,
     "Circuit breaker: 0 closed; 1 open for some server; 2 half-open: a probe is in flight.", "", "", kRedis},
    {"weir_store_breaker_opened_total", Kind::counter, Group::redis, "Times that a server's circuit breaker opened.",
     "", "", kRedis},
    {"weir_store_fallback_seconds_total", Kind::counter, Group::redis, "How long some circuit breaker was not closed.",
     "", "", kRedis},
    {"weir_store_calls_total", Kind::counter, Group::redis, "Decisions that needed the store.", "", "", kRedis},
    {"weir_store_script_calls_total", Kind::counter, Group::redis,
     "Scripts run in the store, including retries and refunds.", "", "", kRedis},
    {"weir_store_script_loads_total", Kind::counter, Group::redis, "Scripts sent because the store did not have them.",
     "", "", kRedis},
    {"weir_store_script_errors_total", Kind::counter, Group::redis, "Errors that scripts answered with, by script.",
     "script", "scripts", kRedis},
    {"weir_store_script_latency_seconds", Kind::histogram, Group::redis,
     "How long each script call took, by script and outcome: admitted, denied, or failed (an error, or no answer in "
     "time). The sum is an upper estimate from the buckets.",
     "script, outcome", "scripts × 3", kRedis},
    {"weir_store_latency_seconds", Kind::histogram, Group::redis,
     "How long the store took to answer. The sum is an upper estimate from the buckets.", "", "", kRedis},
    {"weir_store_failures_total", Kind::counter, Group::redis, "Calls that the store did not answer, by cause.", "kind",
     "causes", kRedis},
    {"weir_store_redirects_total", Kind::counter, Group::redis, "Calls that the cluster redirected to another server.",
     "", "", kRedis},
    {"weir_store_connects_total", Kind::counter, Group::redis, "Connections made to the store.", "", "", kRedis},
    {"weir_lease_answers_total", Kind::counter, Group::redis,
     "Store calls answered from units that this node took in advance, without asking Redis.", "", "", kRedis},
    {"weir_lease_draws_total", Kind::counter, Group::redis, "Calls that took units in advance.", "", "", kRedis},
    {"weir_lease_units_total", Kind::counter, Group::redis,
     "Units taken in advance; `lapsed`: of these, the ones that were not spent in time.", "result", "2", kRedis},
    {"weir_synced_answers_total", Kind::counter, Group::redis,
     "Store calls answered from the state that this node knew, and reported to Redis afterwards.", "", "", kRedis},
    {"weir_synced_reports_total", Kind::counter, Group::redis,
     "Reports of admitted units to Redis; `lost`: of these, the ones without an answer.", "result", "2", kRedis},
    {"weir_synced_units_total", Kind::counter, Group::redis,
     "Units reported; `lost`: of these, the ones that may not have been charged.", "result", "2", kRedis},
    {"weir_synced_nodes", Kind::gauge, Group::redis,
     "Nodes that share leased and synced rules, as last read from Redis.", "", "", kRedis},
    {"weir_region_share_ratio", Kind::gauge, Group::redis,
     "Share of a rule's limit that this region may use, as the mean of the subjects in use.", "rule", "100", kRegions},
    {"weir_region_keys", Kind::gauge, Group::redis, "Subjects whose limit is shared with other regions.", "rule", "100",
     kRegions},
    {"weir_region_denied_total", Kind::counter, Group::redis,
     "Requests denied by this region's share or tolerance rather than by the whole limit.", "rule", "100", kRegions},
    {"weir_region_coordinator_age_seconds", Kind::gauge, Group::redis,
     "Time since the coordinator last answered; -1: it never has.", "", "", kRegions},
    {"weir_region_coordinator_connected", Kind::gauge, Group::redis, "1 if the coordinator answered last.", "", "",
     kRegions},
    {"weir_prefilter_hits_total", Kind::counter, Group::redis, "Denials of exhausted buckets without asking the store.",
     "", "", kRedis},
    {"weir_subject_count_failures_total", Kind::counter, Group::redis,
     "Times that the subjects of a rule could not be counted.", "", "", kRedis},
    {"weir_outage_units_total", Kind::counter, Group::redis,
     "Units that failure policies admitted without the store, by the result of charging them.", "result", "5", kRedis},
    {"weir_outage_subjects", Kind::gauge, Group::redis, "Buckets still to be charged after an outage.", "", "", kRedis},
    {"weir_store_server_calls_total", Kind::counter, Group::redis, "Script calls sent to each Redis server.", "server",
     "servers", kRedis},
    {"weir_store_server_answers_total", Kind::counter, Group::redis, "Answers of each Redis server that came in time.",
     "server", "servers", kRedis},
    {"weir_store_server_latency_seconds_total", Kind::counter, Group::redis,
     "Total time that each Redis server took to answer.", "server", "servers", kRedis},
    {"weir_store_server_failures_total", Kind::counter, Group::redis,
     "Calls that failed at each Redis server, including those that could not be sent.", "server", "servers", kRedis},
    {"weir_store_server_in_flight", Kind::gauge, Group::redis, "Calls that wait for an answer of each Redis server.",
     "server", "servers", kRedis},
    {"weir_store_server_memory_bytes", Kind::gauge, Group::redis, "Memory used by each Redis server, as it reports.",
     "server", "servers", kRedis},
    {"weir_store_server_memory_max_bytes", Kind::gauge, Group::redis, "maxmemory of each Redis server; 0: no bound.",
     "server", "servers", kRedis},
    {"weir_store_server_cpu_seconds_total", Kind::counter, Group::redis,
     "CPU time used by each Redis server, as it reports.", "server", "servers", kRedis},
    {"weir_store_server_keys", Kind::gauge, Group::redis,
     "Keys of Weir in each Redis server, estimated from a random sample.", "server", "servers", kRedis},
    {"weir_store_server_key_bytes", Kind::gauge, Group::redis,
     "Memory that the keys of Weir take in each Redis server, estimated from a random sample.", "server", "servers",
     kRedis},
    {"weir_gateway_times_total", Kind::counter, Group::redis,
     "Times sent by gateways, by result (redis.time: gateway).", "result", "5", "with `redis.time: gateway`"},
    {"weir_quota_accounts", Kind::gauge, Group::quotas,
     "Accounts that this node has a slice of, or has recently asked for.", "", "", kQuotas},
    {"weir_quota_usable", Kind::gauge, Group::quotas,
     "1 if leased quotas can be taken, 0 if the ledger or the usage log does not work.", "", "", kQuotas},
    {"weir_quota_waiting_decisions", Kind::gauge, Group::quotas, "Decisions that wait for a slice.", "", "", kQuotas},
    {"weir_quota_usage_batches_total", Kind::counter, Group::quotas, "Usage batches that the ledger has recorded.", "",
     "", kQuotas},
    {"weir_quota_usage_log_failures_total", Kind::counter, Group::quotas,
     "Groups of usage that could not be written to the usage log at once.", "", "", kQuotas},
    {"weir_quota_replayed_units_total", Kind::counter, Group::quotas,
     "Units that an earlier run of this node had logged but not sent.", "", "", kQuotas},
    {"weir_quota_returned_units_total", Kind::counter, Group::quotas, "Units of slices that this node gave back.", "",
     "", kQuotas},
    {"weir_quota_expired_units_total", Kind::counter, Group::quotas,
     "Units of slices that no one reported in time; they count against their limit and are not billed.", "", "",
     kQuotas},
    {"weir_quota_usage_log_bytes", Kind::gauge, Group::quotas,
     "Bytes of the usage log that the ledger does not have yet.", "", "", kQuotas},
    {"weir_quota_unrecorded_units_total", Kind::counter, Group::quotas,
     "Units that a failure policy admitted without the ledger and that could not be kept; they are not billed.", "", "",
     kQuotas},
    {"weir_quota_lapses_total", Kind::counter, Group::quotas,
     "Times that the ledger was unavailable for longer than slices live.", "", "", kQuotas},
    {"weir_quota_pruned_entries_total", Kind::counter, Group::quotas,
     "Entries of the ledger that were older than quota.keep and were removed.", "", "", kQuotas},
    {"weir_quota_unexported_accounts", Kind::gauge, Group::quotas,
     "Accounts that are older than quota.keep but are kept because they were not exported.", "", "", kQuotas},
    {"weir_quota_notices_total", Kind::counter, Group::quotas, "Quota thresholds for which a notice was sent.", "", "",
     kQuotas},
    {"weir_quota_webhook_failures_total", Kind::counter, Group::quotas, "Calls of the quota webhook that failed.", "",
     "", kQuotas},
    {"weir_ledger_operations_total", Kind::counter, Group::quotas, "Changes of the ledger.", "", "", kQuotas},
    {"weir_ledger_transactions_total", Kind::counter, Group::quotas, "Database transactions that these changes shared.",
     "", "", kQuotas},
    {"weir_database_connected", Kind::gauge, Group::database,
     "1 if the database answered last, 0 if it could not be reached.", "", "", kDatabase},
    {"weir_database_queued_transactions", Kind::gauge, Group::database, "Transactions that wait for a database thread.",
     "", "", kDatabase},
    {"weir_database_lag_seconds", Kind::gauge, Group::database,
     "How long the oldest unfinished transaction has waited.", "", "", kDatabase},
    {"weir_database_transactions_total", Kind::counter, Group::database,
     "Transactions, by result; unknown: the connection was lost before the answer to the commit.", "result", "3",
     kDatabase},
    {"weir_database_repeated_transactions_total", Kind::counter, Group::database,
     "Attempts beyond the first, because of a conflict with another transaction or a lost connection.", "", "",
     kDatabase},
    {"weir_control_age_seconds", Kind::gauge, Group::database,
     "Time since this node last compared tokens, rules and other changes of operators with the database.", "", "",
     kDatabase},
    {"weir_audit_waiting", Kind::gauge, Group::database,
     "Audit entries about resets over the API that wait for the database.", "", "", kDatabase},
    {"weir_audit_queued_total", Kind::counter, Group::database,
     "Audit entries about resets over the API, by result; refused: too many were waiting.", "result", "3", kDatabase},
    {"weir_control_records", Kind::gauge, Group::database, "Active records that operators have set, by kind.", "kind",
     "kinds", kDatabase},
    {"weir_refused_callers_total", Kind::counter, Group::callers,
     "Requests that identity refused before any rule was evaluated.", "reason", "3", ""},
    {"weir_failed_logins_total", Kind::counter, Group::callers,
     "Logins that were refused, by listener and kind; throttled: refused without a check, because too many from the "
     "same address had failed.",
     "listener, kind", "listeners × 5", "on listeners that ask for a token or password"},
    {"weir_identity_current", Kind::gauge, Group::callers,
     "1 if the loaded keys and revocations are those on disk, 0 if a file there is invalid.", "", "", ""},
    {"weir_connections", Kind::gauge, Group::process, "Open connections, on all listeners.", "", "", ""},
    {"weir_connections_accepted_total", Kind::counter, Group::process, "Connections accepted.", "", "", ""},
    {"weir_connections_refused_total", Kind::counter, Group::process,
     "Connections refused: too many at once, or no descriptor left.", "", "", ""},
    {"weir_connections_timed_out_total", Kind::counter, Group::process,
     "Connections closed because the peer sent or read too slowly.", "", "", ""},
    {"weir_connection_memory_bytes", Kind::gauge, Group::process, "Memory that connections take, on all listeners.", "",
     "", ""},
    {"weir_connection_memory_max_bytes", Kind::gauge, Group::process, "The bound on the memory that connections take.",
     "", "", ""},
    {"weir_connection_memory_refusals_total", Kind::counter, Group::process,
     "Requests and connections refused because the memory for connections was used up.", "", "", ""},
    {"weir_clock_ahead_seconds", Kind::gauge, Group::process,
     "How far the time that buckets count by is ahead of the wall clock; above 0 after that was set back.", "", "", ""},
    {"weir_clock_steps_total", Kind::counter, Group::process, "Times that the wall clock was set, by direction.",
     "direction", "2", ""},
    {"weir_log_suppressed_lines_total", Kind::counter, Group::process, "Repeated log lines that were suppressed.", "",
     "", ""},
    {"weir_build_info", Kind::gauge, Group::process, "Always 1; the label is the version of the program.", "version",
     "1", ""},
    {"process_start_time_seconds", Kind::gauge, Group::process, "When the process started.", "", "", ""},
};

constexpr PanelRow kPanels[] = {
    {"overview", "Decisions", "sum by (allowed) (rate(weir_decisions_total[$__rate_interval]))", "allowed {{allowed}}",
     "ops", ""},
    {"overview", "Denied share",
     "sum(rate(weir_decisions_total{allowed=\"false\"}[$__rate_interval])) / "
     "clamp_min(sum(rate(weir_decisions_total[$__rate_interval])), 1e-9)",
     "denied", "percentunit", ""},
    {"overview", "Denials by rule", "topk(10, sum by (rule) (rate(weir_denials_total[$__rate_interval])))", "{{rule}}",
     "ops", ""},
    {"rules", "Refused by penalties, and challenges",
     "sum by (rule, reason) (rate(weir_denials_total{reason=~\"penalized|challenge\"}[$__rate_interval]))",
     "{{rule}} {{reason}}", "ops", "while a rule has a `penalty` or asks for challenges"},
    {"rules", "What candidates would change",
     "sum by (rule, verdict) (rate(weir_candidate_requests_total{verdict=~\"would_.*\"}[$__rate_interval]))",
     "{{rule}} {{verdict}}", "ops", "while a rule has a `candidate`"},
    {"overview", "Decisions without the store", "sum(rate(weir_degraded_decisions_total[$__rate_interval]))",
     "degraded", "ops", ""},
    {"overview", "Answer time, 99th percentile",
     "histogram_quantile(0.99, sum by (le, front_end) (rate(weir_answer_seconds_bucket[$__rate_interval])))",
     "{{front_end}}", "s", "after the first requests"},
    {"overview", "HTTP answers", "sum by (class) (rate(weir_http_responses_total[$__rate_interval]))", "{{class}}",
     "ops", ""},
    {"overview", "Connections", "sum by (instance) (weir_connections)", "{{instance}}", "short", ""},
    {"overview", "Rules version", "weir_rules_version", "{{instance}}", "short", ""},
    {"rules", "Checks by rule and outcome", "sum by (rule, outcome) (rate(weir_checks_total[$__rate_interval]))",
     "{{rule}} {{outcome}}", "ops", ""},
    {"rules", "Denied by reason", "sum by (rule, reason) (rate(weir_denials_total[$__rate_interval]))",
     "{{rule}} {{reason}}", "ops", ""},
    {"rules", "Leases and reservations", "sum by (kind, call, result) (rate(weir_hold_calls_total[$__rate_interval]))",
     "{{kind}} {{call}} {{result}}", "ops", ""},
    {"rules", "Near the limit", "sum by (rule) (rate(weir_near_limit_total[$__rate_interval]))", "{{rule}}", "ops", ""},
    {"rules", "Remaining share of the limit, median",
     "histogram_quantile(0.5, sum by (le, rule) (rate(weir_rule_remaining_ratio_bucket[$__rate_interval])))",
     "{{rule}}", "percentunit", "after the first requests"},
    {"rules", "Denied by action",
     "topk(10, sum by (action) (rate(weir_action_decisions_total{outcome=\"denied\"}[$__rate_interval])))",
     "{{action}}", "ops", ""},
    {"rules", "Subjects", "sum by (rule) (weir_rule_subjects)", "{{rule}}", "short", ""},
    {"rules", "Reloads", "sum by (result) (increase(weir_rules_reloads_total[1h]))", "{{result}}", "short", ""},
    {"rules", "Requests with mistakes", "sum by (issue) (rate(weir_rule_issues_total[$__rate_interval]))", "{{issue}}",
     "ops", ""},
    {"rules", "Rules on a failure policy", "sum by (instance) (weir_rules_on_fallback)", "{{instance}}", "short", ""},
    {"stores", "Memory of buckets", "sum by (instance, store) (weir_store_bytes)", "{{instance}} {{store}}", "bytes",
     ""},
    {"stores", "Share of the memory bound", "weir_store_bytes / clamp_min(weir_store_max_bytes, 1)", "{{instance}}",
     "percentunit", ""},
    {"stores", "Buckets", "sum by (instance, store) (weir_store_keys)", "{{instance}} {{store}}", "short", ""},
    {"stores", "New subjects refused at the memory bound",
     "sum(rate(weir_store_refused_newcomers_total[$__rate_interval]))", "refused", "ops", ""},
    {"stores", "Redis: latency, 99th percentile",
     "histogram_quantile(0.99, sum by (le) (rate(weir_store_latency_seconds_bucket[$__rate_interval])))", "p99", "s",
     kRedis},
    {"stores", "Redis: failures", "sum by (kind) (rate(weir_store_failures_total[$__rate_interval]))", "{{kind}}",
     "ops", kRedis},
    {"stores", "Redis: breaker", "max by (instance) (weir_store_breaker_state)", "{{instance}}", "short", kRedis},
    {"stores", "Redis: memory", "max by (server) (weir_store_server_memory_bytes)", "{{server}}", "bytes", kRedis},
    {"stores", "Database: transactions", "sum by (result) (rate(weir_database_transactions_total[$__rate_interval]))",
     "{{result}}", "ops", kDatabase},
    {"quotas", "Usable", "min by (instance) (weir_quota_usable)", "{{instance}}", "short", kQuotas},
    {"quotas", "Accounts", "sum by (instance) (weir_quota_accounts)", "{{instance}}", "short", kQuotas},
    {"quotas", "Decisions that wait for a slice", "sum(weir_quota_waiting_decisions)", "waiting", "short", kQuotas},
    {"quotas", "Usage sent to the ledger", "sum(rate(weir_quota_usage_batches_total[$__rate_interval]))", "batches",
     "ops", kQuotas},
    {"quotas", "Units expired", "sum(increase(weir_quota_expired_units_total[1h]))", "units", "short", kQuotas},
    {"quotas", "Ledger: changes per transaction",
     "sum(rate(weir_ledger_operations_total[$__rate_interval])) / "
     "clamp_min(sum(rate(weir_ledger_transactions_total[$__rate_interval])), 1e-9)",
     "changes", "short", kQuotas},
    {"quotas", "Ledger: lag", "max by (instance) (weir_database_lag_seconds)", "{{instance}}", "s", kDatabase},
    {"quotas", "Ledger: queued transactions", "sum by (instance) (weir_database_queued_transactions)", "{{instance}}",
     "short", kDatabase},
};

constexpr AlertRow kAlerts[] = {
    {"WeirDenialsSpike",
     "sum by (rule) (rate(weir_denials_total[5m])) > 1 and sum by (rule) (rate(weir_denials_total[5m])) > 3 * sum by "
     "(rule) (rate(weir_denials_total[1h] offset 1h))",
     "5m", "ticket", "rule {{ $labels.rule }} denies more than three times as much as an hour ago",
     "See who is denied: /admin/v1/overview, `weir top`. A client in a loop, an attack, or a limit that is too low.",
     ""},
    {"WeirStoreMemory", "weir_store_bytes > 0.9 * weir_store_max_bytes and weir_store_max_bytes > 0", "10m", "ticket",
     "{{ $labels.instance }} uses more than 90 % of the memory for buckets",
     "Raise memory.max_bytes, or bound the subjects of the rule with the most (weir_rule_subjects). At the bound, "
     "on_store_failure decides for new subjects.",
     ""},
    {"WeirRedisMemory",
     "weir_store_server_memory_bytes > 0.9 * weir_store_server_memory_max_bytes and weir_store_server_memory_max_bytes "
     "> 0",
     "10m", "ticket", "Redis {{ $labels.server }} uses more than 90 % of its maxmemory",
     "Raise maxmemory or add servers; with noeviction a full Redis refuses charges.", kRedis},
    {"WeirSubjects",
     "sum by (rule) (weir_rule_subjects) > 3 * sum by (rule) (weir_rule_subjects offset 1d) and sum by (rule) "
     "(weir_rule_subjects) > 10000",
     "15m", "ticket", "rule {{ $labels.rule }} has three times as many subjects as a day ago",
     "Callers may be inventing values of an attribute that the rule counts by; set max_subjects.", "after a day"},
    {"WeirFallback", "weir_rules_on_fallback > 0", "1m", "page",
     "{{ $labels.instance }}: the store does not answer, and failure policies decide for {{ $value }} rules",
     "See the log (store_unavailable) and docs/failure.md.", "while the store does not answer"},
    {"WeirFallbackLasts", "max by (rule, policy) (weir_rule_fallback_seconds) > 600", "1m", "page",
     "rule {{ $labels.rule }} has been decided by policy {{ $labels.policy }} for more than ten minutes",
     "The store is still unavailable. Consider a stricter policy, or block requests that must not pass.",
     "while the store does not answer"},
    {"WeirHotSubject", "weir_hot_subjects > 0", "10m", "ticket",
     "{{ $labels.instance }}: {{ $value }} subjects have at least 2 % of all decisions each",
     "See /admin/v1/hot-keys. A local_limit keeps one subject from overloading the store.", "while a subject is hot"},
    {"WeirLedgerLag",
     "weir_database_queued_transactions > 100 or weir_quota_waiting_decisions > 100 or weir_database_lag_seconds > 10",
     "5m", "page", "{{ $labels.instance }}: the database does not keep up ({{ $value }} transactions or seconds wait)",
     "Look at the database. Leased quotas continue until their slices are used up.", kDatabase},
    {"WeirQuotaUnusable", "weir_quota_usable == 0", "2m", "page",
     "{{ $labels.instance }}: leased quotas cannot be taken",
     "The database or the usage log does not work; quota rules deny.", kQuotas},
    {"WeirReloadRejected",
     "max by (instance) (weir_rules_current) == 0 or sum by (instance) "
     "(increase(weir_rules_reloads_total{result=\"failure\"}[15m])) > 0",
     "1m", "ticket", "{{ $labels.instance }}: the rules on disk are invalid, and older ones are used",
     "`weir rules validate` says what is wrong.", "while rules are invalid"},
    {"WeirDown", "up{job=\"weir\"} == 0", "1m", "page", "{{ $labels.instance }} does not answer scrapes",
     "Is the process running? While it is down, gateways decide by their own policy.", "while a node is down"},
};

class JsonRow {
 public:
  explicit JsonRow(std::string& out) : out_(out) { out_ += '{'; }
  JsonRow& text(std::string_view name, std::string_view value) {
    if (out_.back() != '{') out_ += ',';
    out_.append("\"").append(name).append("\":");
    base::append_json_string(out_, value);
    return *this;
  }

 private:
  std::string& out_;
};

template <typename Rows, typename Write>
void append_rows(std::string& out, std::string_view name, const Rows& rows, Write write) {
  out.append("\"").append(name).append("\":[");
  bool first = true;
  for (const auto& row : rows) {
    if (!first) out += ',';
    first = false;
    JsonRow json(out);
    write(json, row);
    out += '}';
  }
  out += ']';
}

}  // namespace

std::string_view metric_group_name(MetricGroup group) {
  constexpr std::array<std::string_view, 8> kNames = {"Decisions", "Rules",    "Store",   "Redis",
                                                      "Quotas",    "Database", "Callers", "Process"};
  return kNames[static_cast<std::size_t>(group)];
}

std::string_view metric_kind_name(MetricKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"counter", "gauge", "histogram"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::span<const MetricRow> metric_table() { return kMetrics; }
std::span<const PanelRow> panel_table() { return kPanels; }
std::span<const AlertRow> alert_table() { return kAlerts; }

const MetricRow* find_metric(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kMetrics), std::end(kMetrics), [&](const MetricRow& row) { return row.name == name; });
  return found == std::end(kMetrics) ? nullptr : found;
}

std::string metric_tables_json() {
  std::string out = "{";
  append_rows(out, "metrics", kMetrics, [](JsonRow& json, const MetricRow& row) {
    json.text("name", row.name).text("type", metric_kind_name(row.kind)).text("group", metric_group_name(row.group));
    json.text("help", row.help).text("labels", row.labels).text("bound", row.bound).text("when", row.when);
  });
  out += ',';
  append_rows(out, "panels", kPanels, [](JsonRow& json, const PanelRow& row) {
    json.text("dashboard", row.dashboard).text("title", row.title).text("query", row.query);
    json.text("legend", row.legend).text("unit", row.unit).text("when", row.when);
  });
  out += ',';
  append_rows(out, "alerts", kAlerts, [](JsonRow& json, const AlertRow& row) {
    json.text("name", row.name).text("expression", row.expression).text("for", row.lasts);
    json.text("severity", row.severity).text("summary", row.summary).text("do", row.what_to_do).text("when", row.when);
  });
  return out + "}";
}

}  // namespace weir::observe
