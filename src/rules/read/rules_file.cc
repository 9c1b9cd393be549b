#include "rules/read/rules_file.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "rules/compile/rule_warnings.h"
#include "rules/read/known_fields.h"
#include "rules/read/rule_fields.h"
#include "rules/read/rule_reader.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

// Reads one or several files into one set of rules.
class RulesReader {
 public:
  explicit RulesReader(FaultList& faults) : faults_(faults) {}

  // The document must outlive the reader.
  void add(const base::YamlDocument& document) {
    const base::YamlNode& root = document.root();
    const std::string& file = document.file_name();
    if (root.kind() == base::YamlNode::Kind::null) {
      faults_.add(fault_at(file, root, "", "is empty, expected version: 1 and rules"));
      return;
    }
    static const std::vector<std::string_view> kNames = field_names(top_fields());
    if (!KnownFields(file, faults_).check(root, "", kNames)) return;
    read_version(file, root);
    FieldScope scope{.file = file, .faults = faults_, .path = ""};
    for (const Field<Rules>& field : top_fields()) {
      const base::YamlNode* value = field.read == nullptr ? nullptr : root.find(field.name);
      if (value != nullptr) field.read(FieldAt(scope, *value, field.name), rules_);
    }
    const base::YamlNode* defaults = root.find("defaults");
    if (defaults != nullptr) {
      RuleReader(file, faults_, *defaults, nullptr, "defaults").read_defaults();
      if (!defaults->is_map()) defaults = nullptr;
    }
    read_rules(file, root, defaults);
    files_.push_back(file);
  }

  // Precondition: finish() will succeed, or its failure is what counts.
  void warn(TimePoint now, std::vector<std::string>& lines) const {
    if (!faults_.empty()) return;
    const RuleWarnings warnings = rule_warnings(rules_, now);
    for (const RuleWarning& each : warnings.kept) lines.push_back(line_of(each));
    if (warnings.left_out > 0) lines.push_back(left_out_line(warnings.left_out));
    if (const std::optional<RuleWarning> warning = default_policy_warning(rules_)) lines.push_back(line_of(*warning));
  }

  Result<Rules> finish(const std::string& name) && {
    for (const std::string& fault : check_totals(rules_)) faults_.add(name + ":1:1: " + fault);
    if (faults_.empty()) {
      for (const std::string& fault : check_neighbours(rules_)) faults_.add(name + ":1:1: " + fault);
    }
    if (!faults_.empty()) return faults_.failure();
    return std::move(rules_);
  }

 private:
  void read_version(const std::string& file, const base::YamlNode& root) {
    const base::YamlNode* version = root.find("version");
    if (version == nullptr) {
      faults_.add(fault_at(file, root, "version", "is missing, expected 1"));
    } else if (!version->is_scalar() || version->text() != "1") {
      faults_.add(fault_at(file, *version, "version", "is " + describe(*version) + ", expected 1"));
    }
  }

  void read_rules(const std::string& file, const base::YamlNode& root, const base::YamlNode* defaults) {
    const base::YamlNode* list = root.find("rules");
    if (list == nullptr) {
      faults_.add(fault_at(file, root, "rules", "is missing, expected a list of rules"));
      return;
    }
    if (!list->is_sequence()) {
      faults_.add(fault_at(file, *list, "rules", "is " + describe(*list) + ", expected a list of rules"));
      return;
    }
    const std::size_t expected = std::min(rules_.rules.size() + list->size(), kMaxRules + 1);
    rules_.rules.reserve(expected);
    first_place_.reserve(expected);
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (rules_.rules.size() > kMaxRules) return;  // check_totals tells
      const std::string path = "rules[" + std::to_string(i) + "]";
      rules_.rules.push_back(RuleReader(file, faults_, list->item(i), defaults, path).read());
      nodes_.push_back(
          {static_cast<std::uint32_t>(files_.size()), static_cast<std::uint32_t>(i), &list->item(i), defaults});
      check_unique(file, list->item(i), path);
    }
  }

  void check_unique(const std::string& file, const base::YamlNode& rule, const std::string& path) {
    const base::YamlNode* id = rule.find("id");
    if (id == nullptr || !id->is_scalar()) return;
    const auto [first, fresh] = first_place_.emplace(id->text(), Place{files_.size(), id->line(), id->column()});
    if (fresh) return;
    const Place& place = first->second;
    const std::string& first_file = place.file < files_.size() ? files_[place.file] : file;
    faults_.add(fault_at(file, *id, path + ".id",
                         "is " + in_quotes(id->text()) + ", which is used already at " + first_file + ":" +
                             std::to_string(place.line) + ":" + std::to_string(place.column)));
  }

  // Where a rule was read.
  struct RuleNode {
    std::uint32_t file = 0;   // in files_
    std::uint32_t index = 0;  // in the file's list
    const base::YamlNode* rule = nullptr;
    const base::YamlNode* defaults = nullptr;
  };

  std::string line_of(const RuleWarning& warning) const {
    const RuleNode& at = nodes_[warning.rule];
    const std::string& field = warning.field.front().name;
    const bool inherited =
        at.rule->find(field) == nullptr && at.defaults != nullptr && at.defaults->find(field) != nullptr;
    const std::string path = inherited ? "defaults" : "rules[" + std::to_string(at.index) + "]";
    return fault_at(files_[at.file], locate(inherited ? *at.defaults : *at.rule, warning.field),
                    path + "." + to_string(warning.field), warning.what);
  }

  struct Place {
    std::size_t file = 0;  // in files_, or the one being read
    int line = 0;
    int column = 0;
  };

  Rules rules_;
  FaultList& faults_;
  std::vector<std::string> files_;                      // read so far
  std::vector<RuleNode> nodes_;                         // by position in rules_
  std::unordered_map<std::string, Place> first_place_;  // by id
};

}  // namespace

void read_documents(const SourceTexts& texts, FaultList& faults,
                    const std::function<void(const base::YamlDocument&)>& take) {
  for (const SourceText& each : texts) {
    const Result<base::YamlDocument> document = base::YamlDocument::parse(each.text, each.name);
    if (document.ok()) {
      take(document.value());
    } else {
      faults.add(document.failure().message);
    }
  }
}

Result<Rules> parse_rules(const SourceTexts& texts, const std::string& name, TimePoint now,
                          std::vector<std::string>& warnings) {
  FaultList faults;
  std::deque<base::YamlDocument> documents;  // the reader refers to their nodes
  RulesReader reader(faults);
  for (const SourceText& each : texts) {
    Result<base::YamlDocument> document = base::YamlDocument::parse(each.text, each.name);
    if (document.ok()) {
      reader.add(documents.emplace_back(std::move(document).value()));
    } else {
      faults.add(document.failure().message);
    }
  }
  reader.warn(now, warnings);
  return std::move(reader).finish(name);
}

Result<Rules> read_rules_file(const std::filesystem::path& path) {
  const Result<SourceTexts> texts = read_source(path);
  if (!texts.ok()) return texts.failure();
  std::vector<std::string> warnings;
  return parse_rules(texts.value(), path.string(), {}, warnings);
}

Result<Rules> parse_rules(std::string_view text, const std::string& file_name) {
  const Result<base::YamlDocument> document = base::YamlDocument::parse(text, file_name);
  if (!document.ok()) return document.failure();
  FaultList faults;
  RulesReader reader(faults);
  reader.add(document.value());
  return std::move(reader).finish(file_name);
}

}  // namespace weir::rules
