// Rule: which requests it matches, by which attributes it counts, and the allowance. The same fields as in a rules
// file (docs/rules.md), for programs that build their rules in code:
//
//   weir::Rule rule;
//   rule.id = "search-per-key";
//   rule.match = {{"action", {"search"}}};
//   rule.per = {"tenant", "api_key"};
//   rule.allowance = {.algorithm = weir::Algorithm::token_bucket, .limit = 120, .window = 60s, .burst = 200};
//
// A Rule is only a description; Limiter::create checks and compiles it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/allowance.h"
#include "weir/decision.h"
#include "weir/penalty.h"
#include "weir/time.h"
#include "weir/use_mark.h"

namespace weir {

// The pattern of a condition that is true for a request without the attribute. The text itself is "~absent".
inline constexpr std::string_view kAbsent = "absent";

// True for a request in which any value of `attribute` fits any of `patterns`. A pattern is a text to be equal to, a
// glob with `*` (any run) and `?` (any one character), `~` and a regular expression that must fit the whole value,
// kAbsent, or, for the attribute `ip`, a CIDR block.
struct Condition {
  std::string attribute;
  std::vector<std::string> patterns;

  bool operator==(const Condition&) const = default;
};

// One entry of a rule's descriptor: the attribute at this position has this name, and this value if there is one. A
// value that ends in `*` matches every value with that prefix.
struct DescriptorEntry {
  std::string key;
  std::optional<std::string> value = {};

  bool operator==(const DescriptorEntry&) const = default;
};

// The numbers of a rule that a plan or an override replaces. The others stay.
struct AllowanceChange {
  bool unlimited = false;
  std::optional<std::int64_t> limit = {};
  std::optional<Duration> window = {};
  std::optional<std::int64_t> burst = {};
  std::optional<std::int64_t> queue = {};

  bool operator==(const AllowanceChange&) const = default;
};

// Applies to requests whose attribute `plan` is `name`.
struct Plan {
  std::string name;
  AllowanceChange change;

  bool operator==(const Plan&) const = default;
};

// Precedence: emergency overrides, then other overrides, then plans, then the rule itself; within one level the
// first that applies.
struct Override {
  std::vector<Condition> when;
  AllowanceChange change;
  bool emergency = false;
  std::optional<TimePoint> until;
  std::string reason;
  std::optional<Mode> mode = {};           // for these requests in place of the rule's
  std::shared_ptr<UseMark> use = nullptr;  // notified when it applies; null: not needed

  bool operator==(const Override&) const = default;
};

// Refuses requests before any rule is evaluated, and charges them nothing.
struct Block {
  std::vector<Condition> when;  // all must be true; empty: every request
  std::optional<TimePoint> until = {};
  std::string reason = {};
  std::shared_ptr<UseMark> use = nullptr;  // notified when it refuses; null: not needed

  bool operator==(const Block&) const = default;
};

// How much a request costs under this rule.
struct CostModel {
  enum class Kind : std::uint8_t {
    request,    // the cost in the request
    fixed,      // always `units`
    attribute,  // the whole number in attribute `attribute`; without that attribute, the cost in the request
    table,      // by the value of attribute `attribute`, else `units`
  };
  Kind kind = Kind::request;
  std::int64_t units = 1;
  std::string attribute;
  std::vector<std::pair<std::string, std::int64_t>> table;

  bool operator==(const CostModel&) const = default;
};

// What happens to a request whose cost attribute (CostModel::Kind::attribute) is not a whole number from 0 to
// kMaxUnits.
enum class BadCostPolicy : std::uint8_t {
  use_default,  // it costs what the request itself says
  deny,         // an enforced rule denies it, with reason cost_too_large
};

// What happens to a request that no rule counts.
enum class NoRulePolicy : std::uint8_t { allow, deny };

// What a rule answers when the store does not.
enum class FailurePolicy : std::uint8_t { allow, deny, local, degrade, static_limit };
inline constexpr std::size_t kFailurePolicyCount = 5;
std::string_view failure_policy_name(FailurePolicy policy);

// With a term, `policy` answers for that long and `then` from then on, until the store has answered again.
struct OnStoreFailure {
  FailurePolicy policy = FailurePolicy::allow;
  std::optional<Duration> term = {};
  std::optional<FailurePolicy> then = {};  // given if and only if `term` is

  OnStoreFailure() = default;
  OnStoreFailure(FailurePolicy only) : policy(only) {}  // NOLINT: rule.on_store_failure = FailurePolicy::deny
  OnStoreFailure(FailurePolicy first, Duration length, FailurePolicy afterwards)
      : policy(first), term(length), then(afterwards) {}

  // What answers when the store has not for `time`.
  FailurePolicy after(Duration time) const { return term && then && time >= *term ? *then : policy; }

  bool operator==(const OnStoreFailure&) const = default;
};

// A cap on this node in front of the store, for each subject of the rule: a token bucket in memory. Requests that it
// denies do not reach the store.
struct LocalLimit {
  std::int64_t limit = 0;
  Duration window{0};
  std::optional<std::int64_t> burst = {};

