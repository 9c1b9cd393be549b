#include "rules/rules_file.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <unordered_map>

#include "rules/bounded_file.h"
#include "rules/rule_reader.h"

namespace weir::rules {
namespace {

constexpr std::string_view kTopFields[] = {"version", "rules", "defaults", "global_mode"};

// Reads one or several files into one set of rules.
class RulesReader {
 public:
  explicit RulesReader(FaultList& faults) : faults_(faults) {}

  void add(const YamlDocument& document) {
    const YamlNode& root = document.root();
    const std::string& file = document.file_name();
    if (root.kind() == YamlNode::Kind::null) {
      faults_.add(fault_at(file, root, "", "is empty, expected version: 1 and rules"));
      return;
    }
    if (!KnownFields(file, faults_).check(root, "", kTopFields)) return;
    read_version(file, root);
    read_global_mode(file, root);
    const YamlNode* defaults = root.find("defaults");
    if (defaults != nullptr) {
      RuleReader(file, faults_, *defaults, nullptr, "defaults").read_defaults();
      if (!defaults->is_map()) defaults = nullptr;
    }
    read_rules(file, root, defaults);
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
  void read_version(const std::string& file, const YamlNode& root) {
    const YamlNode* version = root.find("version");
    if (version == nullptr) {
      faults_.add(fault_at(file, root, "version", "is missing, expected 1"));
    } else if (!version->is_scalar() || version->text() != "1") {
      faults_.add(fault_at(file, *version, "version", "is " + describe(*version) + ", expected 1"));
    }
  }

  void read_global_mode(const std::string& file, const YamlNode& root) {
    const YamlNode* mode = root.find("global_mode");
    if (mode == nullptr) return;
    if (mode->is_scalar() && mode->text() == "shadow") {
      rules_.global_shadow = true;
    } else if (!mode->is_scalar() || mode->text() != "enforce") {
      faults_.add(fault_at(file, *mode, "global_mode", "is " + describe(*mode) + ", expected shadow or enforce"));
    }
  }

  void read_rules(const std::string& file, const YamlNode& root, const YamlNode* defaults) {
    const YamlNode* list = root.find("rules");
    if (list == nullptr) {
      faults_.add(fault_at(file, root, "rules", "is missing, expected a list of rules"));
      return;
    }
    if (!list->is_sequence()) {
      faults_.add(fault_at(file, *list, "rules", "is " + describe(*list) + ", expected a list of rules"));
      return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (rules_.rules.size() > kMaxRules) return;  // check_totals tells
      const std::string path = "rules[" + std::to_string(i) + "]";
      rules_.rules.push_back(RuleReader(file, faults_, list->item(i), defaults, path).read());
      check_unique(file, list->item(i), path);
    }
  }

  void check_unique(const std::string& file, const YamlNode& rule, const std::string& path) {
    const YamlNode* id = rule.find("id");
    if (id == nullptr || !id->is_scalar()) return;
    std::string place = file + ":" + std::to_string(id->line()) + ":" + std::to_string(id->column());
    const auto [first, fresh] = first_place_.emplace(id->text(), std::move(place));
    if (!fresh) {
      faults_.add(fault_at(file, *id, path + ".id",
                           "is " + in_quotes(id->text()) + ", which is used already at " + first->second));
    }
  }

  Rules rules_;
  FaultList& faults_;
  std::unordered_map<std::string, std::string> first_place_;  // by id
};

bool is_rules_file_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return !name.starts_with('.') && (name.ends_with(".yaml") || name.ends_with(".yml"));
}

}  // namespace

Result<std::vector<std::filesystem::path>> list_rules_files(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector{path};

  std::vector<std::filesystem::path> files;
  auto entries = std::filesystem::directory_iterator(path, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    // A name that leads nowhere is listed, so that reading it reports it.
    std::error_code ignored;
    if (is_rules_file_name(entries->path()) && !entries->is_directory(ignored)) files.push_back(entries->path());
    if (files.size() > kMaxRulesFiles) {
      return Failure{Code::resource_exhausted,
                     path.string() + ": more than " + std::to_string(kMaxRulesFiles) + " rules files"};
    }
  }
  if (error) return Failure{Code::unavailable, path.string() + ": " + error.message()};
  if (files.empty()) return Failure{Code::not_found, path.string() + ": no *.yaml or *.yml in this folder"};
  std::sort(files.begin(), files.end());
  return files;
}

Status read_documents(const std::filesystem::path& path, FaultList& faults,
                      const std::function<void(const YamlDocument&)>& take) {
  const auto files = list_rules_files(path);
  if (!files.ok()) return files.failure();
  std::size_t left = kMaxRulesFolderBytes;
  for (const std::filesystem::path& file : files.value()) {
    const Result<std::string> text = read_bounded_file(file, std::min(left, kMaxRulesFileBytes));
    if (!text.ok()) return text.failure();
    left -= text.value().size();
    const Result<YamlDocument> document = YamlDocument::parse(text.value(), file.string());
    if (document.ok()) {
      take(document.value());
    } else {
      faults.add(document.failure().message);
    }
  }
  return success();
}

Result<Rules> read_rules_file(const std::filesystem::path& path) {
  FaultList faults;
  RulesReader reader(faults);
  const Status read = read_documents(path, faults, [&](const YamlDocument& document) { reader.add(document); });
  if (!read.ok()) return read.failure();
  return std::move(reader).finish(path.string());
}

Result<Rules> parse_rules(std::string_view text, const std::string& file_name) {
  const Result<YamlDocument> document = YamlDocument::parse(text, file_name);
  if (!document.ok()) return document.failure();
  FaultList faults;
  RulesReader reader(faults);
  reader.add(document.value());
  return std::move(reader).finish(file_name);
}

}  // namespace weir::rules
