#include "rules/read/rule_fields.h"

#include "rules/compile/block_set.h"
#include "rules/compile/field_checks.h"
#include "rules/compile/quota_checks.h"
#include "rules/read/auto_limit_fields.h"
#include "rules/read/consistency_fields.h"
#include "rules/read/field_values.h"
#include "rules/read/penalty_fields.h"
#include "rules/read/quota_fields.h"
#include "rules/read/region_fields.h"
#include "rules/read/shedding_fields.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

using Written = std::optional<YamlText>;

constexpr Choice<Mode> kModes[] = {{"enforce", Mode::enforce}, {"shadow", Mode::shadow}, {"off", Mode::off}};
constexpr Choice<bool> kGlobalModes[] = {{"shadow", true}, {"enforce", false}};
constexpr Choice<NoRulePolicy> kNoRulePolicies[] = {{"allow", NoRulePolicy::allow}, {"deny", NoRulePolicy::deny}};
constexpr Choice<BadCostPolicy> kBadCostPolicies[] = {{"default", BadCostPolicy::use_default},
                                                      {"deny", BadCostPolicy::deny}};
constexpr Choice<ExpiryPolicy> kExpiryPolicies[] = {{"release", ExpiryPolicy::release},
                                                    {"commit", ExpiryPolicy::commit}};
constexpr Choice<OnExceed> kOnExceed[] = {{"deny", OnExceed::deny}, {"challenge", OnExceed::challenge}};
constexpr Choice<Hidden> kHidden[] = {{"true", Hidden::answer}, {"false", Hidden::no}, {"rule", Hidden::rule}};

// Fields that only some algorithms have. `defaults` apply to all rules of a file, also to those of other algorithms.
bool has_field(const Rule& rule, std::string_view field) {
  if (field == "lease") return rule.kind == ChargeKind::lease;
  if (is_quota_field(field)) return rule.kind == ChargeKind::quota;
  if (field == "on_expiry" && rule.kind == ChargeKind::quota) return true;
  if (rule.kind != ChargeKind::bucket) return false;
  if (field == "window" || field == "count_denied" || field == "overdraft" || field == "on_expiry" ||
      field == "estimate" || field == "penalty" || field == "candidate") {
    return true;
  }
  const Algorithm algorithm = rule.allowance.algorithm;
  if (field == "burst") return algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra;
  if (field == "queue") return algorithm == Algorithm::leaky_bucket;
  return algorithm == Algorithm::bucketed_window;
}

bool is_for_others(const FieldAt& at, const Rule& rule) { return at.inherited() && !has_field(rule, at.name()); }

template <void (*kRead)(const FieldAt&, Rule&)>
void of_its_kind(const FieldAt& at, Rule& rule) {
  if (!is_for_others(at, rule)) kRead(at, rule);
}

void read_number_of_algorithm(const FieldAt& at, const Rule& rule, std::int64_t least, std::int64_t most,
                              std::optional<std::int64_t>& into) {
  if (is_for_others(at, rule)) return;
  at.take(into, read_whole_number(at.node(), least, most));
}

// In a plan or an override what cannot be read becomes a valid number, so that one mistake is one line.
void read_changed_number(const FieldAt& at, std::int64_t least, std::optional<std::int64_t>& into) {
  if (!at.take(into, read_whole_number(at.node(), least, kMaxUnits))) into = 1;
}

void read_changed_limit(const FieldAt& at, AllowanceChange& change) {
  std::int64_t limit = 1;
  bool unlimited = false;
  read_limit(at, limit, unlimited);
  if (unlimited) {
    change.unlimited = true;
  } else {
    change.limit = limit;
  }
}

Written write_number(const std::optional<std::int64_t>& number) {
  return number ? Written(YamlText::number(*number)) : std::nullopt;
}

Written write_number_unless(std::int64_t number, std::int64_t usual) {
  return number == usual ? std::nullopt : Written(YamlText::number(number));
}

Written write_true(bool value) { return value ? Written(YamlText::boolean(true)) : std::nullopt; }

