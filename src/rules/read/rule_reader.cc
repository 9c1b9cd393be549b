#include "rules/read/rule_reader.h"

#include <algorithm>
#include <array>

namespace weir::rules {
namespace {

constexpr std::string_view kLaterAlgorithms[] = {"concurrency", "quota"};

constexpr std::string_view kRuleFields[] = {"id",
                                            "match",
                                            "per",
                                            "descriptor",
                                            "replaces",
                                            "algorithm",
                                            "limit",
                                            "window",
                                            "burst",
                                            "queue",
                                            "buckets",
                                            "cost",
                                            "plans",
                                            "overrides",
                                            "mode",
                                            "rollout",
                                            "hash_tag",
                                            "consistency",
                                            "on_store_failure",
                                            "local_share",
                                            "static_limit",
                                            "count_denied",
                                            "hidden",
                                            "local_limit"};
constexpr std::string_view kPlanFields[] = {"limit", "window", "burst", "queue", "unlimited"};
constexpr std::string_view kLocalLimitFields[] = {"limit", "window", "burst"};
constexpr std::string_view kOverrideFields[] = {"when",      "until",  "reason", "emergency", "limit",
                                                "unlimited", "window", "burst",  "queue"};
// What make_allowance looks at.
constexpr std::string_view kAllowanceFields[] = {"limit", "window", "burst", "queue", "buckets"};

constexpr std::pair<std::string_view, Mode> kModes[] = {
    {"enforce", Mode::enforce}, {"shadow", Mode::shadow}, {"off", Mode::off}};
constexpr std::pair<std::string_view, FailurePolicy> kPolicies[] = {{"allow", FailurePolicy::allow},
                                                                    {"deny", FailurePolicy::deny},
                                                                    {"local", FailurePolicy::local},
                                                                    {"degrade", FailurePolicy::degrade},
                                                                    {"static", FailurePolicy::static_limit}};
constexpr std::pair<std::string_view, Consistency> kConsistencies[] = {
    {"exact", Consistency::exact}, {"leased", Consistency::leased}, {"synced", Consistency::synced}};
constexpr std::pair<std::string_view, HashTag> kHashTags[] = {
    {"tenant", HashTag::tenant}, {"tenant+action", HashTag::tenant_action}, {"subject", HashTag::subject}};

std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  names.reserve(kAlgorithmCount);
  for (int i = 0; i < kAlgorithmCount; ++i) names.push_back(algorithm_name(static_cast<Algorithm>(i)));
  return names;
}

std::string wrong_choice(const base::YamlNode& node, std::span<const std::string_view> choices) {
  return "is " + describe(node) + ", expected " + joined_choices(choices) +
         (node.is_scalar() ? suggestion(node.text(), choices) : std::string());
}

bool uses(Algorithm algorithm, std::string_view field) {
  if (field == "burst") return algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra;
  if (field == "queue") return algorithm == Algorithm::leaky_bucket;
  return algorithm == Algorithm::bucketed_window;
}

// A limit is a number or the word `unlimited`.
bool says_unlimited(const base::YamlNode& node) { return node.is_scalar() && node.text() == "unlimited"; }

Result<std::int64_t> read_limit(const base::YamlNode& node) {
  Result<std::int64_t> limit = read_whole_number(node, 1, kMaxUnits);
  if (limit.ok()) return limit;
  return Failure{limit.failure().code, limit.failure().message + ", or unlimited"};
}

}  // namespace

RuleReader::RuleReader(std::string_view file, FaultList& faults, const base::YamlNode& node,
                       const base::YamlNode* defaults, std::string path)
    : file_(file), faults_(faults), node_(node), defaults_(defaults), path_(std::move(path)) {}