  bool operator==(const LocalLimit&) const = default;
};

// How much a reservation without an amount takes: the actual cost of past ones (reservations.h).
struct Estimate {
  std::string by;                // learned for each value of this attribute; empty: for all requests together
  int quantile = 95;             // percent: so many of the past ones cost no more
  std::int64_t initial = 1'000;  // before anything is learned (`default` in a rules file)
  int most = 50;                 // percent of the limit that an estimate never exceeds (`max`)

  bool operator==(const Estimate&) const = default;
};

// What a reservation that is never settled has cost.
enum class ExpiryPolicy : std::uint8_t {
  release,  // nothing
  commit,   // what was reserved
};

// Calendar units that a quota is given for.
enum class PeriodUnit : std::uint8_t { hour, day, week, month, year };

// A number of units, or percent of the limit.
struct Share {
  std::int64_t amount = 0;
  bool percent = false;

  // Rounded down.
  std::int64_t of(std::int64_t limit) const {
    return percent ? limit / 100 * amount + limit % 100 * amount / 100 : amount;
  }
  bool operator==(const Share&) const = default;
};

// How a quota is kept.
enum class Enforcement : std::uint8_t {
  leased,  // each node spends a slice of what is left, in memory
  strict,  // the ledger commits before the answer
};

// What a change of a tenant's plan in the middle of a period does to that period.
enum class PlanChange : std::uint8_t {
  immediate,    // the new plan's limit applies at once
  next_period,  // the limit stays until the period ends
  prorated,     // each plan's limit counts for the part of the period in which it was the tenant's
};

inline constexpr std::string_view kTenantZone = "tenant";
inline constexpr std::size_t kMaxNotify = 16;

// The rest of a rule with `algorithm: quota`: units of a calendar period, kept in a ledger (quotas.h).
struct Quota {
  std::optional<PeriodUnit> period = {};  // required
  std::string timezone = {};              // of the tz database; empty: UTC. kTenantZone: the tenant's own
  std::optional<int> anchor_day = {};     // month: 1 to 31, week: 1 (Monday) to 7; where periods begin. None: 1
  Share grace = {};                       // admitted beyond the limit
  bool record_overage = false;            // beyond that: admitted, and recorded as overage
  Enforcement enforcement = Enforcement::leased;
  std::vector<Share> notify = {};  // when so much is used, once per period; at most kMaxNotify
  PlanChange plan_change = PlanChange::immediate;

  bool operator==(const Quota&) const = default;
};

// The limit of a concurrency rule that adapts to how long leases are held and how many complete (docs/shedding.md).
// Rule::allowance has `max` as its limit.
struct AutoLimit {
  std::int64_t min = 1;
  std::int64_t max = 1;  // up to kMaxConcurrency