template <typename T, std::size_t N>
Written write_choice_unless(const Choice<T> (&choices)[N], T value, T usual) {
  return value == usual ? std::nullopt : Written(write_choice(choices, value));
}

// An unlimited rule needs neither, but its plans may use both.
Written write_algorithm(const Rule& rule) {
  if (rule.kind != ChargeKind::bucket) return YamlText::word(charge_kind_name(rule.kind));
  if (rule.unlimited && rule.allowance.algorithm == AllowanceSpec().algorithm) return std::nullopt;
  return YamlText::word(algorithm_name(rule.allowance.algorithm));
}

Written write_window(const Rule& rule) {
  const bool optional = rule.unlimited || rule.kind != ChargeKind::bucket;
  if (optional && rule.allowance.window == Duration::zero()) return std::nullopt;
  return YamlText::duration(rule.allowance.window);
}

constexpr Field<Rules> kTopFields[] = {
    {"version", "must be 1", "required", nullptr, [](const Rules&) -> Written { return YamlText::number(1); }},
    {"rules", "the list of rules, at most 100,000", "required"},
    {"defaults", "fields that every rule of the file has unless it sets them itself", "none"},
    {"global_mode", "`shadow`: every enforced rule only records what it would have denied", "`enforce`",
     [](const FieldAt& at, Rules& rules) {
       bool shadow = false;
       read_choice(at, kGlobalModes, shadow);
       rules.global_shadow = rules.global_shadow || shadow;
     },
     [](const Rules& rules) { return write_choice_unless(kGlobalModes, rules.global_shadow, false); }},
    {"on_no_rule",
     "the decision for a request that no rule counts: `allow`, or `deny` with reason `no_rule`; `deny` in one file of "
     "a folder applies to all",
     "`allow`",
     [](const FieldAt& at, Rules& rules) {
       NoRulePolicy policy = NoRulePolicy::allow;
       read_choice(at, kNoRulePolicies, policy);
       if (policy == NoRulePolicy::deny) rules.on_no_rule = policy;
     },
     [](const Rules& rules) { return write_choice_unless(kNoRulePolicies, rules.on_no_rule, NoRulePolicy::allow); }},
    {"blocks", "requests that are refused before any rule is evaluated; see [blocks](#blocks)", "none",
     [](const FieldAt& at, Rules& rules) { read_blocks(at, rules.blocks); },
     [](const Rules& rules) { return rules.blocks.empty() ? Written() : write_blocks(rules.blocks); }},
    {"shedding", "which requests this node refuses under overload; see [load shedding](shedding.md)", "nothing",
     [](const FieldAt& at, Rules& rules) { read_shedding(at, rules.shedding); },
     [](const Rules& rules) { return rules.shedding ? Written(write_shedding(*rules.shedding)) : std::nullopt; }},
};

