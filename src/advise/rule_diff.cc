#include "advise/rule_diff.h"

#include <algorithm>
#include <map>

#include "base/json_text.h"
#include "rules/compile/moved_buckets.h"
#include "rules/read/rule_fields.h"
#include "rules/read/rule_summary.h"

namespace weir::advise {
namespace {

std::string text_of(const std::optional<rules::YamlText>& value) {
  if (!value) return {};
  std::string text;
  value->write_value(text, 0);
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

template <typename T>
void add_field_changes(std::span<const rules::Field<T>> fields, const T& before, const T& after,
                       std::vector<FieldChange>& changes) {
  for (const rules::Field<T>& field : fields) {
    if (field.write == nullptr || field.name == "id") continue;
    const std::string one = text_of(field.write(before));
    const std::string other = text_of(field.write(after));
    if (one != other) changes.push_back({std::string(field.name), one, other});
  }
}

// "every request, counted by tenant, api_key"; "requests with action search, together"
std::string whom(const Rule& rule) {
  std::string text = rule.match.empty() && rule.descriptor.empty() ? "every request" : "requests with";
  for (std::size_t i = 0; i < rule.match.size(); ++i) {
    const Condition& condition = rule.match[i];
    text += (i == 0 ? " " : " and ") + condition.attribute + " ";
    for (std::size_t k = 0; k < condition.patterns.size() && k < 3; ++k)
      text += (k == 0 ? "" : " or ") + condition.patterns[k];
    if (condition.patterns.size() > 3) text += " or others";
  }
  for (const DescriptorEntry& entry : rule.descriptor) {
    text += " " + entry.key + (entry.value ? "=" + *entry.value : std::string());
  }
  if (rule.per.empty()) return text + ", all together";
  text += ", for each ";
  for (std::size_t i = 0; i < rule.per.size(); ++i) text += (i == 0 ? "" : " and ") + rule.per[i];
  return text;
}

// Units per second in the long run; negative: without bound.
double rate_of(const Rule& rule) {
  if (rule.unlimited || rule.mode != Mode::enforce) return -1;
  if (rule.kind != ChargeKind::bucket || rule.allowance.window.count() == 0)
    return static_cast<double>(rule.allowance.limit);
  return static_cast<double>(rule.allowance.limit) * 1e6 / static_cast<double>(rule.allowance.window.count());
}

std::string direction(const Rule& before, const Rule& after) {
  const double one = rate_of(before);
  const double other = rate_of(after);
  if (one == other) return {};
  if (one < 0) return "stricter: ";
  if (other < 0 || other > one) return "looser: ";
  return "stricter: ";
}

// Other algorithms count in other ways, and another `per` counts someone else.
bool starts_fresh(const Rule& before, const Rule& after) {
  return before.kind != after.kind || before.per != after.per ||
         before.allowance.algorithm != after.allowance.algorithm;
}

std::string_view what_becomes_of_buckets(const Rule& before, const Rule& after) {
  if (starts_fresh(before, after)) return "; its buckets start full";
  if (rules::changes_hash_tag(before, after)) {
    return "; warning: hash_tag is a part of the keys in Redis, so its buckets start full there; in memory what is "
           "used "
           "stays used";
  }
  return "; what is used stays used";
}

RuleChange changed(const Rule& before, const Rule& after) {
  RuleChange change;
  change.rule = after.id;
  add_field_changes(rules::rule_fields(), before, after, change.fields);
  change.fresh = starts_fresh(before, after) || rules::changes_hash_tag(before, after);
  change.text = direction(before, after) + whom(after) + ": ";
  const std::string one = rules::rule_summary(before);
  const std::string other = rules::rule_summary(after);
  if (one != other) change.text += one + " becomes " + other;
  if (before.mode != after.mode) {
    change.text += std::string(one != other ? ", " : "") + std::string(mode_name(before.mode)) + " becomes " +
                   std::string(mode_name(after.mode));
  }
  if (one == other && before.mode == after.mode) {
    change.text += "changes in ";
    for (std::size_t i = 0; i < change.fields.size(); ++i) change.text += (i == 0 ? "" : ", ") + change.fields[i].field;
  }
  change.text += what_becomes_of_buckets(before, after);
  return change;
}

RuleChange added_or_removed(const Rule& rule, RuleChange::Kind kind) {
  const bool is_added = kind == RuleChange::Kind::added;
  RuleChange change;
  change.rule = rule.id;
  change.kind = kind;
  change.fresh = true;
  const Rule none;
  std::vector<FieldChange> fields;
  if (is_added) {
    add_field_changes(rules::rule_fields(), none, rule, fields);
  } else {
    add_field_changes(rules::rule_fields(), rule, none, fields);
  }
  change.fields = std::move(fields);
  change.text =
      whom(rule) + ": " + rules::rule_summary(rule) +
      (is_added ? " is added; every bucket starts full" : " no longer applies; what was counted is forgotten in time");
  return change;
}

}  // namespace

std::string_view change_name(RuleChange::Kind kind) {
  constexpr std::string_view kNames[] = {"added", "removed", "changed"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<RuleChange> diff_rules(const Rules& before, const Rules& after) {
  std::vector<RuleChange> changes;
  RuleChange top;
  add_field_changes(rules::top_fields(), before, after, top.fields);
  if (!top.fields.empty()) {
    top.text = "every request: ";
    for (std::size_t i = 0; i < top.fields.size(); ++i) {
      const FieldChange& field = top.fields[i];
      top.text += (i == 0 ? "" : ", ") + field.field + " " + (field.before.empty() ? "default" : field.before) +
                  " becomes " + (field.after.empty() ? "default" : field.after);
    }
    changes.push_back(std::move(top));
  }
  std::map<std::string, const Rule*> known;
  for (const Rule& rule : before.rules) known[rule.id] = &rule;
  for (const Rule& rule : after.rules) {
    const auto found = known.find(rule.id);
    if (found == known.end()) {
      changes.push_back(added_or_removed(rule, RuleChange::Kind::added));
    } else {
      if (*found->second != rule) changes.push_back(changed(*found->second, rule));
      known.erase(found);
    }
  }
  for (const Rule& rule : before.rules) {
    if (known.contains(rule.id)) changes.push_back(added_or_removed(rule, RuleChange::Kind::removed));
  }
  return changes;
}

std::string diff_json(const std::vector<RuleChange>& changes) {
  std::string out = "{\"changes\":[";
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const RuleChange& change = changes[i];
    out += i == 0 ? "{\"rule\":" : ",{\"rule\":";
    base::append_json_string(out, change.rule);
    out.append(",\"change\":\"").append(change_name(change.kind)).append("\",\"fields\":[");
    for (std::size_t k = 0; k < change.fields.size(); ++k) {
      const FieldChange& field = change.fields[k];
      out += k == 0 ? "{\"field\":" : ",{\"field\":";
      base::append_json_string(out, field.field);
      for (const auto& [name, text] : {std::pair{"before", &field.before}, std::pair{"after", &field.after}}) {
        out.append(",\"").append(name).append("\":");
        if (text->empty()) {
          out += "null";
        } else {
          base::append_json_string(out, *text);
        }
      }
      out += '}';
    }
    out.append("],\"state\":\"").append(change.fresh ? "fresh" : "kept").append("\",\"text\":");
    base::append_json_string(out, change.text);
    out += '}';
  }
  return out + "]}";
}

}  // namespace weir::advise
