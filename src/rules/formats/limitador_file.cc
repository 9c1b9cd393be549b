#include "rules/formats/limitador_file.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "rules/compile/conditions.h"
#include "rules/compile/per_entry.h"
#include "rules/compile/rule_check.h"
#include "rules/read/known_fields.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

constexpr std::string_view kLimitadorFields[] = {"namespace", "max_value", "seconds", "conditions",
                                                 "variables", "name",      "id"};

// What conditions and variables are written in: the part of CEL that only names and compares.
class Expressions {
 public:
  // user_id, descriptors[0].user_id or descriptors[0]['user_id'].
  std::optional<std::string> name_in(const std::string& text) const {
    std::string bare;
    std::string single;
    std::string twice;
    if (!re2::RE2::FullMatch(text, name_, &bare, &single, &twice)) return std::nullopt;
    return bare + single + twice;
  }

  // NAME == 'VALUE', with either kind of quotes.
  std::optional<Condition> condition_in(const std::string& text) const {
    std::string left;
    std::string single;
    std::string twice;
    if (!re2::RE2::FullMatch(text, equality_, &left, &single, &twice)) return std::nullopt;
    std::optional<std::string> name = name_in(left);
    if (!name) return std::nullopt;
    return Condition{std::move(*name), {single + twice}};
  }

 private:
  const re2::RE2 name_{R"re(\s*(?:descriptors\[0\])?(?:\.?([A-Za-z_][\w.:-]*)|\[(?:'([^']+)'|"([^"]+)")\])\s*)re"};
  const re2::RE2 equality_{R"re((.*?)\s*==\s*(?:'([^']*)'|"([^"]*)")\s*)re"};
};

// A pattern that fits this text only.
std::string literal(const std::string& attribute, const std::string& text) {
  return pattern_kind(attribute, text) == PatternKind::exact ? text : "~" + re2::RE2::QuoteMeta(text);
}

}  // namespace

// One file on its way into the reader's rules.
class LimitadorFile {
 public:
  LimitadorFile(LimitadorReader& reader, const base::YamlDocument& document, FaultList& faults)
      : reader_(reader), file_(document.file_name()), faults_(faults) {}

  void read(const base::YamlNode& root) {
    if (root.kind() == base::YamlNode::Kind::null) return;
    if (!root.is_sequence()) return fault(root, "", "is " + describe(root) + ", expected a list of limits");
    for (std::size_t i = 0; i < root.size(); ++i) read_limit(root.item(i), "[" + std::to_string(i) + "]");
  }

 private:
  void read_limit(const base::YamlNode& node, const std::string& path) {
    if (!KnownFields(file_, faults_).check(node, path, kLimitadorFields)) return;
    Rule rule;
    const std::string space = text(node, path, "namespace");
    if (space.empty())
      return fault(node, path + ".namespace", "is missing or empty, expected the domain that Envoy sends");
    rule.match.push_back({"domain", {literal("domain", space)}});
    std::vector<std::string> words{space};
    each_text(node, path, "conditions",
              [&](const base::YamlNode& at, const std::string& here) { add_condition(at, here, rule, words); });
    each_text(node, path, "variables", [&](const base::YamlNode& at, const std::string& here) {
      const std::optional<std::string> name = expressions_.name_in(at.text());
      if (!name)
        return fault(at, here, "is " + describe(at) + ", expected a name such as user_id or descriptors[0].user_id");
      rule.per.push_back(entry_for(*name));
      words.push_back(*name);
    });
    rule.allowance.algorithm = Algorithm::fixed_window;
    rule.allowance.limit = number(node, path, "max_value", 0, kMaxUnits);
    const std::int64_t seconds = number(node, path, "seconds", 1, kMaxWindow / std::chrono::seconds(1));
    rule.allowance.window = std::chrono::seconds(seconds);
    words.push_back(std::to_string(seconds) + "s");
    // No bucket admits nothing; but one that holds a single unit admits no request for two.
    if (rule.allowance.limit == 0) {
      rule.allowance.limit = 1;
      rule.cost = {.kind = CostModel::Kind::fixed, .units = 2, .attribute = {}, .table = {}};
    }
    keep(std::move(rule), words, node, path);
  }