constexpr Field<Rule> kRuleFields[] = {
    {"id",
     "1–64 of `A–Z a–z 0–9 . _ -`. Keep it stable: it is in answers, headers and metrics, and the buckets belong to it",
     "required", [](const FieldAt& at, Rule& rule) { at.take(rule.id, read_text(at.node())); },
     [](const Rule& rule) -> Written { return YamlText::text(rule.id); }, check_id},
    {"match",
     "which requests the rule counts: attribute → [condition](#conditions); all must be true. Use a list of such maps "
     "for two conditions on one attribute",
     "every request", [](const FieldAt& at, Rule& rule) { read_conditions(at, rule.match); },
     [](const Rule& rule) { return rule.match.empty() ? Written() : write_conditions(rule.match); }, check_match},
    {"per",
     "the subject: one bucket for each combination of these attributes' values; a request without one of them is not "
     "counted by this rule. `api_key|ip` uses the first that the request has; see [who is counted](#who-is-counted)",
     "one bucket for all", [](const FieldAt& at, Rule& rule) { read_names(at, "a list of attribute names", rule.per); },
     [](const Rule& rule) { return rule.per.empty() ? Written() : write_names(rule.per); }, check_per},
    {"descriptor", "the request's attributes, all of them and in this order; see [descriptors](#descriptors)",
     "not used", [](const FieldAt& at, Rule& rule) { read_descriptor(at, rule.descriptor); },
     [](const Rule& rule) { return rule.descriptor.empty() ? Written() : write_descriptor(rule.descriptor); },
     check_descriptor},
    {"replaces",
     "with `descriptor`: ids of rules that do not apply if this rule applies to another descriptor of the same call "
     "from Envoy",
     "none", [](const FieldAt& at, Rule& rule) { read_names(at, "a list of rule ids", rule.replaces); },
     [](const Rule& rule) { return rule.replaces.empty() ? Written() : write_names(rule.replaces); }, check_replaces},
    {"algorithm",
     "see [algorithms](#algorithms-and-what-each-really-guarantees); `concurrency` limits how much is held at a time, "
     "see [leases](leases.md); `quota` counts a calendar period in the ledger, see [quotas](quotas.md)",
     "`token-bucket`", read_algorithm, write_algorithm},
    {"limit",
     "units per window, up to 10^12; concurrency: units held at a time, up to 10,000; quota: units per period; `0` "
     "denies every request "
     "([switching off](#switching-something-off)); `unlimited` "
     "counts nothing; concurrency also `{auto: {min: 2, max: 50}}`, "
     "[a limit that adapts](shedding.md#a-concurrency-limit-that-adapts)",
     "required", read_rule_limit, [](const Rule& rule) -> Written { return write_rule_limit(rule); },
     check_own_numbers},
    {"window", "a whole number and `us`, `ms`, `s`, `m`, `h` or `d`, from 1 ms to 3,660 days",
     "required unless `unlimited`",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) at.take(rule.allowance.window, read_duration(at.node()));
     },
     write_window},
    {"lease", "concurrency: how long a lease lives without renewal, from 10 ms to 1 day", "required for concurrency",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) at.take(rule.lease, read_duration(at.node()));
     },
     [](const Rule& rule) {
       return rule.lease == Duration::zero() ? std::nullopt : Written(YamlText::duration(rule.lease));
     },
     check_lease},
    {"period", "quota: the calendar period, `hour`, `day`, `week`, `month` or `year`", "required for quota",
     of_its_kind<read_period>, write_period, check_period},
    {"timezone",
     "quota: the time zone of the calendar, such as `Europe/Berlin`; `tenant`: the zone in the tenant's record", "UTC",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) at.take(rule.quota.timezone, read_text(at.node()));
     },
     [](const Rule& rule) {
       return rule.quota.timezone.empty() ? std::nullopt : Written(YamlText::text(rule.quota.timezone));
     },
     check_timezone},
    {"anchor_day",
     "quota: the day on which periods begin: with `month`, 1–31 (the last day of shorter months); with `week`, `mon` "
     "to `sun`",
     "the 1st; Monday", of_its_kind<read_anchor_day>, write_anchor_day, check_anchor_day},
    {"grace", "quota: units admitted beyond the limit, or percent of it", "0",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) read_share(at, 0, rule.quota.grace);
     },
     [](const Rule& rule) {
       return rule.quota.grace == Share{} ? std::nullopt : Written(write_share(rule.quota.grace));
     },
     check_grace},
    {"overage",
     "quota: what happens beyond limit and grace: `refuse`; or `record`, which admits without bound and records "
     "overage",
     "`refuse`", of_its_kind<read_overage>, write_overage, check_overage},
    {"enforcement",
     "quota: `leased`, each node spends slices in memory; `strict`, the ledger commits before the answer; see [the "
     "guarantees](quotas.md#leased-and-strict)",
     "`leased`", of_its_kind<read_enforcement>, write_enforcement, check_enforcement},
    {"notify",
     "quota: thresholds in units or percent of the limit; when one is reached, a notice is sent, once per period",
     "none", of_its_kind<read_notify>, write_notify, check_notify},
    {"plan_change",
     "quota: how a new plan in the tenant's record affects the open period: `immediate`, `next_period`, or `prorated`; "
     "see [plan changes](quotas.md#plan-changes)",
     "`immediate`", of_its_kind<read_plan_change>, write_plan_change, check_plan_change},
    {"burst", "token-bucket, gcra: capacity", "`limit`",
     [](const FieldAt& at, Rule& rule) { read_number_of_algorithm(at, rule, 1, kMaxUnits, rule.allowance.burst); },
     [](const Rule& rule) { return write_number(rule.allowance.burst); }},
    {"queue",
     "leaky-bucket: units that may wait ahead of a request; with its own cost, up to `queue` + cost can be waiting",
     "`limit`",
     [](const FieldAt& at, Rule& rule) { read_number_of_algorithm(at, rule, 0, kMaxUnits, rule.allowance.queue); },
     [](const Rule& rule) { return write_number(rule.allowance.queue); }},
    {"buckets", "bucketed-window: sub-buckets, 2–1,000; the window must be divisible by it", "10",
     [](const FieldAt& at, Rule& rule) {
       read_number_of_algorithm(at, rule, 2, kMaxSubBuckets, rule.allowance.buckets);
     },
     [](const Rule& rule) { return write_number(rule.allowance.buckets); }},
    {"cost",
     "a number, `{attribute: tokens}` or a table `{by: method, GET: 1, POST: 3, default: 1}`; see [costs](#costs)",
     "the request's own cost", [](const FieldAt& at, Rule& rule) { read_cost(at, rule.cost); },
     [](const Rule& rule) { return write_cost(rule.cost); }, check_cost},
    {"on_bad_cost",
     "with `cost: {attribute: …}`, for a value that is not a whole number from 0 to 10^12: `default` uses the "
     "request's "
     "own cost, `deny` denies the request with reason `cost_too_large`",
     "`default`", [](const FieldAt& at, Rule& rule) { read_choice(at, kBadCostPolicies, rule.on_bad_cost); },
     [](const Rule& rule) {
       return write_choice_unless(kBadCostPolicies, rule.on_bad_cost, BadCostPolicy::use_default);
     },
     check_on_bad_cost},
    {"plans", "plan name → [changed numbers](#plans-and-overrides), or `unlimited`; chosen by the attribute `plan`",
     "none", [](const FieldAt& at, Rule& rule) { read_plans(at, rule.plans); },
     [](const Rule& rule) { return rule.plans.empty() ? Written() : write_plans(rule.plans); }, check_plans},
    {"overrides", "a list of [changed numbers](#plans-and-overrides) for some requests", "none",
     [](const FieldAt& at, Rule& rule) { read_overrides(at, rule.overrides); },
     [](const Rule& rule) { return rule.overrides.empty() ? Written() : write_overrides(rule.overrides); },
     check_overrides},
    {"mode", "`enforce`; `shadow`: count and record, never deny; `off`", "`enforce`; with `limit: {auto: …}` `shadow`",
     [](const FieldAt& at, Rule& rule) { read_choice(at, kModes, rule.mode); },
     [](const Rule& rule) {
       return write_choice_unless(kModes, rule.mode, rule.auto_limit ? Mode::shadow : Mode::enforce);
     }},
    {"rollout", "percent of subjects to which the rule applies; the same subjects on every node and after a restart",
     "100", [](const FieldAt& at, Rule& rule) { at.take(rule.rollout, read_whole_number(at.node(), 0, 100)); },
     [](const Rule& rule) { return write_number_unless(rule.rollout, Rule().rollout); },
     [](const Rule& rule, RuleFaults& faults) { faults.check_number({"rollout"}, rule.rollout, 0, 100); }},
    {"count_denied",
     "denied requests use up units, too, until none are left; with an `overdraft`, up to that many beyond", "`false`",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) at.take(rule.count_denied, read_bool(at.node()));
     },
     [](const Rule& rule) { return write_true(rule.count_denied); }, check_count_denied},
    {"audit_denials",
     "every denial by this rule is stored in the database, where it survives a restart; see "
     "[explaining denials](explaining-denials.md#denials-that-must-be-kept)",
     "`false`", [](const FieldAt& at, Rule& rule) { at.take(rule.audit_denials, read_bool(at.node())); },
     [](const Rule& rule) { return write_true(rule.audit_denials); }},
    {"hidden",
     "`true`: answers to requests that this rule counts name no rule at all; `rule`: they omit only this rule; see "
     "[what clients are told](#what-clients-are-told)",
     "`false`", [](const FieldAt& at, Rule& rule) { read_choice(at, kHidden, rule.hidden); },
     [](const Rule& rule) { return write_choice_unless(kHidden, rule.hidden, Hidden::no); }},
    {"message",
     "the text for a client whose request this rule denies, up to 512 bytes; `{limit}`, `{window}` and `{wait}` are "
     "filled in; see [what clients are told](#what-clients-are-told)",
     "a sentence that names the rule",
     [](const FieldAt& at, Rule& rule) { at.take(rule.message, read_text(at.node())); },
     [](const Rule& rule) { return rule.message.empty() ? Written() : YamlText::text(rule.message); }, check_message},
    {"on_store_failure",
     "`allow`, `deny`, `local`, `degrade` or `static`, or a map with a time; see "
     "[below](#when-the-store-does-not-answer); concurrency and quota: not `local` and `static`; strict quota: only "
     "`deny`",
     "`allow`, with a warning; quota: `deny`",
     [](const FieldAt& at, Rule& rule) { read_store_failure(at, rule.on_store_failure); },
     [](const Rule& rule) { return rule.on_store_failure ? write_store_failure(*rule.on_store_failure) : Written(); },
     check_on_store_failure},
    {"local_share", "percent of the allowance for `local`", "50",
     [](const FieldAt& at, Rule& rule) { at.take(rule.local_share, read_whole_number(at.node(), 1, 100)); },
     [](const Rule& rule) { return write_number_unless(rule.local_share, Rule().local_share); },
     [](const Rule& rule, RuleFaults& faults) { faults.check_number({"local_share"}, rule.local_share, 1, 100); }},
    {"static_limit", "units per window on this node for `static`", "required for `static`",
     [](const FieldAt& at, Rule& rule) { at.take(rule.static_limit, read_whole_number(at.node(), 1, kMaxUnits)); },
     [](const Rule& rule) { return write_number_unless(rule.static_limit, Rule().static_limit); }, check_static_limit},
    {"reconcile",
     "after an outage, charge the store with what was admitted without it; see "
     "[below](#when-the-store-does-not-answer)",
     "`true`", [](const FieldAt& at, Rule& rule) { at.take(rule.reconcile, read_bool(at.node())); },
     [](const Rule& rule) { return rule.reconcile ? Written() : YamlText::word("false"); }},
    {"local_limit", "[a cap on this node](#a-local-limit-in-front) for each subject, before the store is asked", "none",
     [](const FieldAt& at, Rule& rule) { read_local_limit(at, rule.local_limit); },
     [](const Rule& rule) { return rule.local_limit ? Written(write_local_limit(*rule.local_limit)) : std::nullopt; },
     check_local_limit},
    {"max_subjects",
     "subjects that may have a bucket at a time, up to 10^9; further new subjects share one bucket, see [many "
     "subjects](#many-subjects)",
     "no bound",
     [](const FieldAt& at, Rule& rule) { at.take(rule.max_subjects, read_whole_number(at.node(), 1, kMaxSubjects)); },
     [](const Rule& rule) { return write_number(rule.max_subjects); }, check_max_subjects},
    {"overdraft",
     "units that may be charged beyond the capacity for work already done, such as a commit of more than was reserved; "
     "see [reservations](reservations.md). With `count_denied`, also the cost of denied requests",
     "one capacity",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) at.take(rule.overdraft, read_whole_number(at.node(), 0, kMaxUnits));
     },
     [](const Rule& rule) { return write_number(rule.overdraft); }, check_overdraft},
    {"estimate",
     "how much a [reservation](reservations.md#learned-estimates) without an amount takes, learned from the actual "
     "cost of earlier ones",
     "none: reservations need an amount",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) read_estimate(at, rule.estimate);
     },
     [](const Rule& rule) { return rule.estimate ? Written(write_estimate(*rule.estimate)) : std::nullopt; },
     check_estimate},
    {"on_expiry",
     "the cost of a [reservation](reservations.md) that expires unsettled: `release`, nothing; `commit`, what it held",
     "`release`",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) read_choice(at, kExpiryPolicies, rule.on_expiry);
     },
     [](const Rule& rule) { return write_choice_unless(kExpiryPolicies, rule.on_expiry, ExpiryPolicy::release); },
     check_on_expiry},
    {"on_exceed",
     "`deny`; `challenge`: answers `challenge` instead of a denial, and a reported success clears the bucket; see "
     "[challenges](login-protection.md#challenges)",
     "`deny`", [](const FieldAt& at, Rule& rule) { read_choice(at, kOnExceed, rule.on_exceed); },
     [](const Rule& rule) { return write_choice_unless(kOnExceed, rule.on_exceed, OnExceed::deny); }, check_on_exceed},
    {"penalty",
     "refuses a subject for a growing time after repeated denials or reported failures; see "
     "[penalties](login-protection.md#penalties)",
     "none",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) read_penalty(at, rule.penalty);
     },
     [](const Rule& rule) { return rule.penalty ? Written(write_penalty(*rule.penalty)) : std::nullopt; },
     check_penalty},
    {"distinct",
     "fixed-window, sliding-log: counts different values of this attribute, each once, instead of requests; limit up "
     "to 1,000; see [counting different values](#counting-different-values)",
     "requests are counted", [](const FieldAt& at, Rule& rule) { at.take(rule.distinct, read_text(at.node())); },
     [](const Rule& rule) { return rule.distinct.empty() ? Written() : YamlText::text(rule.distinct); },
     check_distinct},
    {"candidate",
     "other numbers to try on the same traffic without affecting any answer; see [rolling out](rollout.md#2-candidate)",
     "none",
     [](const FieldAt& at, Rule& rule) {
       if (!is_for_others(at, rule)) read_candidate(at, rule.candidate);
     },
     [](const Rule& rule) { return rule.candidate ? Written(write_candidate(*rule.candidate)) : std::nullopt; },
     check_candidate},
    {"consistency",
     "`exact`: every decision asks the store; `leased`: a node takes units from Redis in advance and spends them "
     "without asking; `synced`: a node admits first and reports to Redis afterwards; see [consistency](consistency.md)",
     "`exact`", read_consistency, write_consistency, check_consistency},
    {"tolerance", "synced: what all nodes together may admit beyond the capacity, in units or percent of it", "`5%`",
     read_tolerance, write_tolerance, check_tolerance},
    {"sync_interval", "synced: how often a node reports what it has admitted, 10ms to 10s", "`100ms`",
     read_sync_interval, write_sync_interval, check_sync_interval},
    {"hot_keys",
     "`show`; `lease`: a key with more than 1,000 requests per second on a node is leased there; `off`: its keys are "
     "neither counted nor listed as hot; see [hot keys](consistency.md#hot-keys)",
     "`show`", read_hot_keys, write_hot_keys, check_hot_keys},
    {"region",
     "`none`: each region has the whole limit; `slices`: each has a share that follows demand; `reconcile`: each "
     "counts and reports to the others; `central`: one region counts for all; see [regions](regions.md)",
     "`none`", read_region, write_region, check_region},
    {"on_partition",
     "with `region: reconcile`, while other regions cannot be reached: `hold` admits at most the tolerance, `continue` "
     "admits by the last known counts",
     "`hold`", read_on_partition, write_on_partition, check_on_partition},
    {"home", "with `region: central`, the region that counts", "none", read_home, write_home, check_home},
    {"hash_tag", "`tenant`, `tenant+action` or `subject`: which buckets share a slot of a Redis Cluster",
     "`tenant` if the rule counts by it, else `subject`", read_hash_tag, write_hash_tag},
};