Rule RuleReader::read() {
  Rule rule;
  if (!KnownFields(file_, faults_).check(node_, path_, kRuleFields)) return rule;
  read_fields(rule);
  const auto require = [this](std::string_view name, std::string_view expected) {
    if (field(name)) return;
    fault({&node_, name}, "is missing, expected " + std::string(expected));
    unreadable_.emplace(name);
  };
  require("id", "a name for the rule");
  require("limit", "how much passes in one window, or unlimited");
  if (!rule.unlimited) require("window", "a duration such as 60s");
  if (rule.on_store_failure == FailurePolicy::static_limit) require("static_limit", "a number, for static");
  check(rule);
  return rule;
}

void RuleReader::refine(Rule& rule, std::span<const std::string_view> allowed) {
  if (KnownFields(file_, faults_).check(node_, path_, allowed)) read_fields(rule);
}

void RuleReader::read_defaults() {
  const auto known = std::span(kRuleFields).subspan(1);  // not the id
  Rule scratch;
  if (KnownFields(file_, faults_).check(node_, path_, known)) read_fields(scratch);
}

RuleReader::Field RuleReader::field(std::string_view name) const {
  if (const base::YamlNode* own = node_.find(name)) return {own, name};
  const base::YamlNode* inherited = defaults_ == nullptr ? nullptr : defaults_->find(name);
  return {inherited, name, Field::kNamed, nullptr, true};
}

std::string RuleReader::path_of(const Field& at) const {
  std::string path = at.in != nullptr ? path_of(*at.in) : at.inherited ? "defaults" : path_;
  if (at.index != Field::kNamed) return path + "[" + std::to_string(at.index) + "]";
  return path + "." + std::string(at.name);
}

void RuleReader::fault(const Field& at, std::string_view what) {
  faults_.add(fault_at(file_, *at.node, path_of(at), what));
}

template <typename T, typename Read>
void RuleReader::take(std::string_view name, T& into, Read reader) {
  const Field at = field(name);
  if (!at) return;
  auto result = reader(*at.node);
  if (result.ok()) {
    into = static_cast<T>(std::move(result).value());
  } else {
    fault(at, result.failure().message);
    unreadable_.emplace(name);
  }
}

template <typename T>
void RuleReader::take_number(std::string_view name, T& into, std::int64_t least, std::int64_t most) {
  take(name, into, [=](const base::YamlNode& node) { return read_whole_number(node, least, most); });
}

template <typename T, std::size_t N>
void RuleReader::take_choice(std::string_view name, T& into, const std::pair<std::string_view, T> (&choices)[N]) {
  take(name, into, [&choices](const base::YamlNode& node) -> Result<T> {
    std::array<std::string_view, N> names;
    for (std::size_t i = 0; i < N; ++i) {
      names[i] = choices[i].first;
      if (node.is_scalar() && node.text() == names[i]) return choices[i].second;
    }
    return Failure{Code::invalid_argument, wrong_choice(node, names)};
  });
}

void RuleReader::read_fields(Rule& rule) {
  take("id", rule.id, read_text);
  if (const Field at = field("match")) rule.match = read_conditions(at);
  if (const Field at = field("per")) read_names(at, rule.per, "a list of attribute names");
  if (const Field at = field("descriptor")) read_descriptor(at, rule.descriptor);
  if (const Field at = field("replaces")) read_names(at, rule.replaces, "a list of rule ids");
  read_algorithm(rule);
  read_allowance(rule);
  if (const Field at = field("cost")) read_cost(at, rule.cost);
  if (const Field at = field("plans")) read_plans(at, rule.plans);
  if (const Field at = field("overrides")) read_overrides(at, rule.overrides);
  take_choice("mode", rule.mode, kModes);
  take_number("rollout", rule.rollout, 0, 100);
  take_choice("on_store_failure", rule.on_store_failure, kPolicies);
  take_number("local_share", rule.local_share, 1, 100);
  take_number("static_limit", rule.static_limit, 1, kMaxUnits);
  take_choice("consistency", rule.consistency, kConsistencies);
  HashTag tag = HashTag::tenant;
  take_choice("hash_tag", tag, kHashTags);
  if (field("hash_tag")) rule.hash_tag = tag;
  take("count_denied", rule.count_denied, read_bool);
  take("hidden", rule.hidden, read_bool);
  if (const Field at = field("local_limit")) read_local_limit(at, rule.local_limit);
}

