#include "rules/formats/envoy_file.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/ascii.h"
#include "rules/compile/descriptor_tree.h"
#include "rules/compile/per_entry.h"
#include "rules/compile/rule_check.h"
#include "rules/read/known_fields.h"
#include "rules/read/rule_reader.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

using std::chrono::hours;

constexpr std::string_view kEnvoyTopFields[] = {"domain", "descriptors"};
constexpr std::string_view kDescriptorFields[] = {"key",         "value",          "rate_limit",      "descriptors",
                                                  "shadow_mode", "quota_mode",     "detailed_metric", "value_to_metric",
                                                  "metadata",    "share_threshold"};
constexpr std::string_view kEnvoyLimitFields[] = {"unit", "requests_per_unit", "unlimited", "name", "replaces", "weir"};
constexpr std::string_view kNameFields[] = {"name"};
// What a rule of theirs may have of ours.
constexpr std::string_view kOurFields[] = {"algorithm",    "window",           "burst",       "queue",
                                           "buckets",      "on_store_failure", "local_share", "static_limit",
                                           "count_denied", "rollout"};

struct Unit {
  std::string_view name;
  Duration window;
};
constexpr Unit kUnits[] = {{"second", std::chrono::seconds(1)},
                           {"minute", std::chrono::minutes(1)},
                           {"hour", hours(1)},
                           {"day", hours(24)},
                           {"week", hours(24 * 7)},
                           {"month", hours(24 * 30)},
                           {"year", hours(24 * 365)}};

// YAML 1.1 has more words for true and false than we want in files of our own, but the original's reader knows them.
std::optional<bool> truth_of(const base::YamlNode& node) {
  if (node.kind() == base::YamlNode::Kind::null) return false;
  if (!node.is_scalar()) return std::nullopt;
  const std::string word = base::lowered(node.text());
  if (word == "true" || word == "yes" || word == "on" || word == "y") return true;
  if (word == "false" || word == "no" || word == "off" || word == "n") return false;
  return std::nullopt;
}

// The key alone, or key and value, so that no two entries look alike.
std::string identity_of(const DescriptorEntry& entry) {
  std::string text = std::to_string(entry.key.size()) + ":" + entry.key;
  if (entry.value) text += "=" + std::to_string(entry.value->size()) + ":" + *entry.value;
  return text;
}

}  // namespace

// One file on its way into the reader's drafts.
class EnvoyFile {
 public:
  EnvoyFile(EnvoyReader& reader, const base::YamlDocument& document, FaultList& faults)
      : reader_(reader), file_(document.file_name()), faults_(faults) {}

  void read(const base::YamlNode& root) {
    if (root.kind() == base::YamlNode::Kind::null) return fault(root, "", "is empty, expected domain and descriptors");
    if (!known(root, "", kEnvoyTopFields)) return;
    const base::YamlNode* domain = root.find("domain");
    if (domain == nullptr) return fault(root, "domain", "is missing, expected the domain that Envoy sends");
    const std::string name = text(*domain, "domain");
    // Where theirs is compared as it is, our descriptors would see a beginning.
    if (name.empty() || name.ends_with('*')) {
      return fault(*domain, "domain", "is " + describe(*domain) + ", expected a text that does not end in *");
    }
    std::string place = file_ + ":" + std::to_string(domain->line()) + ":" + std::to_string(domain->column());
    const auto [first, fresh] = reader_.domains_.emplace(name, std::move(place));
    if (!fresh)
      return fault(*domain, "domain", "is " + in_quotes(name) + ", which has its file already: " + first->second);
    way_.push_back({{"domain", name}, false});
    if (const base::YamlNode* list = root.find("descriptors")) read_list(*list, "descriptors");
  }

 private:
  // One step of the way from the domain to a descriptor.
  struct Step {
    DescriptorEntry entry;
    bool shared = false;  // share_threshold: all values that begin like this count together
  };