  bool operator==(const AutoLimit&) const = default;
};

// What a rule asks of a client that exceeds it.
enum class OnExceed : std::uint8_t {
  deny,
  challenge,  // that it proves to be welcome (a captcha, a second factor); a reported success clears the bucket
};

// What is done about a key that one node asks the store about very often.
enum class HotKeys : std::uint8_t {
  show,   // it is listed (docs/observability.md)
  lease,  // that node draws units in advance for it, as Consistency::leased does
  off,    // nothing, not even counted
};

// How the regions share a rule's limit (docs/regions.md).
enum class RegionSharing : std::uint8_t {
  none,       // each has the whole limit
  slices,     // each has a share of it, which follows demand
  reconcile,  // each counts for itself and reports to the others
  central,    // one region, its home, counts for all
};

// What a rule that the regions reconcile does with units that the others may have used without being heard.
enum class OnPartition : std::uint8_t {
  hold,         // it admits no more than its part of the tolerance, then denies
  continue_on,  // it continues with what it knows (`continue` in a rules file)
};

inline constexpr std::int64_t kMaxSubjects = 1'000'000'000;

// Which buckets share a slot of a Redis Cluster.
enum class HashTag : std::uint8_t { tenant, tenant_action, subject };

// Whether answers show a rule. Metrics and logs show every rule.
enum class Hidden : std::uint8_t {
  no,
  rule,    // answers leave this rule out and show the others
  answer,  // answers to requests that it applies to name no rule at all
};

struct Rule {
  std::string id;
  std::vector<Condition> match;  // all must be true; empty: every request
  // What the rule counts by; empty: one bucket for all. An entry is an attribute's name, or several separated by `|`
  // ("api_key|ip"), of which the first that the request carries is counted, apart from the others: the key 192.0.2.1
  // and the address 192.0.2.1 have a bucket each. In a name that contains a `|`, write `\|`.
  std::vector<std::string> per;
  // The request's attributes, all of them and in this order, as Envoy's descriptors are looked up: at each position an
  // equal value is preferred to a prefix (in the order of the rules), and that to a key alone. Of all rules with a
  // descriptor only the one that is found applies; one whose mode is off keeps its position. Empty: not used.
  std::vector<DescriptorEntry> descriptor;
  // Ids of rules that do not count where this one applies to another descriptor of the same call from Envoy.
  std::vector<std::string> replaces;
  AllowanceSpec allowance;
  bool unlimited = false;
  // lease: `algorithm: concurrency`. Of the allowance, only the limit applies: units that may be held at a time.
  // quota: `algorithm: quota`. Of the allowance, only the limit applies: units of a period.
  ChargeKind kind = ChargeKind::bucket;
  Duration lease{0};  // concurrency: how long a lease lives without renewal, kMinHoldTtl to kMaxHoldTtl
  Quota quota;        // of a quota
  CostModel cost;
  BadCostPolicy on_bad_cost = BadCostPolicy::use_default;
  std::vector<Plan> plans;
  std::vector<Override> overrides;
  Mode mode = Mode::enforce;
  int rollout = 100;  // percent of subjects, stable by subject
  // None: allow, which `weir rules validate` warns about. For a quota it is about the ledger, and none is deny.
  std::optional<OnStoreFailure> on_store_failure;
  int local_share = 50;           // percent, for FailurePolicy::local
  std::int64_t static_limit = 0;  // for FailurePolicy::static_limit
  bool reconcile = true;          // what was admitted without the store is charged to it when it answers again
  Consistency consistency = Consistency::exact;
  std::optional<Share> tolerance;  // of the capacity, for Consistency::synced and RegionSharing::reconcile; none: 5 %
  std::optional<Duration> sync_interval;  // Consistency::synced: usage is reported this often; none: 100 ms
  HotKeys hot_keys = HotKeys::show;
  RegionSharing region = RegionSharing::none;
  OnPartition on_partition = OnPartition::hold;
  std::string home;  // RegionSharing::central: the region that counts
  std::optional<HashTag> hash_tag;
  bool count_denied = false;
  bool audit_denials = false;  // every denial by this rule is stored in the database, where there is one
  Hidden hidden = Hidden::no;
  // The text for a client whose request it denies; {limit}, {window} and {wait} are filled in. Empty: a sentence that
  // names the rule. Not shown with Hidden::answer.
  std::string message;
  std::optional<LocalLimit> local_limit;
  // Subjects that may have a bucket of their own at a time, 1 to kMaxSubjects; newcomers beyond share one. None: no
  // bound.
  std::optional<std::int64_t> max_subjects;
  // Units that may be charged beyond a bucket's capacity for work that has been done: a commit of more than was
  // reserved, and cost that is known only afterwards. Default: one capacity.
  std::optional<std::int64_t> overdraft;
  std::optional<Estimate> estimate;
  ExpiryPolicy on_expiry = ExpiryPolicy::release;
  OnExceed on_exceed = OnExceed::deny;
  std::optional<Penalty> penalty;
  // Counts different values of this attribute, each once, instead of cost; empty: not. Fixed-window and sliding-log,
  // limit up to kMaxDistinct.
  std::string distinct;
  // Other numbers that are judged on the same traffic, in a bucket of their own, without affecting any answer.
  std::optional<AllowanceChange> candidate;
  // Concurrency: the limit is found within these bounds. None: it is the allowance's.
  std::optional<AutoLimit> auto_limit;

  bool operator==(const Rule&) const = default;
};

inline OnStoreFailure failure_policy_of(const Rule& rule) {
  return rule.on_store_failure.value_or(rule.kind == ChargeKind::quota ? FailurePolicy::deny : FailurePolicy::allow);
}

// A priority for load shedding: requests that `match` and are in no earlier class.
struct SheddingClass {
  std::string name;
  std::vector<Condition> match;     // all must be true; empty: every request
  std::optional<int> shed_at = {};  // percent of the load at which it is refused; none: never

  bool operator==(const SheddingClass&) const = default;
};
inline constexpr std::size_t kMaxSheddingClasses = 16;

// When this node refuses requests because it is overloaded (docs/shedding.md).
struct Shedding {
  std::int64_t rate = 0;  // requests per `rate_window` that it can do; 0: not bounded
  Duration rate_window = std::chrono::seconds(1);
  std::int64_t in_flight = 0;          // requests that it can have open at a time; 0: not bounded
  std::vector<SheddingClass> classes;  // requests of none are never refused
  std::string fair_by = "tenant";      // the attribute whose values are to get equal shares of a class
  // Requests that may name their class in the attribute `priority`. None: it is not checked.
  std::optional<std::vector<Condition>> trust_priority = {};

  bool operator==(const Shedding&) const = default;
};

struct Rules {
  std::vector<Rule> rules;
  bool global_shadow = false;  // every enforced rule acts as if its mode were shadow
  NoRulePolicy on_no_rule = NoRulePolicy::allow;
  std::vector<Block> blocks = {};
  std::optional<Shedding> shedding = {};

  bool operator==(const Rules&) const = default;
};

}  // namespace weir
