#include "rules/read/rules_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/temporary_folder.h"

namespace weir::rules {
namespace {

using namespace std::chrono_literals;

std::string error_of(const std::string& text) {
  const Result<Rules> rules = parse_rules(text, "f.yaml");
  return rules.ok() ? "ok" : rules.failure().message;
}

Rules parsed(const std::string& text) {
  Result<Rules> rules = parse_rules(text, "f.yaml");
  EXPECT_TRUE(rules.ok()) << rules.failure().message;
  return rules.ok() ? std::move(rules).value() : Rules{};
}

// One of each thing that a rules file can say.
constexpr const char* kExample = R"(version: 1
rules:
  - id: search-per-key              # stable: appears in answers, headers, metrics
    match: {action: search, method: [GET, HEAD], path: "/v1/*"}   # equality, list, glob, "~regex", CIDR for ip
    per: [tenant, api_key]          # the subject; a request without one of them is not counted by this rule
    algorithm: token-bucket
    limit: 120                      # per window
    window: 60s                     # ms, s, m, h, d
    burst: 200                      # default: limit
    cost: {by: method, GET: 1, POST: 3, default: 1}       # or {attribute: tokens}, or a number
    plans: {free: {limit: 60}, pro: {limit: 600, burst: 1000}, enterprise: unlimited}
    overrides:
      - {when: {tenant: acme}, limit: 5000, until: 2026-12-31T00:00:00Z, reason: launch}
    mode: enforce                   # enforce | shadow | off
    rollout: 100                    # percent of subjects, stable by subject
    on_store_failure: allow         # allow | deny | local | degrade | static   (local_share: 50 %, static_limit: N)
    consistency: exact              # exact | leased | synced
    count_denied: false
)";

TEST(RulesFile, ReadsAWholeFile) {
  const Rules rules = parsed(kExample);
  ASSERT_EQ(rules.rules.size(), 1u);
  const Rule& rule = rules.rules[0];
  EXPECT_EQ(rule.id, "search-per-key");
  ASSERT_EQ(rule.match.size(), 3u);
  EXPECT_EQ(rule.match[1].attribute, "method");
  EXPECT_EQ(rule.match[1].patterns, (std::vector<std::string>{"GET", "HEAD"}));
  EXPECT_EQ(rule.per, (std::vector<std::string>{"tenant", "api_key"}));
  EXPECT_EQ(rule.allowance.algorithm, Algorithm::token_bucket);
  EXPECT_EQ(rule.allowance.limit, 120);
  EXPECT_EQ(rule.allowance.window, Duration(60s));
  EXPECT_EQ(rule.allowance.burst, 200);
  EXPECT_EQ(rule.cost.kind, CostModel::Kind::table);
  EXPECT_EQ(rule.cost.attribute, "method");
  EXPECT_EQ(rule.cost.table, (std::vector<std::pair<std::string, std::int64_t>>{{"GET", 1}, {"POST", 3}}));
  ASSERT_EQ(rule.plans.size(), 3u);
  EXPECT_EQ(rule.plans[1].change.burst, 1000);
  EXPECT_TRUE(rule.plans[2].change.unlimited);
  ASSERT_EQ(rule.overrides.size(), 1u);
  EXPECT_EQ(rule.overrides[0].reason, "launch");
  EXPECT_EQ(micros(*rule.overrides[0].until), 1'798'675'200'000'000);
  EXPECT_FALSE(rules.global_shadow);
}

TEST(RulesFile, ReadsEveryOtherForm) {
  const Rules rules = parsed(R"(version: 1
global_mode: shadow
defaults: {window: 10s, mode: shadow, on_store_failure: local, count_denied: true, burst: 7}
rules:
  - id: a
    per: tenant
    limit: 5
    cost: {attribute: tokens}
    local_share: 25
    local_limit: {limit: 50, window: 1s}
    hash_tag: tenant+action
  - id: b
    algorithm: leaky-bucket
    limit: 5
    window: 1m
    queue: 3
    mode: off
    cost: 4
    on_store_failure: static
    static_limit: 9
    count_denied: false
    overrides: [{unlimited: true, emergency: true}, {when: {ip: 10.0.0.0/8}, limit: unlimited}]
  - {id: c, limit: unlimited, plans: {free: {limit: 3}}, hash_tag: subject, rollout: 25}
  - {id: d, algorithm: bucketed-window, limit: 5, buckets: 5, on_store_failure: degrade}
)");
  ASSERT_EQ(rules.rules.size(), 4u);
  EXPECT_TRUE(rules.global_shadow);
  const Rule& a = rules.rules[0];
  EXPECT_EQ(a.per, std::vector<std::string>{"tenant"});
  EXPECT_EQ(a.allowance.window, Duration(10s));
  EXPECT_EQ(a.allowance.burst, 7);
  EXPECT_EQ(a.mode, Mode::shadow);
  EXPECT_EQ(a.on_store_failure, FailurePolicy::local);
  EXPECT_EQ(a.local_share, 25);
  ASSERT_TRUE(a.local_limit.has_value());
  EXPECT_EQ(a.local_limit->limit, 50);
  EXPECT_EQ(a.local_limit->window, Duration(1s));
  EXPECT_EQ(a.local_limit->burst, std::nullopt);
  EXPECT_EQ(a.hash_tag, HashTag::tenant_action);
  EXPECT_TRUE(a.count_denied);
  EXPECT_EQ(a.cost.kind, CostModel::Kind::attribute);
  EXPECT_EQ(a.cost.attribute, "tokens");
  const Rule& b = rules.rules[1];
  EXPECT_EQ(b.allowance.burst, std::nullopt);  // inherited, but of no meaning here
  EXPECT_EQ(b.allowance.queue, 3);
  EXPECT_EQ(b.mode, Mode::off);
  EXPECT_EQ(b.cost.kind, CostModel::Kind::fixed);
  EXPECT_EQ(b.cost.units, 4);
  EXPECT_EQ(b.static_limit, 9);
  EXPECT_EQ(b.on_store_failure, FailurePolicy::static_limit);
  EXPECT_FALSE(b.count_denied);
  EXPECT_TRUE(b.overrides[0].emergency);
  EXPECT_TRUE(b.overrides[0].change.unlimited);
  EXPECT_TRUE(b.overrides[1].change.unlimited);
  EXPECT_TRUE(rules.rules[2].unlimited);
  EXPECT_EQ(rules.rules[2].hash_tag, HashTag::subject);
  EXPECT_EQ(rules.rules[2].rollout, 25);
  EXPECT_EQ(rules.rules[3].allowance.buckets, 5);
  EXPECT_EQ(rules.rules[3].hash_tag, std::nullopt);
}

// One fault each. `- %` is short for a rule of three lines that is valid except for what follows it.
struct BadFile {
  const char* text;
  const char* error;
};
const BadFile kBadFiles[] = {
    {"", "f.yaml:1:1: is empty, expected version: 1 and rules"},
    {"[]", "f.yaml:1:1: is a list, expected a map of fields"},
    {"rules: []", "f.yaml:1:1: version: is missing, expected 1"},
    {"version: 2\nrules: []", "f.yaml:1:10: version: is \"2\", expected 1"},
    {"version: 1", "f.yaml:1:1: rules: is missing, expected a list of rules"},
    {"version: 1\nrules:", "f.yaml:2:1: rules: is empty, expected a list of rules"},
    {"version: 1\nrules: {}", "f.yaml:2:8: rules: is a map, expected a list of rules"},
    {"version: 1\nruls: []\nrules: []",
     "f.yaml:2:1: ruls: unknown field (did you mean rules?), expected one of version, rules, defaults, global_mode, "
     "on_no_rule, blocks or shedding"},
    {"version: 1\nglobal_mode: off\nrules: []", "f.yaml:2:14: global_mode: is \"off\", expected shadow or enforce"},
    {"version: 1\nrules: []\nshedding: {}",
     "f.yaml:3:11: shedding.capacity: has neither rate nor in_flight, expected the capacity of this node, as in {rate: "
     "5000/s}\nf.yaml:3:11: shedding.classes: has no class, expected at least one, as in {name: read, shed_at: 80%}"},
    {"version: 1\nrules: []\nblocks: {}",
     "f.yaml:3:9: blocks: is a map, expected a list of blocks such as {when: {ip: 203.0.113.0/24}}"},
    {"version: 1\nrules: []\nblocks: [{when: {ip: 203.0.113.0/40}}]",
     "f.yaml:3:22: blocks[0].when.ip: is \"203.0.113.0/40\", expected an address or a block such as 10.0.0.0/8"},
    {"version: 1\nrules: []\nblocks: [{until: 2036-12-31T00:00:00Z}]",
     "f.yaml:3:10: blocks[0].when: is missing, expected which requests, or all: true to refuse every request"},
    {"version: 1\nrules: []\nblocks: [{when: {tenant: '*'}}]",
     "f.yaml:3:17: blocks[0].when: names no one in particular (nearly any value, or none), expected a narrower "
     "condition, "
     "or all: true beside it"},
    {"version: 1\nrules: []\nblocks: [{when: {tenant: a}, whan: b}]",
     "f.yaml:3:30: blocks[0].whan: unknown field (did you mean when?), expected one of when, until, reason or all"},
    {"version: 1\nrules: []\nblocks: [{when: {tenant: a}, until: soon}]",
     "f.yaml:3:37: blocks[0].until: is \"soon\", expected a time as in 2026-12-31T00:00:00Z or "
     "2026-12-31T01:00:00+01:00"},
    {"version: 1\nrules: [x]", "f.yaml:2:9: rules[0]: is \"x\", expected a map of fields"},
    {"version: 1\nrules: []\ndefaults: {rollout: 101}", "f.yaml:3:21: defaults.rollout: is 101, expected 0 to 100"},
    {"version: 1\nrules: []\ndefaults: 3", "f.yaml:3:11: defaults: is \"3\", expected a map of fields"},
    {"version: 1\nrules: [{limit: 1, window: 1s}]",
     "f.yaml:2:9: rules[0].id: is missing, expected a name for the rule"},
    {"version: 1\nrules: [{id: a b, limit: 1, window: 1s}]",
     "f.yaml:2:14: rules[0].id: is \"a b\", expected 1 to 64 letters, digits, '.', '_' or '-'"},
    {"version: 1\nrules: [{id: a, window: 1s}]",
     "f.yaml:2:9: rules[0].limit: is missing, expected how much passes in one window, or unlimited"},
    {"version: 1\nrules: [{id: a, limit: 1}]",
     "f.yaml:2:9: rules[0].window: is missing, expected a duration such as 60s"},
    {"version: 1\nrules: [{id: a, limit: -1, window: 1s}]",
     "f.yaml:2:24: rules[0].limit: is -1, expected 0 to 1000000000000, or unlimited"},
    {"version: 1\nrules: [{id: a, limit: many, window: 1s}]",
     "f.yaml:2:24: rules[0].limit: is \"many\", expected a whole number, 0 to 1000000000000, or unlimited"},
    {"version: 1\nrules: [{id: a, limit: 1, window: 1.5h}]",
     "f.yaml:2:35: rules[0].window: is \"1.5h\", expected a whole number and ms, s, m, h or d, as in 60s"},
    {"version: 1\nrules: [{id: a, limit: 1, window: 9999999d}]",
     "f.yaml:2:35: rules[0].window: is 9999999d, expected 1ms to 3660d"},
    {"version: 1\nrules:\n- %\n  brust: 2",
     "f.yaml:6:3: rules[0].brust: unknown field (did you mean burst?), expected one of id, match, per, descriptor, "
     "replaces, algorithm, limit, window, lease, period, timezone, anchor_day, grace, overage, enforcement, notify, "
     "plan_change, burst, "
     "queue, buckets, cost, on_bad_cost, plans, overrides, mode, "
     "rollout, "
     "count_denied, audit_denials, hidden, message, on_store_failure, local_share, static_limit, "
     "reconcile, local_limit, "
     "max_subjects, "
     "overdraft, "
     "estimate, on_expiry, on_exceed, penalty, distinct, candidate, consistency, tolerance, sync_interval, "
     "hot_keys, region, on_partition, home or "
     "hash_tag"},
    {"version: 1\nrules:\n- %\n  penalty: {after: 5}",
     "f.yaml:6:12: rules[0].penalty.within: is missing\nf.yaml:6:12: rules[0].penalty.block: is missing"},
    {"version: 1\nrules:\n- %\n  algorithm: quota\n  period: month",
     "f.yaml:5:11: rules[0].window: does not apply to quota, which has a period"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota}]",
     "f.yaml:2:9: rules[0].period: is missing, expected hour, day, week, month or year"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: decade}]",
     "f.yaml:2:53: rules[0].period: is \"decade\", expected hour, day, week, month or year"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: month, timezone: Europe/Berlln}]",
     "f.yaml:2:70: rules[0].timezone: no time zone \"Europe/Berlln\"; did you mean Europe/Berlin?"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: month, anchor_day: 32}]",
     "f.yaml:2:72: rules[0].anchor_day: is 32, expected 1 to 31"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: month, anchor_day: 1.5}]",
     "f.yaml:2:72: rules[0].anchor_day: is \"1.5\", expected a whole number, 1 to 31"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: week, anchor_day: 3}]",
     "f.yaml:2:71: rules[0].anchor_day: is \"3\", expected mon, tue, wed, thu, fri, sat or sun"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: day, anchor_day: 3}]",
     "f.yaml:2:70: rules[0].anchor_day: is given with period: day, expected only with month or week"},
    {"version: 1\nrules: [{id: a, limit: 0.5, algorithm: quota, period: day}]",
     "f.yaml:2:24: rules[0].limit: is \"0.5\", expected a whole number, 0 to 1000000000000, or unlimited"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: day, grace: -1}]",
     "f.yaml:2:65: rules[0].grace: is -1, expected 0 to 1000000000000"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: day, grace: 101%}]",
     "f.yaml:2:65: rules[0].grace: is \"101%\", expected 0% to 100%"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: day, notify: [80%, 80%]}]",
     "f.yaml:2:72: rules[0].notify[1]: is given twice"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: day, enforcement: strict, on_store_failure: "
     "allow}]",
     "f.yaml:2:97: rules[0].on_store_failure: is not deny, expected deny with enforcement: strict: it never admits "
     "what "
     "is not recorded"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: quota, period: day, on_store_failure: local}]",
     "f.yaml:2:76: rules[0].on_store_failure: is local, expected allow, deny or degrade for quota"},
    {"version: 1\nrules:\n- %\n  period: day",
     "f.yaml:6:11: rules[0].period: is given, expected algorithm: quota beside it"},
    {"version: 1\nrules:\n- %\n  algorithm: concurrency\n  lease: 30s",
     "f.yaml:5:11: rules[0].window: does not apply to concurrency"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: concurrency}]",
     "f.yaml:2:9: rules[0].lease: is missing, expected a duration such as 30s"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: concurrency, lease: 2d}]",
     "f.yaml:2:58: rules[0].lease: is 2d, expected 10ms to 1d"},
    {"version: 1\nrules: [{id: a, limit: 10001, algorithm: concurrency, lease: 30s}]",
     "f.yaml:2:24: rules[0].limit: is 10001, expected 0 to 10000 for concurrency"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: concurrency, lease: 30s, burst: 2}]",
     "f.yaml:2:70: rules[0].burst: does not apply to concurrency"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: concurrency, lease: 30s, plans: {pro: {window: 1s}}}]",
     "f.yaml:2:85: rules[0].plans.pro.window: does not apply to concurrency"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: concurrency, lease: 30s, count_denied: true}]",
     "f.yaml:2:77: rules[0].count_denied: does not apply to concurrency: a denied request holds nothing"},
    {"version: 1\nrules: [{id: a, limit: 3, algorithm: concurrency, lease: 30s, on_store_failure: local}]",
     "f.yaml:2:81: rules[0].on_store_failure: is local, expected allow, deny or degrade for concurrency"},
    {"version: 1\nrules:\n- %\n  lease: 30s",
     "f.yaml:6:10: rules[0].lease: is given, expected algorithm: concurrency beside it"},
    {"version: 1\nrules:\n- %\n  algorithm: token-buket",
     "f.yaml:6:14: rules[0].algorithm: is \"token-buket\", expected fixed-window, bucketed-window, sliding-log, "
     "sliding-counter, token-bucket, gcra, leaky-bucket, concurrency or quota (did you mean token-bucket?)"},
    {"version: 1\nrules:\n- %\n  tolerance: 5%",
     "f.yaml:6:14: rules[0].tolerance: is set, expected consistency: synced or region: reconcile: other rules admit "
     "nothing too much"},
    {"version: 1\nrules:\n- %\n  mode: enforced",
     "f.yaml:6:9: rules[0].mode: is \"enforced\", expected enforce, shadow or off (did you mean enforce?)"},
    {"version: 1\nrules:\n- %\n  burst: 0", "f.yaml:6:10: rules[0].burst: is 0, expected 1 to 1000000000000"},
    {"version: 1\nrules:\n- %\n  queue: 4", "f.yaml:6:10: rules[0].queue: does not apply to token-bucket"},
    {"version: 1\nrules:\n- %\n  rollout: 10%",
     "f.yaml:6:12: rules[0].rollout: is \"10%\", expected a whole number, 0 to 100"},
    {"version: 1\nrules:\n- %\n  on_store_failure: static",
     "f.yaml:3:3: rules[0].static_limit: is missing, expected a number, for static"},
    {"version: 1\nrules:\n- %\n  local_limit: 5",
     "f.yaml:6:16: rules[0].local_limit: is \"5\", expected a map of fields"},
    {"version: 1\nrules:\n- %\n  local_limit: {limit: 5}",
     "f.yaml:6:16: rules[0].local_limit.window: is missing, expected local_limit: {limit: 100, window: 1s}"},
    {"version: 1\nrules:\n- %\n  local_limit: {limit: 0, window: 1s}",
     "f.yaml:6:24: rules[0].local_limit.limit: is 0, expected 1 to 1000000000000"},
    {"version: 1\nrules:\n- %\n  local_limit: {limit: unlimited, window: 1s}",
     "f.yaml:6:24: rules[0].local_limit.limit: is \"unlimited\", expected a whole number, 1 to 1000000000000"},
    {"version: 1\nrules:\n- %\n  local_limit: {limit: 5, window: 0s}",
     "f.yaml:6:35: rules[0].local_limit.window: is 0us, expected 1ms to 3660d"},
    {"version: 1\nrules:\n- %\n  local_limit: {limit: 5, window: 1s, queue: 2}",
     "f.yaml:6:39: rules[0].local_limit.queue: unknown field, expected one of limit, window or burst"},
    {"version: 1\nrules:\n- %\n  local_limit: {limit: 5, window: 1s, burst: -1}",
     "f.yaml:6:46: rules[0].local_limit.burst: is -1, expected 1 to 1000000000000"},
    {"version: 1\nrules:\n- %\n  hash_tag: action",
     "f.yaml:6:13: rules[0].hash_tag: is \"action\", expected tenant, tenant+action or subject"},
    {"version: 1\nrules:\n- %\n  count_denied: yes",
     "f.yaml:6:17: rules[0].count_denied: is \"yes\", expected true or false"},
    {"version: 1\nrules:\n- %\n  per: [a, b, a]", "f.yaml:6:15: rules[0].per[2]: names \"a\" a second time"},
    {"version: 1\nrules:\n- %\n  on_store_failure: alow",
     "f.yaml:6:21: rules[0].on_store_failure: is \"alow\", expected allow, deny, local, degrade or static (did you "
     "mean "
     "allow?)"},
    {"version: 1\nrules:\n- %\n  on_store_failure: {for: 5m, then: deny}",
     "f.yaml:6:21: rules[0].on_store_failure.policy: is missing, expected on_store_failure: {policy: allow, for: 5m, "
     "then: deny}"},
    {"version: 1\nrules:\n- %\n  on_store_failure: {policy: allow, for: 5m}",
     "f.yaml:6:21: rules[0].on_store_failure: has for without then, expected the policy that follows"},
    {"version: 1\nrules:\n- %\n  on_store_failure: {policy: allow, then: deny}",
     "f.yaml:6:21: rules[0].on_store_failure: has then without for, expected how long the first policy answers"},
    {"version: 1\nrules:\n- %\n  on_store_failure: {policy: allow, for: 5, then: deny}",
     "f.yaml:6:42: rules[0].on_store_failure.for: is \"5\", expected a whole number and ms, s, m, h or d, as in 60s"},
    {"version: 1\nrules:\n- %\n  on_store_failure: {policy: allow, for: 10ms, then: deny}",
     "f.yaml:6:42: rules[0].on_store_failure.for: is not in the range from 1s to 365d"},
    {"version: 1\nrules:\n- %\n  on_store_failure: {policy: deny, for: 5m, then: deny}",
     "f.yaml:6:51: rules[0].on_store_failure.then: is the first policy itself, expected another"},
    {"version: 1\nrules:\n- %\n  on_store_failure: {policy: allow, for: 5m, then: static}",
     "f.yaml:3:3: rules[0].static_limit: is missing, expected a number, for static"},
    {"version: 1\nrules:\n- %\n  on_store_failure: {policy: allow, until: 5m}",
     "f.yaml:6:37: rules[0].on_store_failure.until: unknown field, expected one of policy, for or then"},
    {"version: 1\nrules:\n- %\n  hidden: yes",
     "f.yaml:6:11: rules[0].hidden: is \"yes\", expected true, false or rule"},
    {"version: 1\nrules:\n- %\n  message: [a]", "f.yaml:6:12: rules[0].message: is a list, expected a text"},
    {"version: 1\nrules:\n- %\n  message: Hello {user}",
     "f.yaml:6:12: rules[0].message: has the unknown placeholder {user}, expected {limit}, {window} or {wait}"},
    {"version: 1\nrules:\n- %\n  message: \"a\\nb\"",
     "f.yaml:6:12: rules[0].message: has a control character or is not valid UTF-8, expected one line of text"},
    {"version: 1\nrules:\n- %\n  message: \"a\\x85b\"",
     "f.yaml:6:12: rules[0].message: has a control character or is not valid UTF-8, expected one line of text"},
    {"version: 1\nrules:\n- %\n  hidden: rule\n  message: \"{limit} in {wait}\"",
     "f.yaml:7:12: rules[0].message: tells the limit of a rule with hidden: rule, expected only {wait}"},
    {"version: 1\nrules:\n- %\n  per: [a, b||c]",
     "f.yaml:6:12: rules[0].per[1]: is \"b||c\", expected a name on each side of |, as in api_key|ip"},
    {"version: 1\nrules:\n- %\n  per: [a|b, c|a]", "f.yaml:6:14: rules[0].per[1]: names \"a\" a second time"},
    {"version: 1\nrules:\n- %\n  per: a|b|c|d|e|f|g|h|i",
     "f.yaml:6:8: rules[0].per[0]: has 9 alternatives, expected at most 8"},
    {"version: 1\nrules:\n- %\n  descriptor: [{a: }]\n  per: [a|b]",
     "f.yaml:7:9: rules[0].per[0]: names \"b\", which the descriptor does not have"},
    {"version: 1\nrules:\n- %\n  per: [[a]]", "f.yaml:6:9: rules[0].per[0]: is a list, expected a text"},
    {"version: 1\nrules:\n- %\n  match: [a]",
     "f.yaml:6:11: rules[0].match[0]: is \"a\", expected a map of attributes and values"},
    {"version: 1\nrules:\n- %\n  match: {a: }", "f.yaml:6:14: rules[0].match.a: is empty, expected a text"},
    {"version: 1\nrules:\n- %\n  match: {a: []}", "f.yaml:6:14: rules[0].match.a: has no value, expected at least one"},
    {"version: 1\nrules:\n- %\n  match: {path: '~[a-'}",
     "f.yaml:6:17: rules[0].match.path: is \"~[a-\", not a regular expression: missing ]: [a-"},
    {"version: 1\nrules:\n- %\n  match: {path: '~((a{100}){100}){100}'}",
     "f.yaml:6:17: rules[0].match.path: is \"~((a{100}){100}){100}\", not a regular expression: invalid repetition "
     "size: "
     "{100}"},
    {"version: 1\nrules:\n- %\n  match: {ip: 10.0.0.0/33}",
     "f.yaml:6:15: rules[0].match.ip: is \"10.0.0.0/33\", expected an address or a block such as 10.0.0.0/8"},
    {"version: 1\nrules:\n- %\n  cost: -1", "f.yaml:6:9: rules[0].cost: is -1, expected 0 to 1000000000000"},
    {"version: 1\nrules:\n- %\n  cost: {GET: 1}",
     "f.yaml:6:9: rules[0].cost: is a map, expected a number, {attribute: NAME} or {by: NAME, VALUE: number, default: "
     "number}"},
    {"version: 1\nrules:\n- %\n  cost: {by: method, GET: x}",
     "f.yaml:6:27: rules[0].cost.GET: is \"x\", expected a whole number, 0 to 1000000000000"},
    {"version: 1\nrules:\n- %\n  plans: {pro: {burst: 0}}",
     "f.yaml:6:24: rules[0].plans.pro.burst: is 0, expected 1 to 1000000000000"},
    {"version: 1\nrules:\n- %\n  plans: {pro: {queue: 5}}",
     "f.yaml:6:24: rules[0].plans.pro.queue: does not apply to token-bucket"},
    {"version: 1\nrules:\n- %\n  plans: {pro: {}}",
     "f.yaml:6:16: rules[0].plans.pro: changes nothing, expected limit, window, burst, queue or unlimited"},
    {"version: 1\nrules:\n- %\n  plans: {pro: lots}",
     "f.yaml:6:16: rules[0].plans.pro: is \"lots\", expected unlimited or a map with limit, window, burst or queue"},
    {"version: 1\nrules:\n- %\n  plans: {pro: {limits: 3, limit: 4}}",
     "f.yaml:6:17: rules[0].plans.pro.limits: unknown field (did you mean limit?), expected one of limit, window, "
     "burst, queue or unlimited"},
    {"version: 1\nrules:\n- %\n  overrides: [{when: {tenant: x}}]",
     "f.yaml:6:15: rules[0].overrides[0]: changes nothing, expected limit, window, burst, queue, unlimited or mode"},
    {"version: 1\nrules:\n- %\n  overrides: [{limit: 3, unlimited: true}]",
     "f.yaml:6:15: rules[0].overrides[0]: is unlimited and has numbers, expected one or the other"},
    {"version: 1\nrules:\n- %\n  overrides: [{limit: 3, until: tomorrow}]",
     "f.yaml:6:33: rules[0].overrides[0].until: is \"tomorrow\", expected a time as in 2026-12-31T00:00:00Z or "
     "2026-12-31T01:00:00+01:00"},
    {"version: 1\nrules:\n- %\n  overrides: [{limit: 3}, {limit: 3, when: {ip: 'x/8'}}]",
     "f.yaml:6:49: rules[0].overrides[1].when.ip: is \"x/8\", expected an address or a block such as 10.0.0.0/8"},
    {"version: 1\nrules:\n- %\n- %", "f.yaml:6:7: rules[1].id: is \"r\", which is used already at f.yaml:3:7"},
    {"version: 1\nrules:\n- %\n  id: again", "f.yaml:6:3: the key \"id\" is given twice"},
};