  void add_condition(const base::YamlNode& at, const std::string& path, Rule& rule, std::vector<std::string>& words) {
    std::optional<Condition> condition = expressions_.condition_in(at.text());
    if (!condition) {
      return fault(at, path,
                   "is " + describe(at) + ", expected NAME == 'VALUE': other comparisons have no counterpart");
    }
    words.push_back(condition->attribute);
    words.push_back(condition->patterns.front());
    condition->patterns.front() = literal(condition->attribute, condition->patterns.front());
    for (const Condition& other : rule.match) {
      if (other.attribute != condition->attribute) continue;
      if (other.patterns != condition->patterns) fault(at, path, "contradicts another condition on " + other.attribute);
      return;
    }
    rule.match.push_back(std::move(*condition));
  }

  void keep(Rule rule, const std::vector<std::string>& words, const base::YamlNode& node, const std::string& path) {
    rule.id = "unnamed";  // until all names are known
    for (const RuleFault& found : check_rule(rule)) fault(node, path + "." + to_string(found.field), found.what);
    std::string identity;
    for (const std::string& word : words) identity += std::to_string(word.size()) + ":" + word;
    const std::string id = text(node, path, "id");
    reader_.ids_.add(words, std::move(identity), id.empty() ? text(node, path, "name") : id);
    reader_.rules_.rules.push_back(std::move(rule));
  }

  std::string text(const base::YamlNode& node, const std::string& path, const char* field) {
    const base::YamlNode* given = node.find(field);
    if (given == nullptr || given->kind() == base::YamlNode::Kind::null) return "";
    Result<std::string> read = read_text(*given);
    if (read.ok()) return std::move(read).value();
    fault(*given, path + "." + field, read.failure().message);
    return "";
  }

  std::int64_t number(const base::YamlNode& node, const std::string& path, const char* field, std::int64_t least,
                      std::int64_t most) {
    const base::YamlNode* given = node.find(field);
    if (given == nullptr) {
      fault(node, path + "." + field, "is missing, expected a whole number");
      return 1;
    }
    const Result<std::int64_t> read = read_whole_number(*given, least, most);
    if (read.ok()) return read.value();
    fault(*given, path + "." + field, read.failure().message);
    return 1;
  }

  template <typename Take>
  void each_text(const base::YamlNode& node, const std::string& path, const char* field, Take take) {
    const base::YamlNode* list = node.find(field);
    if (list == nullptr || list->kind() == base::YamlNode::Kind::null) return;
    const std::string here = path + "." + field;
    if (!list->is_sequence()) return fault(*list, here, "is " + describe(*list) + ", expected a list of texts");
    for (std::size_t i = 0; i < list->size(); ++i) {
      const base::YamlNode& item = list->item(i);
      const std::string place = here + "[" + std::to_string(i) + "]";
      if (item.is_scalar()) {
        take(item, place);
      } else {
        fault(item, place, "is " + describe(item) + ", expected a text");
      }
    }
  }

  void fault(const base::YamlNode& node, std::string_view field, std::string_view what) {
    faults_.add(fault_at(file_, node, field, what));
  }

  LimitadorReader& reader_;
  const std::string& file_;
  FaultList& faults_;
  const Expressions expressions_;
};

void LimitadorReader::add(const base::YamlDocument& document, FaultList& faults) {
  LimitadorFile(*this, document, faults).read(document.root());
}

Result<ForeignRules> LimitadorReader::finish(const std::string& name, FaultList& faults) && {
  const std::vector<std::string> ids = ids_.assign();
  for (std::size_t i = 0; i < ids.size(); ++i) rules_.rules[i].id = ids[i];
  for (const std::string& fault : check_totals(rules_)) faults.add(name + ":1:1: " + fault);
  if (!faults.empty()) return faults.failure();
  return ForeignRules{std::move(rules_), {}, {}};
}

}  // namespace weir::rules