void RuleReader::read_algorithm(Rule& rule) {
  take("algorithm", rule.allowance.algorithm, [](const base::YamlNode& node) -> Result<Algorithm> {
    const auto algorithm = node.is_scalar() ? algorithm_from_name(node.text()) : std::nullopt;
    if (algorithm) return *algorithm;
    if (node.is_scalar() && contains_name(kLaterAlgorithms, node.text())) {
      return Failure{Code::unimplemented, node.text() + " is " + std::string(kLaterVersion)};
    }
    return Failure{Code::invalid_argument, wrong_choice(node, algorithm_names())};
  });
}

void RuleReader::read_allowance(Rule& rule) {
  AllowanceSpec& spec = rule.allowance;
  const Field limit = field("limit");
  if (limit && says_unlimited(*limit.node)) {
    rule.unlimited = true;
  } else {
    take("limit", spec.limit, read_limit);
  }
  take("window", spec.window, read_duration);
  const auto take_if_used = [&](std::string_view name, std::optional<std::int64_t>& into, std::int64_t least,
                                std::int64_t most) {
    take_number(name, into, least, most);
    // Defaults speak to all rules of the file, also to those whose algorithm has no such field.
    if (field(name).inherited && !uses(spec.algorithm, name)) into.reset();
  };
  take_if_used("burst", spec.burst, 1, kMaxUnits);
  take_if_used("queue", spec.queue, 0, kMaxUnits);
  take_if_used("buckets", spec.buckets, 2, kMaxSubBuckets);
}

std::optional<std::string> RuleReader::text_of(const Field& at) {
  Result<std::string> text = read_text(*at.node);
  if (text.ok()) return std::move(text).value();
  fault(at, text.failure().message);
  return std::nullopt;
}

void RuleReader::read_names(const Field& at, std::vector<std::string>& names, std::string_view expected) {
  if (at.node->is_scalar()) {
    names.push_back(at.node->text());
    return;
  }
  if (!at.node->is_sequence()) return fault(at, "is " + describe(*at.node) + ", expected " + std::string(expected));
  for (std::size_t i = 0; i < at.node->size(); ++i) {
    const auto name = text_of(at.item(i));
    if (name) names.push_back(*name);
  }
}

void RuleReader::read_descriptor(const Field& at, std::vector<DescriptorEntry>& descriptor) {
  constexpr std::string_view kExpected = ", expected a list of entries such as {domain: shop}";
  if (!at.node->is_sequence()) return fault(at, "is " + describe(*at.node) + std::string(kExpected));
  for (std::size_t i = 0; i < at.node->size(); ++i) {
    const base::YamlNode& item = at.node->item(i);
    const Field entry = at.item(i);
    if (!item.is_map() || item.size() != 1) {
      fault(entry, "is " + describe(item) + ", expected one attribute and its value, such as {domain: shop}");
      continue;
    }
    DescriptorEntry made{item.key(0).text()};
    if (item.value(0).kind() != base::YamlNode::Kind::null) {
      made.value = text_of(entry.part(&item.value(0), made.key));
    }
    descriptor.push_back(std::move(made));
  }
}

std::vector<Condition> RuleReader::read_conditions(const Field& at) {
  std::vector<Condition> conditions;
  if (!at.node->is_map()) {
    fault(at, "is " + describe(*at.node) + ", expected a map of attributes and values");
    return conditions;
  }
  for (std::size_t i = 0; i < at.node->size(); ++i) {
    const base::YamlNode& values = at.node->value(i);
    Condition condition;
    condition.attribute = at.node->key(i).text();
    const Field field = at.part(&values, condition.attribute);
    bool readable = true;
    const auto add = [&](const Field& value) {
      if (auto text = text_of(value)) {
        condition.patterns.push_back(std::move(*text));
      } else {
        readable = false;
      }
    };
    if (values.is_sequence()) {
      for (std::size_t j = 0; j < values.size(); ++j) add(field.item(j));
    } else {
      add(field);
    }
    if (readable) conditions.push_back(std::move(condition));
  }
  return conditions;
}