constexpr Field<AllowanceChange> kChangeFields[] = {
    {"limit", "units per window, `0` or `unlimited`", "the rule's", read_changed_limit,
     [](const AllowanceChange& change) { return write_number(change.limit); }},
    {"window", "a duration", "the rule's",
     [](const FieldAt& at, AllowanceChange& change) {
       if (!at.take(change.window, read_duration(at.node()))) change.window = std::chrono::seconds(1);
     },
     [](const AllowanceChange& change) {
       return change.window ? Written(YamlText::duration(*change.window)) : std::nullopt;
     }},
    {"burst", "token-bucket, gcra: capacity", "the rule's, else the changed `limit`",
     [](const FieldAt& at, AllowanceChange& change) { read_changed_number(at, 1, change.burst); },
     [](const AllowanceChange& change) { return write_number(change.burst); }},
    {"queue", "leaky-bucket: units that may wait", "the rule's, else the changed `limit`",
     [](const FieldAt& at, AllowanceChange& change) { read_changed_number(at, 0, change.queue); },
     [](const AllowanceChange& change) { return write_number(change.queue); }},
    {"unlimited", "`true`: nothing is counted", "`false`",
     [](const FieldAt& at, AllowanceChange& change) {
       bool unlimited = true;  // valid also where it cannot be read, so that one mistake is one line
       at.take(unlimited, read_bool(at.node()));
       change.unlimited = change.unlimited || unlimited;
     },
     [](const AllowanceChange& change) { return write_true(change.unlimited); }},
};

