#include "rules/read/field_values.h"

#include <algorithm>
#include <unordered_set>

#include "rules/compile/block_set.h"
#include "rules/read/known_fields.h"
#include "rules/read/rule_fields.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

// Keys of a cost table that are not values of the attribute.
constexpr std::string_view kCostKeys[] = {"by", "default", "values"};

bool is_word(const base::YamlNode& node, std::string_view word) { return node.is_scalar() && node.text() == word; }

std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  names.reserve(kAlgorithmCount + 2);
  for (int i = 0; i < kAlgorithmCount; ++i) names.push_back(algorithm_name(static_cast<Algorithm>(i)));
  names.push_back(charge_kind_name(ChargeKind::lease));
  names.push_back(charge_kind_name(ChargeKind::quota));
  return names;
}

template <typename T>
void read_map(const FieldAt& at, std::span<const Field<T>> fields, T& into) {
  for (const Field<T>& field : fields) {
    const base::YamlNode* const value = field.read == nullptr ? nullptr : at.node().find(field.name);
    if (value != nullptr) field.read(at.part(*value, field.name), into);
  }
}

void read_condition_map(const FieldAt& at, std::vector<Condition>& conditions) {
  for (std::size_t i = 0; i < at.node().size(); ++i) {
    const base::YamlNode& values = at.node().value(i);
    Condition condition;
    condition.attribute = at.node().key(i).text();
    const FieldAt field = at.part(values, condition.attribute);
    bool readable = true;
    const auto add = [&](const FieldAt& value) {
      std::string text;
      readable = value.take(text, read_text(value.node())) && readable;
      condition.patterns.push_back(std::move(text));
    };
    if (values.is_sequence()) {
      for (std::size_t j = 0; j < values.size(); ++j) add(field.item(j));
    } else {
      add(field);
    }
    if (readable) conditions.push_back(std::move(condition));
  }
}

void read_cost_entries(const FieldAt& at, CostModel& cost) {
  for (std::size_t i = 0; i < at.node().size(); ++i) {
    std::int64_t units = 0;
    const std::string& value = at.node().key(i).text();
    const FieldAt entry = at.part(at.node().value(i), value);
    entry.take(units, read_whole_number(entry.node(), 0, kMaxUnits));
    cost.table.emplace_back(value, units);
  }
}

void read_cost_table(const FieldAt& at, CostModel& cost) {
  for (std::size_t i = 0; i < at.node().size(); ++i) {
    const std::string& key = at.node().key(i).text();
    const FieldAt entry = at.part(at.node().value(i), key);
    if (key == "by") {
      cost.attribute = "-";  // a valid name, so that one mistake is one line
      entry.take(cost.attribute, read_text(entry.node()));
    } else if (key == "values" && entry.node().is_map()) {
      read_cost_entries(entry, cost);
    } else {
      std::int64_t units = 0;
      entry.take(units, read_whole_number(entry.node(), 0, kMaxUnits));
      if (key == "default") {
        cost.units = units;
      } else {
        cost.table.emplace_back(key, units);
      }
    }
  }
}

Override read_override(const FieldAt& at) {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names = field_names(override_fields());
    for (const std::string_view name : field_names(change_fields())) names.push_back(name);
    return names;
  }();
  Override override;
  if (!at.has_known_fields(kNames)) {
    override.change.unlimited = true;  // valid, so that one mistake is one line
    return override;
  }
  read_map(at, change_fields(), override.change);
  read_map(at, override_fields(), override);
  return override;
}

void check_block_at(const FieldAt& at, const Block& block) {
  for (const BlockFault& fault : check_block(block)) {
    const std::string_view field(fault.field);
    const std::size_t dot = field.find('.');
    const base::YamlNode* node = at.node().find(field.substr(0, dot));
    const base::YamlNode* const inner =
        node == nullptr || dot == std::string_view::npos ? nullptr : node->find(field.substr(dot + 1));
    if (inner != nullptr) node = inner;
    at.part(node == nullptr ? at.node() : *node, field).fault(fault.what);
  }
}