std::string expanded(std::string text) {
  const std::string sound = "id: r\n  limit: 10\n  window: 1s";
  // Only after "- ": a percent sign elsewhere is meant.
  for (std::size_t at; (at = text.find("- %")) != std::string::npos;) text.replace(at + 2, 1, sound);
  return text;
}

TEST(RulesFile, NamesPlaceAndFieldOfEveryFault) {
  for (const BadFile& bad : kBadFiles) {
    EXPECT_EQ(error_of(expanded(bad.text)), bad.error) << expanded(bad.text);
  }
}

TEST(RulesFile, CollectsAllFaultsOfAFile) {
  EXPECT_EQ(error_of("version: 1\n"
                     "defaults: {mode: loud}\n"
                     "rules:\n"
                     "  - {id: a, limit: -1, window: 1s}\n"
                     "  - {id: b, limit: 5, window: 1s, rollout: 200, mode: off}\n"
                     "  - {id: a, limit: 5, window: 1s, burts: 3}\n"),
            "f.yaml:2:18: defaults.mode: is \"loud\", expected enforce, shadow or off\n"
            "f.yaml:4:20: rules[0].limit: is -1, expected 0 to 1000000000000, or unlimited\n"
            "f.yaml:5:44: rules[1].rollout: is 200, expected 0 to 100\n"
            "f.yaml:6:35: rules[2].burts: unknown field (did you mean burst?), expected one of id, match, per, "
            "descriptor, replaces, algorithm, limit, window, lease, period, timezone, anchor_day, grace, overage, "
            "enforcement, "
            "notify, plan_change, burst, queue, buckets, cost, on_bad_cost, plans, "
            "overrides, mode, rollout, count_denied, audit_denials, hidden, message, on_store_failure, local_share, "
            "static_limit, reconcile, "
            "local_limit, "
            "max_subjects, overdraft, estimate, on_expiry, on_exceed, penalty, distinct, candidate, "
            "consistency, tolerance, sync_interval, hot_keys, region, on_partition, home or hash_tag\n"
            "f.yaml:6:10: rules[2].id: is \"a\", which is used already at f.yaml:4:10");
}

