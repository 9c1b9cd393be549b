// Envoy's rule files against a model of envoyproxy/ratelimit that walks the nested descriptors as they are written:
// which limit a descriptor leads to, and which descriptors share a counter.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "rules/compile/rule_set.h"
#include "rules/formats/envoy_file.h"

namespace weir::rules {
namespace {

const TimePoint kNow = from_micros(1'800'000'000'000'000);

// One descriptor of a rule file.
struct Node {
  std::string key;
  std::string value;  // empty: any
  int limit = 0;      // requests_per_unit, different for each; 0: none
  bool shared = false;
  std::vector<Node> inner;
};

using Entry = std::pair<std::string, std::string>;

// What the walk ends at, and the counter's name. No limit: nothing.
struct Outcome {
  int limit = 0;
  std::string counter;
};

bool ends_in_star(const std::string& text) { return !text.empty() && text.back() == '*'; }

const Node* choose(const std::vector<Node>& level, const Entry& entry) {
  for (const Node& node : level) {
    if (node.key == entry.first && !node.value.empty() && !ends_in_star(node.value) && node.value == entry.second) {
      return &node;
    }
  }
  for (const Node& node : level) {
    if (node.key != entry.first || !ends_in_star(node.value)) continue;
    if (entry.second.compare(0, node.value.size() - 1, node.value, 0, node.value.size() - 1) == 0) return &node;
  }
  for (const Node& node : level) {
    if (node.key == entry.first && node.value.empty()) return &node;
  }
  return nullptr;
}

Outcome walk(const std::vector<Node>& top, const std::vector<Entry>& descriptor) {
  const std::vector<Node>* level = &top;
  Outcome outcome;
  for (std::size_t i = 0; i < descriptor.size(); ++i) {
    const Node* node = choose(*level, descriptor[i]);
    if (node == nullptr) return {};
    const bool pooled = node->shared && ends_in_star(node->value);
    outcome.counter += descriptor[i].first + "=" + (pooled ? node->value : descriptor[i].second) + "/";
    if (i + 1 == descriptor.size()) outcome.limit = node->limit;
    level = &node->inner;
  }
  return outcome.limit == 0 ? Outcome{} : outcome;
}

// Few keys and values, so that levels have rivals and descriptors meet them; keys and values that only together look
// alike ("a" "b_x" and "a_b" "x").
const std::vector<std::string> kKeys = {"a", "b", "a_b"};
const std::vector<std::string> kRuleValues = {"", "", "x", "xy", "b_x", "*", "x*", "xy*"};
const std::vector<std::string> kValues = {"", "x", "xy", "xyz", "b_x", "z"};

std::vector<Node> some_level(int depth, int& limits) {
  std::vector<Node> level;
  const int count = *rc::gen::inRange(0, depth == 0 ? 6 : 4);
  for (int i = 0; i < count; ++i) {
    Node node;
    node.key = *rc::gen::elementOf(kKeys);
    node.value = *rc::gen::elementOf(kRuleValues);
    const bool taken = std::any_of(level.begin(), level.end(), [&](const Node& other) {
      return other.key == node.key && other.value == node.value;
    });
    if (taken) continue;
    if (*rc::gen::inRange(0, 3) > 0) node.limit = ++limits;
    node.shared = *rc::gen::inRange(0, 3) == 0;
    if (depth < 2) node.inner = some_level(depth + 1, limits);
    level.push_back(std::move(node));
  }
  return level;
}

void write_level(const std::vector<Node>& level, const std::string& indent, std::string& out) {
  for (const Node& node : level) {
    out += indent + "- key: " + node.key + "\n";
    if (!node.value.empty()) out += indent + "  value: \"" + node.value + "\"\n";
    if (node.shared) out += indent + "  share_threshold: true\n";
    if (node.limit > 0) {
      out += indent + "  rate_limit: {unit: second, requests_per_unit: " + std::to_string(node.limit) + "}\n";
    }
    if (!node.inner.empty()) out += indent + "  descriptors:\n";
    write_level(node.inner, indent + "    ", out);
  }
}

std::vector<Entry> some_descriptor() {
  std::vector<Entry> descriptor;
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) descriptor.emplace_back(*rc::gen::elementOf(kKeys), *rc::gen::elementOf(kValues));
  return descriptor;
}

// What the compiled rules say of a descriptor, in the model's words.
Outcome match(const RuleSet& rules, const std::vector<Entry>& descriptor) {
  std::vector<Attribute> attributes{{"domain", "d"}};
  for (const auto& [key, value] : descriptor) attributes.push_back({key, value});
  ResolvedNames names;
  Matches matches;
  rules.match(Request(attributes), kNow, names, matches);
  if (matches.empty()) return {};
  RC_ASSERT(matches.size() == 1U);
  Outcome outcome{static_cast<int>(matches[0].allowance->limit), matches[0].rule->source.id + "/"};
  for (const NameId id : matches[0].rule->per) {
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      if (names.ids[i] == id) outcome.counter += std::string(attributes[i].value) + "/";
    }
  }
  return outcome;
}

RC_GTEST_PROP(EnvoyFile, LeadsEveryDescriptorToTheLimitAndCounterOfEnvoysWalk, ()) {
  int limits = 0;
  const std::vector<Node> level = some_level(0, limits);
  std::string text = "domain: d\ndescriptors:\n";
  write_level(level, "  ", text);
  RC_LOG() << text;

  const Result<base::YamlDocument> document = base::YamlDocument::parse(text, "d.yaml");
  RC_ASSERT(document.ok());
  FaultList faults;
  EnvoyReader reader;
  reader.add(document.value(), faults);
  const Result<ForeignRules> read = std::move(reader).finish("d.yaml", faults);
  if (!read.ok()) {  // the one thing that is not supported
    RC_ASSERT(read.failure().message.find("with share_threshold and without it") != std::string::npos);
    RC_DISCARD("one key, shared and not");
  }
  RuleNames names;
  const Result<std::shared_ptr<const RuleSet>> rules = RuleSet::compile(read.value().rules, names);
  RC_ASSERT(rules.ok());

  std::vector<std::pair<Outcome, Outcome>> reached;
  for (int i = 0; i < 20; ++i) {
    const std::vector<Entry> descriptor = some_descriptor();
    const Outcome expected = walk(level, descriptor);
    const Outcome got = match(*rules.value(), descriptor);
    RC_ASSERT(got.limit == expected.limit);
    if (got.limit > 0) reached.emplace_back(expected, got);
  }
  for (const auto& [expected, got] : reached) {
    for (const auto& [other_expected, other_got] : reached) {
      RC_ASSERT((expected.counter == other_expected.counter) == (got.counter == other_got.counter));
    }
  }
}

}  // namespace
}  // namespace weir::rules