// A block that may match nearly everything must say so.
void check_all(const FieldAt& at, const Block& block) {
  bool all = false;
  if (const base::YamlNode* node = at.node().find("all")) at.part(*node, "all").take(all, read_bool(*node));
  if (all || !needs_all(block)) return;
  const base::YamlNode* const when = at.node().find("when");
  if (when == nullptr) {
    at.part(at.node(), "when").fault("is missing, expected which requests, or all: true to refuse every request");
  } else if (!block.when.empty() || (when->is_map() && when->size() == 0)) {
    at.part(*when, "when")
        .fault(
            "names no one in particular (nearly any value, or none), expected a narrower condition, or all: true "
            "beside it");
  }
}

std::optional<Block> read_block(const FieldAt& at) {
  static const std::vector<std::string_view> kNames = field_names(block_fields());
  if (!at.has_known_fields(kNames)) return std::nullopt;
  Block block;
  read_map(at, block_fields(), block);
  check_block_at(at, block);
  check_all(at, block);
  return block;
}

}  // namespace

void fault_wrong_choice(const FieldAt& at, std::span<const std::string_view> names) {
  at.fault_expecting(joined_choices(names) +
                     (at.node().is_scalar() ? suggestion(at.node().text(), names) : std::string()));
}

void read_names(const FieldAt& at, std::string_view expected, std::vector<std::string>& names) {
  if (at.node().is_scalar()) {
    names.push_back(at.node().text());
    return;
  }
  if (!at.node().is_sequence()) return at.fault_expecting(expected);
  for (std::size_t i = 0; i < at.node().size(); ++i) {
    std::string name;
    const FieldAt item = at.item(i);
    if (item.take(name, read_text(item.node()))) names.push_back(std::move(name));
  }
}

YamlText write_names(const std::vector<std::string>& names) {
  YamlText list = YamlText::list();
  for (const std::string& name : names) list.add(YamlText::text(name));
  return list;
}

void read_conditions(const FieldAt& at, std::vector<Condition>& conditions) {
  if (at.node().is_map()) return read_condition_map(at, conditions);
  if (!at.node().is_sequence()) return at.fault_expecting("a map of attributes and values");
  for (std::size_t i = 0; i < at.node().size(); ++i) {
    const FieldAt item = at.item(i);
    if (item.node().is_map()) {
      read_condition_map(item, conditions);
    } else {
      item.fault_expecting("a map of attributes and values");
    }
  }
}

YamlText write_conditions(const std::vector<Condition>& conditions) {
  std::unordered_set<std::string_view> seen;
  YamlText maps = YamlText::list();
  YamlText map = YamlText::map();
  bool one_map = true;
  for (const Condition& condition : conditions) {
    if (!seen.insert(condition.attribute).second) {
      maps.add(std::move(map));
      map = YamlText::map();
      seen = {condition.attribute};
      one_map = false;
    }
    map.add(condition.attribute, condition.patterns.size() == 1 ? YamlText::text(condition.patterns.front())
                                                                : write_names(condition.patterns));
  }
  if (one_map) return map;
  maps.add(std::move(map));
  return maps;
}

void read_descriptor(const FieldAt& at, std::vector<DescriptorEntry>& descriptor) {
  if (!at.node().is_sequence()) return at.fault_expecting("a list of entries such as {domain: shop}");
  for (std::size_t i = 0; i < at.node().size(); ++i) {
    const base::YamlNode& item = at.node().item(i);
    const FieldAt entry = at.item(i);
    if (!item.is_map() || item.size() != 1) {
      entry.fault_expecting("one attribute and its value, such as {domain: shop}");
      continue;
    }
    DescriptorEntry made{item.key(0).text()};
    if (item.value(0).kind() != base::YamlNode::Kind::null) {
      std::string value;
      if (entry.part(item.value(0), made.key).take(value, read_text(item.value(0)))) made.value = std::move(value);
    }
    descriptor.push_back(std::move(made));
  }
}