  void read_list(const base::YamlNode& list, const std::string& path) {
    if (list.kind() == base::YamlNode::Kind::null) return;
    if (!list.is_sequence()) return fault(list, path, "is " + describe(list) + ", expected a list of descriptors");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string here = path + "[" + std::to_string(i) + "]";
      const base::YamlNode& node = list.item(i);
      if (!known(node, here, kDescriptorFields)) continue;
      const base::YamlNode* key = node.find("key");
      Step step{{key == nullptr ? "" : text(*key, here + ".key")}, false};
      if (step.entry.key.empty()) {
        fault(key == nullptr ? node : *key, here + ".key", "is missing or empty, expected a key");
        continue;
      }
      if (const base::YamlNode* value = node.find("value");
          value != nullptr && value->kind() != base::YamlNode::Kind::null) {
        std::string given = text(*value, here + ".value");
        if (!given.empty()) step.entry.value = std::move(given);
      }
      if (!seen.insert(identity_of(step.entry)).second) {
        fault(node, here, "has the key and value of a descriptor before it");
        continue;
      }
      step.shared = flag(node, here, "share_threshold");
      if (step.shared && !is_beginning(step.entry))
        note(node, here + ".share_threshold", "only counts for a value that ends in *");
      way_.push_back(std::move(step));
      read_descriptor(node, here);
      way_.pop_back();
    }
  }

  void read_descriptor(const base::YamlNode& node, const std::string& path) {
    const base::YamlNode* limit = node.find("rate_limit");
    const base::YamlNode* inner = node.find("descriptors");
    for (const char* field : {"detailed_metric", "value_to_metric"}) {
      if (flag(node, path, field)) note(*node.find(field), path + "." + field, "has no effect: metrics are by rule");
    }
    if (const base::YamlNode* metadata = node.find("metadata")) {
      note(*metadata, path + ".metadata", "has no effect: no metadata is sent");
    }
    if (flag(node, path, "quota_mode")) {
      note(*node.find("quota_mode"), path + ".quota_mode", "has no effect: the limit is enforced like any other");
    }
    if (limit != nullptr && limit->kind() != base::YamlNode::Kind::null) {
      read_limit(node, *limit, path);
    } else if (inner == nullptr || inner->size() == 0) {
      EnvoyReader::Draft draft = begin_draft(node, path);
      draft.rule.unlimited = true;
      draft.rule.mode = Mode::off;
      keep(std::move(draft), node, path);
    }
    if (inner != nullptr) read_list(*inner, path + ".descriptors");
  }

  void read_limit(const base::YamlNode& node, const base::YamlNode& limit, const std::string& owner) {
    const std::string path = owner + ".rate_limit";
    if (!known(limit, path, kEnvoyLimitFields)) return;
    EnvoyReader::Draft draft = begin_draft(node, owner);
    Rule& rule = draft.rule;
    const bool shadow = flag(node, owner, "shadow_mode");
    if (const base::YamlNode* name = limit.find("name")) draft.name = text(*name, path + ".name");
    if (const base::YamlNode* list = limit.find("replaces")) read_replaces(*list, path + ".replaces", draft);
    if (flag(limit, path, "unlimited")) {
      if (const base::YamlNode* unit = limit.find("unit"))
        return fault(*unit, path + ".unit", "is given, but the limit is unlimited");
      rule.unlimited = true;
    } else {
      // What is unlimited denies nothing, and says so in shadow mode too.
      if (shadow) rule.mode = Mode::shadow;
      read_numbers(limit, path, rule);
    }
    keep(std::move(draft), limit, path);
  }

  void read_numbers(const base::YamlNode& limit, const std::string& path, Rule& rule) {
    const base::YamlNode* ours = limit.find("weir");
    const base::YamlNode* unit = limit.find("unit");
    const base::YamlNode* requests = limit.find("requests_per_unit");
    if (unit != nullptr) {
      const std::string name = base::lowered(text(*unit, path + ".unit"));
      const Unit* found =
          std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& each) { return each.name == name; });
      if (found == std::end(kUnits)) {
        fault(*unit, path + ".unit",
              "is " + describe(*unit) + ", expected second, minute, hour, day, week, month or year");
        rule.allowance.window = std::chrono::seconds(1);
      } else {
        rule.allowance.window = found->window;
      }
    } else if (ours == nullptr || ours->find("window") == nullptr) {
      fault(limit, path + ".unit", "is missing, expected second, minute, hour, day, week, month or year");
      rule.allowance.window = std::chrono::seconds(1);
    }
    rule.allowance.limit = 1;
    if (requests == nullptr) {
      fault(limit, path + ".requests_per_unit", "is missing, expected a whole number");
    } else {
      const Result<std::int64_t> number = read_whole_number(*requests, 0, std::numeric_limits<std::uint32_t>::max());
      if (!number.ok()) fault(*requests, path + ".requests_per_unit", number.failure().message);
      rule.allowance.limit = number.ok() ? number.value() : 1;
    }
    if (ours != nullptr) RuleReader(file_, faults_, *ours, nullptr, path + ".weir").refine(rule, kOurFields);
    // Hits that do not fit count there, and Envoy may tell what a request has cost when it is over
    // (apply_on_stream_done): were it not counted, nothing would stop the next. A rule of another algorithm says so if
    // it wants the same.
    const bool chosen = ours != nullptr && ours->find("count_denied") != nullptr;
    if (!chosen) rule.count_denied = rule.allowance.algorithm == Algorithm::fixed_window;
  }

  void read_replaces(const base::YamlNode& list, const std::string& path, EnvoyReader::Draft& draft) {
    if (list.kind() == base::YamlNode::Kind::null) return;
    if (!list.is_sequence())
      return fault(list, path, "is " + describe(list) + ", expected a list such as [{name: other}]");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string here = path + "[" + std::to_string(i) + "]";
      const base::YamlNode& item = list.item(i);
      if (!known(item, here, kNameFields)) continue;
      const base::YamlNode* name = item.find("name");
      const std::string other = name == nullptr ? "" : text(*name, here + ".name");
      if (other.empty()) {
        fault(item, here + ".name", "is missing or empty, expected the name of another rate_limit");
      } else if (other == draft.name) {
        fault(item, here + ".name", "is the name of this rate_limit itself");
      } else {
        draft.replaces.push_back(other);
      }
    }
  }

  EnvoyReader::Draft begin_draft(const base::YamlNode& node, const std::string& path) {
    EnvoyReader::Draft draft;
    Rule& rule = draft.rule;
    rule.allowance.algorithm = Algorithm::fixed_window;
    std::set<std::string> shared;
    std::set<std::string> counted;
    for (const Step& step : way_) {
      rule.descriptor.push_back(step.entry);
      if (step.shared && is_beginning(step.entry)) shared.insert(step.entry.key);
      const bool open = !step.entry.value || (is_beginning(step.entry) && !step.shared);
      if (open && counted.insert(step.entry.key).second) rule.per.push_back(entry_for(step.entry.key));
    }
    for (const std::string& key : counted) {
      if (shared.contains(key)) {
        fault(node, path,
              "uses the key " + in_quotes(key) +
                  " with share_threshold and without it on one way, which is not supported");
      }
    }
    return draft;
  }

  void keep(EnvoyReader::Draft draft, const base::YamlNode& node, const std::string& path) {
    std::vector<std::string> words;
    std::string identity;
    for (const Step& step : way_) {
      if (!words.empty()) words.push_back(step.entry.key);
      if (step.entry.value) words.push_back(*step.entry.value);
      identity += identity_of(step.entry) + "/";
    }
    draft.rule.id = "unnamed";  // until all names are known
    for (const RuleFault& found : check_rule(draft.rule)) fault(node, path + "." + to_string(found.field), found.what);
    reader_.ids_.add(words, std::move(identity), draft.name);
    reader_.drafts_.push_back(std::move(draft));
  }

  bool known(const base::YamlNode& node, const std::string& path, std::span<const std::string_view> fields) {
    return KnownFields(file_, faults_).check(node, path, fields);
  }
  bool flag(const base::YamlNode& node, const std::string& path, const char* field) {
    const base::YamlNode* given = node.find(field);
    if (given == nullptr) return false;
    const std::optional<bool> value = truth_of(*given);
    if (!value) fault(*given, path + "." + field, "is " + describe(*given) + ", expected true or false");
    return value.value_or(false);
  }
  std::string text(const base::YamlNode& node, const std::string& path) {
    if (node.kind() == base::YamlNode::Kind::null) return "";
    Result<std::string> read = read_text(node);
    if (read.ok()) return std::move(read).value();
    fault(node, path, read.failure().message);
    return "";
  }
  void fault(const base::YamlNode& node, std::string_view field, std::string_view what) {
    faults_.add(fault_at(file_, node, field, what));
  }
  void note(const base::YamlNode& node, std::string_view field, std::string_view what) {
    reader_.notes_.push_back(fault_at(file_, node, field, what));
  }

  EnvoyReader& reader_;
  const std::string& file_;
  FaultList& faults_;
  std::vector<Step> way_;  // from the domain to where the reading is
};

