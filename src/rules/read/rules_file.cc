#include "rules/read/rules_file.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "rules/read/rule_reader.h"

namespace weir::rules {
namespace {

constexpr std::string_view kTopFields[] = {"version", "rules", "defaults", "global_mode"};

// Reads one or several files into one set of rules.
class RulesReader {
 public:
  explicit RulesReader(FaultList& faults) : faults_(faults) {}

  void add(const base::YamlDocument& document) {
    const base::YamlNode& root = document.root();
    const std::string& file = document.file_name();
    if (root.kind() == base::YamlNode::Kind::null) {
      faults_.add(fault_at(file, root, "", "is empty, expected version: 1 and rules"));
      return;
    }
    if (!KnownFields(file, faults_).check(root, "", kTopFields)) return;
    read_version(file, root);
    read_global_mode(file, root);
    const base::YamlNode* defaults = root.find("defaults");
    if (defaults != nullptr) {
      RuleReader(file, faults_, *defaults, nullptr, "defaults").read_defaults();
      if (!defaults->is_map()) defaults = nullptr;
    }
    read_rules(file, root, defaults);
    files_.push_back(file);
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

  void read_global_mode(const std::string& file, const base::YamlNode& root) {
    const base::YamlNode* mode = root.find("global_mode");
    if (mode == nullptr) return;
    if (mode->is_scalar() && mode->text() == "shadow") {
      rules_.global_shadow = true;
    } else if (!mode->is_scalar() || mode->text() != "enforce") {
      faults_.add(fault_at(file, *mode, "global_mode", "is " + describe(*mode) + ", expected shadow or enforce"));
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

  struct Place {
    std::size_t file = 0;  // in files_, or the one being read
    int line = 0;
    int column = 0;
  };

  Rules rules_;
  FaultList& faults_;
  std::vector<std::string> files_;                      // read so far
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

Result<Rules> parse_rules(const SourceTexts& texts, const std::string& name) {
  FaultList faults;
  RulesReader reader(faults);
  read_documents(texts, faults, [&](const base::YamlDocument& document) { reader.add(document); });
  return std::move(reader).finish(name);
}

Result<Rules> read_rules_file(const std::filesystem::path& path) {
  const Result<SourceTexts> texts = read_source(path);
  if (!texts.ok()) return texts.failure();
  return parse_rules(texts.value(), path.string());
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