YamlText write_descriptor(const std::vector<DescriptorEntry>& descriptor) {
  YamlText list = YamlText::list();
  for (const DescriptorEntry& entry : descriptor) {
    YamlText map = YamlText::map();
    map.add(entry.key, entry.value ? YamlText::text(*entry.value) : YamlText());
    list.add(std::move(map));
  }
  return list;
}

void read_algorithm(const FieldAt& at, Rule& rule) {
  const base::YamlNode& node = at.node();
  const auto named = node.is_scalar() ? algorithm_from_name(node.text()) : std::nullopt;
  if (named) {
    rule.allowance.algorithm = *named;
  } else if (is_word(node, charge_kind_name(ChargeKind::lease))) {
    rule.kind = ChargeKind::lease;
  } else if (is_word(node, charge_kind_name(ChargeKind::quota))) {
    rule.kind = ChargeKind::quota;
  } else {
    fault_wrong_choice(at, algorithm_names());
  }
}

void read_limit(const FieldAt& at, std::int64_t& limit, bool& unlimited) {
  if (is_word(at.node(), "unlimited")) {
    unlimited = true;
    return;
  }
  const Result<std::int64_t> number = read_whole_number(at.node(), 0, kMaxUnits);
  if (number.ok()) {
    limit = number.value();
  } else {
    at.fault(number.failure().message + ", or unlimited");
  }
}

void read_cost(const FieldAt& at, CostModel& cost) {
  const base::YamlNode& node = at.node();
  if (node.is_scalar()) {
    cost.kind = CostModel::Kind::fixed;
    at.take(cost.units, read_whole_number(node, 0, kMaxUnits));
    return;
  }
  if (node.find("by") != nullptr) {
    cost.kind = CostModel::Kind::table;
    return read_cost_table(at, cost);
  }
  const base::YamlNode* attribute = node.find("attribute");
  if (attribute == nullptr || node.size() != 1) {
    return at.fault_expecting("a number, {attribute: NAME} or {by: NAME, VALUE: number, default: number}");
  }
  cost.kind = CostModel::Kind::attribute;
  cost.attribute = "-";  // a valid name, so that one mistake is one line
  at.part(*attribute, "attribute").take(cost.attribute, read_text(*attribute));
}

std::optional<YamlText> write_cost(const CostModel& cost) {
  if (cost.kind == CostModel::Kind::request) return std::nullopt;
  if (cost.kind == CostModel::Kind::fixed) return YamlText::number(cost.units);
  YamlText map = YamlText::map();
  if (cost.kind == CostModel::Kind::attribute) {
    map.add("attribute", YamlText::text(cost.attribute));
    return map;
  }
  map.add("by", YamlText::text(cost.attribute));
  const bool ambiguous = std::any_of(cost.table.begin(), cost.table.end(),
                                     [](const auto& entry) { return contains_name(kCostKeys, entry.first); });
  YamlText values = YamlText::map();
  for (const auto& [value, units] : cost.table) (ambiguous ? values : map).add(value, YamlText::number(units));
  if (ambiguous) map.add("values", std::move(values));
  map.add("default", YamlText::number(cost.units));
  return map;
}

void read_plans(const FieldAt& at, std::vector<Plan>& plans) {
  static const std::vector<std::string_view> kNames = field_names(change_fields());
  if (!at.node().is_map()) return at.fault_expecting("a map of plans");
  for (std::size_t i = 0; i < at.node().size(); ++i) {
    Plan plan;
    plan.name = at.node().key(i).text();
    const FieldAt value = at.part(at.node().value(i), plan.name);
    if (is_word(value.node(), "unlimited")) {
      plan.change.unlimited = true;
    } else if (!value.node().is_map()) {
      value.fault_expecting("unlimited or a map with limit, window, burst or queue");
      continue;
    } else {
      value.has_known_fields(kNames);
      read_map(value, change_fields(), plan.change);
    }
    plans.push_back(std::move(plan));
  }
}

