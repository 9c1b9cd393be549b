// Rule: which requests it matches, by which attributes it counts, and the allowance. The same fields as in a rules
// file (docs/rules.md), for programs that make their rules in code:
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
#include <optional>
#include <string>
#include <vector>

#include "weir/allowance.h"
#include "weir/decision.h"
#include "weir/time.h"

namespace weir {

// True for a request in which any value of `attribute` fits any of `patterns`. A pattern is a text to be equal to, a
// glob with `*` (any run) and `?` (any one character), `~` and a regular expression that must fit the whole value,
// or, for the attribute `ip`, a CIDR block.
struct Condition {
  std::string attribute;
  std::vector<std::string> patterns;
};

// One entry of a rule's descriptor: the attribute at this place has this name, and this value if there is one. A value
// that ends in `*` stands for every value with that beginning.
struct DescriptorEntry {
  std::string key;
  std::optional<std::string> value = {};
};

// What a plan or an override puts in the place of the rule's own numbers. What is absent stays.
struct AllowanceChange {
  bool unlimited = false;
  std::optional<std::int64_t> limit = {};
  std::optional<Duration> window = {};
  std::optional<std::int64_t> burst = {};
  std::optional<std::int64_t> queue = {};
};

// Applies to requests whose attribute `plan` is `name`.
struct Plan {
  std::string name;
  AllowanceChange change;
};

// Precedence: emergency overrides, then other overrides, then plans, then the rule itself; within one level the
// first that applies.
struct Override {
  std::vector<Condition> when;
  AllowanceChange change;
  bool emergency = false;
  std::optional<TimePoint> until;
  std::string reason;
};

// How much a request costs under this rule.
struct CostModel {
  enum class Kind : std::uint8_t {
    request,    // what the request says
    fixed,      // always `units`
    attribute,  // the whole number in attribute `attribute`; a request without it costs what it says
    table,      // by the value of attribute `attribute`, else `units`
  };
  Kind kind = Kind::request;
  std::int64_t units = 1;
  std::string attribute;
  std::vector<std::pair<std::string, std::int64_t>> table;
};

// What a rule answers when the store does not.
enum class FailurePolicy : std::uint8_t { allow, deny, local, degrade, static_limit };
inline constexpr std::size_t kFailurePolicyCount = 5;
std::string_view failure_policy_name(FailurePolicy policy);

// A cap on this node in front of the store, for each subject of the rule: a token bucket in memory. What it refuses
// costs the store nothing.
struct LocalLimit {
  std::int64_t limit = 0;
  Duration window{0};
  std::optional<std::int64_t> burst = {};
};

enum class Consistency : std::uint8_t { exact, leased, synced };

// Which buckets share a slot of a Redis Cluster.
enum class HashTag : std::uint8_t { tenant, tenant_action, subject };

struct Rule {
  std::string id;
  std::vector<Condition> match;  // all must hold; none: every request
  std::vector<std::string> per;  // none: one bucket for all
  // The request's attributes, all of them and in this order, as Envoy's descriptors are looked up: at each place an
  // equal value is preferred to a beginning (in the order of the rules), and that to a key alone. Of all rules with a
  // descriptor only the one that is reached applies; one whose mode is off keeps its place. Empty: no such demand.
  std::vector<DescriptorEntry> descriptor;
  // Ids of rules that do not count where this one applies to another descriptor of the same call from Envoy.
  std::vector<std::string> replaces;
  AllowanceSpec allowance;
  bool unlimited = false;
  CostModel cost;
  std::vector<Plan> plans;
  std::vector<Override> overrides;
  Mode mode = Mode::enforce;
  int rollout = 100;  // percent of subjects, stable by subject
  FailurePolicy on_store_failure = FailurePolicy::allow;
  int local_share = 50;           // percent, for FailurePolicy::local
  std::int64_t static_limit = 0;  // for FailurePolicy::static_limit
  Consistency consistency = Consistency::exact;
  std::optional<HashTag> hash_tag;
  bool count_denied = false;
  bool hidden = false;  // answers to requests that it applies to name no rule at all
  std::optional<LocalLimit> local_limit;
};

struct Rules {
  std::vector<Rule> rules;
  bool global_shadow = false;  // every enforced rule acts as if its mode were shadow
};

}  // namespace weir