TEST(RulesFile, WarningsHaveAPosition) {
  std::vector<std::string> warnings;
  const SourceTexts texts = {
      {"a.yaml", "version: 1\ndefaults: {per: [tennant]}\nrules: [{id: a, limit: 1, window: 1s}]\n"},
      {"b.yaml", "version: 1\nrules:\n  - id: b\n    limit: 1\n    window: 1s\n"}};
  ASSERT_TRUE(parse_rules(texts, "folder", from_micros(0), warnings).ok());
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_TRUE(warnings[0].starts_with("a.yaml:2:18: defaults.per[0]: the attribute \"tennant\"")) << warnings[0];
  EXPECT_EQ(warnings[1], "b.yaml:3:5: rules[0].per: is empty: one bucket for all requests");
  EXPECT_TRUE(warnings[2].starts_with("a.yaml:3:9: rules[0].on_store_failure: is not set, nor for b: the default is "))
      << warnings[2];
}

TEST(RulesFile, ATabOrAWrongIndentationIsNamedWithItsPosition) {
  EXPECT_EQ(error_of("version: 1\nrules:\n  - id: a\n\tlimit: 1\n"),
            "f.yaml:4:1: a tab in the indentation, expected spaces");
  const std::string error = error_of("version: 1\nrules:\n  - id: a\n   limit: 1\n    window: 1s\n");
  EXPECT_TRUE(error.starts_with("f.yaml:4:")) << error;
  EXPECT_NE(error.find("check the indentation"), std::string::npos) << error;
  const char* const indented_wrongly[] = {
      "version: 1\nrules:\n  - id: a\n    limit: 1\n  window: 1s\n",
      "version: 1\n  rules:\n    - id: a\n",
      "version: 1\nrules:\n  - id: a\n    limit: 1\n - id: b\n",
  };
  for (const char* text : indented_wrongly) {
    EXPECT_NE(error_of(text).find("check the indentation"), std::string::npos) << error_of(text);
  }
  for (const char* text : {"version: 1\nrules: [{id: \"a\\q\"}]\n", "version: 1\nrules: [*unknown]\n"}) {
    EXPECT_NE(error_of(text).find("not valid YAML"), std::string::npos) << error_of(text);
    EXPECT_EQ(error_of(text).find("indentation"), std::string::npos) << error_of(text);
  }
}