YamlText write_plans(const std::vector<Plan>& plans) {
  YamlText map = YamlText::map();
  for (const Plan& plan : plans) {
    YamlText change = YamlText::map();
    write_fields(change_fields(), plan.change, change);
    map.add(plan.name, plan.change.unlimited ? YamlText::word("unlimited") : std::move(change));
  }
  return map;
}

void read_overrides(const FieldAt& at, std::vector<Override>& overrides) {
  if (!at.node().is_sequence()) return at.fault_expecting("a list of overrides");
  for (std::size_t i = 0; i < at.node().size(); ++i) overrides.push_back(read_override(at.item(i)));
}

YamlText write_overrides(const std::vector<Override>& overrides) {
  YamlText list = YamlText::list();
  for (const Override& override : overrides) {
    YamlText map = YamlText::map();
    write_fields(override_fields(), override, map);
    write_fields(change_fields(), override.change, map);
    list.add(std::move(map));
  }
  return list;
}

void read_blocks(const FieldAt& at, std::vector<Block>& blocks) {
  if (!at.node().is_sequence()) return at.fault_expecting("a list of blocks such as {when: {ip: 203.0.113.0/24}}");
  for (std::size_t i = 0; i < at.node().size(); ++i) {
    if (blocks.size() > kMaxBlocks) return at.fault("has more than " + std::to_string(kMaxBlocks) + " blocks");
    if (std::optional<Block> block = read_block(at.item(i))) blocks.push_back(std::move(*block));
  }
}

YamlText write_blocks(const std::vector<Block>& blocks) {
  YamlText list = YamlText::list();
  for (const Block& block : blocks) {
    YamlText map = YamlText::map();
    write_fields(block_fields(), block, map);
    list.add(std::move(map));
  }
  return list;
}

void read_store_failure(const FieldAt& at, std::optional<OnStoreFailure>& into) {
  static const std::vector<std::string_view> kNames = field_names(store_failure_fields());
  OnStoreFailure& failure = into.emplace();
  if (!at.node().is_map()) return read_choice(at, kFailurePolicies, failure.policy);
  if (!at.has_known_fields(kNames)) return;
  if (at.node().find("policy") == nullptr) {
    at.part(at.node(), "policy").fault("is missing, expected on_store_failure: {policy: allow, for: 5m, then: deny}");
  }
  read_map(at, store_failure_fields(), failure);
}

YamlText write_store_failure(const OnStoreFailure& failure) {
  if (!failure.term && !failure.then) return write_choice(kFailurePolicies, failure.policy);
  YamlText map = YamlText::map();
  write_fields(store_failure_fields(), failure, map);
  return map;
}

// Left out unless all of it can be read, so that one mistake is one line.
void read_local_limit(const FieldAt& at, std::optional<LocalLimit>& limit) {
  static const std::vector<std::string_view> kNames = field_names(local_limit_fields());
  if (!at.has_known_fields(kNames)) return;
  bool complete = true;
  for (const std::string_view name : {"limit", "window"}) {
    if (at.node().find(name) != nullptr) continue;
    at.part(at.node(), name).fault("is missing, expected local_limit: {limit: 100, window: 1s}");
    complete = false;
  }
  LocalLimit read{.limit = -1, .window = Duration(-1)};
  read_map(at, local_limit_fields(), read);
  if (complete && read.limit >= 0 && read.window >= Duration::zero()) limit = read;
}

void read_estimate(const FieldAt& at, std::optional<Estimate>& estimate) {
  static const std::vector<std::string_view> kNames = field_names(estimate_fields());
  if (!at.has_known_fields(kNames)) return;
  read_map(at, estimate_fields(), estimate.emplace());
}

YamlText write_estimate(const Estimate& estimate) {
  YamlText map = YamlText::map();
  write_fields(estimate_fields(), estimate, map);
  return map;
}

YamlText write_local_limit(const LocalLimit& limit) {
  YamlText map = YamlText::map();
  write_fields(local_limit_fields(), limit, map);
  return map;
}

}  // namespace weir::rules