void RuleReader::read_cost(const Field& at, CostModel& cost) {
  const base::YamlNode& node = *at.node;
  const auto number = [this](const Field& from, std::int64_t& into) {
    const Result<std::int64_t> units = read_whole_number(*from.node, 0, kMaxUnits);
    if (units.ok()) {
      into = units.value();
    } else {
      fault(from, units.failure().message);
    }
  };
  if (node.is_scalar()) {
    cost.kind = CostModel::Kind::fixed;
    return number(at, cost.units);
  }
  const base::YamlNode* by = node.find("by");
  const base::YamlNode* attribute = node.find("attribute");
  if (by == nullptr && (attribute == nullptr || node.size() != 1)) {
    return fault(at, "is " + describe(node) +
                         ", expected a number, {attribute: NAME} or {by: NAME, VALUE: number, default: number}");
  }
  cost.kind = by != nullptr ? CostModel::Kind::table : CostModel::Kind::attribute;
  const std::string_view named = by != nullptr ? "by" : "attribute";
  cost.attribute = text_of(at.part(by != nullptr ? by : attribute, named)).value_or("-");
  for (std::size_t i = 0; i < node.size(); ++i) {
    const std::string& key = node.key(i).text();
    if (key == named) continue;
    std::int64_t units = 0;
    number(at.part(&node.value(i), key), units);
    if (key == "default") {
      cost.units = units;
    } else {
      cost.table.emplace_back(key, units);
    }
  }
}

void RuleReader::read_change(const Field& at, AllowanceChange& change) {
  const base::YamlNode& node = *at.node;
  const auto number = [&](const char* name, std::optional<std::int64_t>& into, auto reader) {
    const base::YamlNode* value = node.find(name);
    if (value == nullptr) return;
    const auto result = reader(*value);
    if (result.ok()) {
      into = result.value();
    } else {
      fault(at.part(value, name), result.failure().message);
      into = 1;  // in bounds, so that one mistake is one line
    }
  };
  const base::YamlNode* limit = node.find("limit");
  if (limit != nullptr && says_unlimited(*limit)) {
    change.unlimited = true;
  } else {
    number("limit", change.limit, read_limit);
  }
  number("burst", change.burst, [](const base::YamlNode& value) { return read_whole_number(value, 1, kMaxUnits); });
  number("queue", change.queue, [](const base::YamlNode& value) { return read_whole_number(value, 0, kMaxUnits); });
  if (const base::YamlNode* window = node.find("window")) {
    const Result<Duration> duration = read_duration(*window);
    if (!duration.ok()) fault(at.part(window, "window"), duration.failure().message);
    change.window = duration.ok() ? duration.value() : Duration(std::chrono::seconds(1));
  }
  if (const base::YamlNode* unlimited = node.find("unlimited")) {
    const Result<bool> value = read_bool(*unlimited);
    if (!value.ok()) fault(at.part(unlimited, "unlimited"), value.failure().message);
    if (!value.ok() || value.value()) change.unlimited = true;
  }
}

// Left out unless all of it can be read, so that one mistake is one line.
void RuleReader::read_local_limit(const Field& at, std::optional<LocalLimit>& limit) {
  if (!KnownFields(file_, faults_).check(*at.node, path_of(at), kLocalLimitFields)) return;
  LocalLimit read;
  bool readable = true;
  const auto take_field = [&](const char* name, auto& into, bool required, auto reader) {
    const base::YamlNode* const value = at.node->find(name);
    if (value == nullptr && !required) return;
    if (value == nullptr) {
      fault(at.part(at.node, name), "is missing, expected local_limit: {limit: 100, window: 1s}");
    } else if (const auto result = reader(*value); result.ok()) {
      into = result.value();
      return;
    } else {
      fault(at.part(value, name), result.failure().message);
    }
    readable = false;
  };
  const auto units = [](const base::YamlNode& value) { return read_whole_number(value, 1, kMaxUnits); };
  take_field("limit", read.limit, true, units);
  take_field("window", read.window, true, read_duration);
  take_field("burst", read.burst, false, units);
  if (readable) limit = read;
}

