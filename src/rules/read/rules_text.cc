#include "rules/read/rules_text.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::rules {
namespace {

// Texts that YAML would not read as anything else, in any version of it.
bool is_plain(std::string_view text) {
  constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inner = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
  };
  if (text.empty() || !(letter(text.front()) || text.front() == '/')) return false;
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::all_of(text.begin(), text.end(), inner) &&
         std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
}

std::string quoted(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + quoted(text);
  return out + "]";
}

std::string duration(Duration window) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"d", 86'400'000'000}, {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}};
  for (const auto& [name, micros] : kUnits) {
    if (window.count() % micros == 0) return std::to_string(window.count() / micros) + std::string(name);
  }
  return std::to_string(window.count() / 1'000) + "ms";
}

class RuleWriter {
 public:
  RuleWriter(std::string& out, const Rule& rule) : out_(out), rule_(rule) {}

  void write() {
    assert(rule_.plans.empty() && rule_.overrides.empty() && rule_.cost.attribute.empty());
    out_ += "  - id: " + quoted(rule_.id) + "\n";
    write_match();
    write_descriptor();
    if (!rule_.per.empty()) field("per", list(rule_.per));
    if (!rule_.replaces.empty()) field("replaces", list(rule_.replaces));
    write_allowance();
    if (rule_.cost.kind == CostModel::Kind::fixed) field("cost", std::to_string(rule_.cost.units));
    if (rule_.mode != Mode::enforce) field("mode", mode_name(rule_.mode));
    if (rule_.rollout != Rule().rollout) field("rollout", std::to_string(rule_.rollout));
    write_failure_policy();
    if (rule_.count_denied) field("count_denied", "true");
  }

 private:
  void field(std::string_view name, std::string_view value) {
    out_ += "    " + std::string(name) + ": " + std::string(value) + "\n";
  }

  void write_match() {
    if (rule_.match.empty()) return;
    std::string text = "{";
    for (const Condition& condition : rule_.match) {
      text += (text.size() > 1 ? ", " : "") + quoted(condition.attribute) + ": ";
      text += condition.patterns.size() == 1 ? quoted(condition.patterns.front()) : list(condition.patterns);
    }
    field("match", text + "}");
  }

  void write_descriptor() {
    if (rule_.descriptor.empty()) return;
    out_ += "    descriptor:\n";
    for (const DescriptorEntry& entry : rule_.descriptor) {
      out_ += "      - " + quoted(entry.key) + ":" + (entry.value ? " " + quoted(*entry.value) : std::string()) + "\n";
    }
  }

  void write_allowance() {
    const AllowanceSpec& spec = rule_.allowance;
    if (rule_.unlimited) return field("limit", "unlimited");
    field("algorithm", algorithm_name(spec.algorithm));
    field("limit", std::to_string(spec.limit));
    field("window", duration(spec.window));
    if (spec.burst) field("burst", std::to_string(*spec.burst));
    if (spec.queue) field("queue", std::to_string(*spec.queue));
    if (spec.buckets) field("buckets", std::to_string(*spec.buckets));
  }

  void write_failure_policy() {
    if (rule_.on_store_failure != Rule().on_store_failure) {
      field("on_store_failure", failure_policy_name(rule_.on_store_failure));
    }
    if (rule_.local_share != Rule().local_share) field("local_share", std::to_string(rule_.local_share));
    if (rule_.static_limit != Rule().static_limit) field("static_limit", std::to_string(rule_.static_limit));
  }

  std::string& out_;
  const Rule& rule_;
};

}  // namespace

std::string write_rules(const Rules& rules) {
  std::string out = "version: 1\n";
  if (rules.global_shadow) out += "global_mode: shadow\n";
  out += rules.rules.empty() ? "rules: []\n" : "rules:\n";
  for (const Rule& rule : rules.rules) RuleWriter(out, rule).write();
  return out;
}

}  // namespace weir::rules