void EnvoyReader::add(const base::YamlDocument& document, FaultList& faults) {
  EnvoyFile(*this, document, faults).read(document.root());
}

Result<ForeignRules> EnvoyReader::finish(const std::string& name, FaultList& faults) && {
  if (!faults.empty()) return faults.failure();
  ForeignRules made;
  const std::vector<std::string> ids = ids_.assign();
  // A name means the rules of its own domain, and there may be several. What is unlimited stays so.
  std::multimap<std::pair<std::string, std::string>, std::string> ids_by_name;
  const auto domain_of = [](const Draft& draft) { return *draft.rule.descriptor.front().value; };
  for (std::size_t i = 0; i < drafts_.size(); ++i) {
    if (!drafts_[i].rule.unlimited) ids_by_name.insert({{domain_of(drafts_[i]), drafts_[i].name}, ids[i]});
  }
  for (std::size_t i = 0; i < drafts_.size(); ++i) {
    Rule& rule = drafts_[i].rule;
    rule.id = ids[i];
    std::set<std::string> replaced;
    for (const std::string& other : drafts_[i].replaces) {
      const auto [from, to] = ids_by_name.equal_range({domain_of(drafts_[i]), other});
      for (auto each = from; each != to; ++each) replaced.insert(each->second);
    }
    rule.replaces.assign(replaced.begin(), replaced.end());
    made.rules.rules.push_back(std::move(rule));
  }
  made.notes = std::move(notes_);
  for (const std::string& fault : check_totals(made.rules)) faults.add(name + ":1:1: " + fault);
  for (const std::string& fault : check_neighbours(made.rules)) faults.add(name + ":1:1: " + fault);
  if (!faults.empty()) return faults.failure();
  return made;
}

}  // namespace weir::rules