constexpr Field<Override> kOverrideFields[] = {
    {"when", "which requests, as in `match`", "every request that the rule counts",
     [](const FieldAt& at, Override& override) { read_conditions(at, override.when); },
     [](const Override& override) { return override.when.empty() ? Written() : write_conditions(override.when); }},
    {"until", "a time such as `2036-12-31T00:00:00Z`; from then on it no longer applies", "no end",
     [](const FieldAt& at, Override& override) { at.take(override.until, read_instant(at.node())); },
     [](const Override& override) {
       return override.until ? Written(YamlText::instant(*override.until)) : std::nullopt;
     }},
    {"reason", "a note of at most 256 bytes, shown by `weir rules explain`", "none",
     [](const FieldAt& at, Override& override) { at.take(override.reason, read_text(at.node())); },
     [](const Override& override) {
       return override.reason.empty() ? std::nullopt : Written(YamlText::text(override.reason));
     }},
    {"emergency", "`true`: comes before all other overrides", "`false`",
     [](const FieldAt& at, Override& override) { at.take(override.emergency, read_bool(at.node())); },
     [](const Override& override) { return write_true(override.emergency); }},
    {"mode", "for these requests instead of the rule's mode; a mode alone leaves the numbers unchanged", "the rule's",
     [](const FieldAt& at, Override& override) {
       Mode mode = Mode::enforce;
       read_choice(at, kModes, mode);
       override.mode = mode;
     },
     [](const Override& override) {
       return override.mode ? Written(write_choice(kModes, *override.mode)) : std::nullopt;
     }},
};