TEST(RulesFile, ManyFaultsAreCounted) {
  std::string text = "version: 1\nrules:\n";
  for (int i = 0; i < 150; ++i) text += "  - {id: r" + std::to_string(i) + ", limit: -1, window: 1s}\n";
  const std::string error = error_of(text);
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 100);
  EXPECT_TRUE(error.ends_with("\n… and 50 more")) << error.substr(error.size() - 40);
}

TEST(RulesFile, RefusesBombs) {
  EXPECT_NE(error_of("version: 1\nrules: &r [*r]\n").find("is inside"), std::string::npos);
  std::string bomb = "version: 1\nx0: &x0 {a: 1, b: 2}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*x" + std::to_string(i - 1);
    bomb += "x" + std::to_string(i) + ": &x" + std::to_string(i) + " [" + before + ", " + before + "]\n";
  }
  EXPECT_NE(error_of(bomb), "ok");
}

TEST(RulesFile, ReadsAFolderInTheOrderOfItsNames) {
  const TemporaryFolder folder;
  folder.write("20.yaml", "version: 1\nrules: [{id: b, limit: 1, window: 1s}]");
  folder.write("10.yml", "version: 1\ndefaults: {mode: shadow}\nrules: [{id: a, limit: 1, window: 1s}]");
  folder.write(".hidden.yaml", "not rules");
  folder.write("README.md", "not rules");
  std::filesystem::create_directory(folder.path() / "sub.yaml");
  const Result<Rules> rules = read_rules_file(folder.path());
  ASSERT_TRUE(rules.ok()) << rules.failure().message;
  ASSERT_EQ(rules.value().rules.size(), 2u);
  EXPECT_EQ(rules.value().rules[0].id, "a");
  EXPECT_EQ(rules.value().rules[0].mode, Mode::shadow);
  EXPECT_EQ(rules.value().rules[1].mode, Mode::enforce);  // defaults end with their file

  folder.write("30.yaml", "version: 1\nrules: [{id: a, limit: 1, window: 1s}]");
  folder.write("40.yaml", "version: 1\nrules: [{");
  const std::string error = read_rules_file(folder.path()).failure().message;
  const std::string base = folder.path().string();
  EXPECT_EQ(error.substr(0, error.find('\n')),
            base + "/30.yaml:2:14: rules[0].id: is \"a\", which is used already at " + base + "/10.yml:3:14");
  EXPECT_NE(error.find("\n" + base + "/40.yaml:2:"), std::string::npos) << error;
}

TEST(RulesFile, RefusesWhatIsNoRulesFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_rules_file(folder.path()).failure().message,
            folder.path().string() + ": no *.yaml or *.yml in this folder");
  const auto missing = read_rules_file(folder.path() / "missing.yaml").failure();
  EXPECT_EQ(missing.code, Code::not_found);
  EXPECT_EQ(missing.message, folder.path().string() + "/missing.yaml: No such file or directory");
  EXPECT_EQ(read_rules_file("/dev/zero").failure().message, "/dev/zero: not a regular file");

  // 100 MB without taking them on disk; the size is known before a byte is read.
  folder.write("huge.yaml", "");
  std::filesystem::resize_file(folder.path() / "huge.yaml", 100'000'000);
  EXPECT_EQ(read_rules_file(folder.path() / "huge.yaml").failure().message,
            folder.path().string() + "/huge.yaml: too large, expected at most 16777216 bytes");
}

}  // namespace
}  // namespace weir::rules