void RuleReader::read_plans(const Field& at, std::vector<Plan>& plans) {
  if (!at.node->is_map()) return fault(at, "is " + describe(*at.node) + ", expected a map of plans");
  for (std::size_t i = 0; i < at.node->size(); ++i) {
    Plan plan;
    plan.name = at.node->key(i).text();
    const Field value = at.part(&at.node->value(i), plan.name);
    if (says_unlimited(*value.node)) {
      plan.change.unlimited = true;
    } else if (!value.node->is_map()) {
      fault(value, "is " + describe(*value.node) + ", expected unlimited or a map with limit, window, burst or queue");
      continue;
    } else {
      KnownFields(file_, faults_).check(*value.node, path_of(value), kPlanFields);
      read_change(value, plan.change);
    }
    plans.push_back(std::move(plan));
  }
}

void RuleReader::read_overrides(const Field& at, std::vector<Override>& overrides) {
  if (!at.node->is_sequence()) return fault(at, "is " + describe(*at.node) + ", expected a list of overrides");
  for (std::size_t i = 0; i < at.node->size(); ++i) {
    overrides.push_back(read_override(at.item(i)));
  }
}

Override RuleReader::read_override(const Field& at) {
  Override override;
  if (!KnownFields(file_, faults_).check(*at.node, path_of(at), kOverrideFields)) {
    override.change.unlimited = true;  // sound, so that one mistake is one line
    return override;
  }
  read_change(at, override.change);
  if (const base::YamlNode* when = at.node->find("when")) override.when = read_conditions(at.part(when, "when"));
  if (const base::YamlNode* until = at.node->find("until")) {
    const Result<TimePoint> time = read_instant(*until);
    if (time.ok()) {
      override.until = time.value();
    } else {
      fault(at.part(until, "until"), time.failure().message);
    }
  }
  if (const base::YamlNode* reason = at.node->find("reason")) {
    override.reason = text_of(at.part(reason, "reason")).value_or("");
  }
  if (const base::YamlNode* emergency = at.node->find("emergency")) {
    const Result<bool> value = read_bool(*emergency);
    if (!value.ok()) fault(at.part(emergency, "emergency"), value.failure().message);
    override.emergency = value.ok() && value.value();
  }
  return override;
}

void RuleReader::check(const Rule& rule) {
  for (const RuleFault& found : check_rule(rule)) {
    if (follows_from_unreadable(found.field)) continue;
    const bool inherited =
        !found.field.empty() && node_.find(found.field.front().name) == nullptr && field(found.field.front().name);
    std::string path = inherited ? "defaults" : path_;
    if (!found.field.empty()) path += "." + to_string(found.field);
    faults_.add(fault_at(file_, *locate(found.field, inherited), path, found.what));
  }
}

bool RuleReader::follows_from_unreadable(const FieldPath& path) const {
  if (path.empty()) return false;
  const std::string& name = path.back().name;
  return unreadable_.contains(name) || (contains_name(kAllowanceFields, name) && unreadable_.contains("algorithm"));
}

// The node that the path leads to, or the last one on the way that exists.
const base::YamlNode* RuleReader::locate(const FieldPath& path, bool inherited) const {
  const base::YamlNode* found = inherited ? defaults_ : &node_;
  for (const FieldStep& step : path) {
    const base::YamlNode* next = nullptr;
    if (!step.name.empty()) {
      next = found->find(step.name);
    } else if (found->is_sequence() && step.index < found->size()) {
      next = &found->item(step.index);
    }
    if (next == nullptr) break;
    found = next;
  }
  return found;
}

}  // namespace weir::rules