constexpr Field<Block> kBlockFields[] = {
    {"when", "which requests, as in `match`", "every request; needs `all`",
     [](const FieldAt& at, Block& block) { read_conditions(at, block.when); },
     [](const Block& block) { return block.when.empty() ? Written() : write_conditions(block.when); }},
    {"until", "a time such as `2036-12-31T00:00:00Z`; from then on it no longer applies", "no end",
     [](const FieldAt& at, Block& block) { at.take(block.until, read_instant(at.node())); },
     [](const Block& block) { return block.until ? Written(YamlText::instant(*block.until)) : std::nullopt; }},
    {"reason", "a note of at most 256 bytes, for operators; callers never see it", "none",
     [](const FieldAt& at, Block& block) { at.take(block.reason, read_text(at.node())); },
     [](const Block& block) { return block.reason.empty() ? std::nullopt : Written(YamlText::text(block.reason)); }},
    {"all",
     "`true` is required for a block whose conditions are all true for nearly any value or for requests without the "
     "attribute, to prevent mistakes",
     "`false`", nullptr, [](const Block& block) { return write_true(needs_all(block)); }},
};

}  // namespace

std::span<const Field<Rules>> top_fields() { return kTopFields; }
std::span<const Field<Rule>> rule_fields() { return kRuleFields; }
std::span<const Field<AllowanceChange>> change_fields() { return kChangeFields; }
std::span<const Field<Override>> override_fields() { return kOverrideFields; }
std::span<const Field<Block>> block_fields() { return kBlockFields; }

}  // namespace weir::rules
