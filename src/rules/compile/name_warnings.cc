#include "rules/compile/name_warnings.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/ascii.h"
#include "base/nearest.h"
#include "rules/compile/conditions.h"
#include "rules/compile/fault_list.h"
#include "rules/compile/per_entry.h"

namespace weir::rules {
namespace {

// Attributes that gateways, recipes and front ends use. None of them is ever reported as misspelt.
constexpr std::string_view kKnownAttributes[] = {
    "tenant",   "user",         "api_key",        "ip",          "ip_subnet", "action",   "plan",      "method",
    "path",     "route",        "host",           "session",     "account",   "device",   "service",   "endpoint",
    "resource", "region",       "country",        "role",        "scope",     "customer", "client",    "project",
    "team",     "organization", "email",          "token",       "tokens",    "bytes",    "units",     "model",
    "domain",   "subject",      "remote_address", "generic_key", "query",     "referer",  "user_agent"};
// More distinct names than this are generated, and comparing all of them with each other would take too long.
constexpr std::size_t kMostCompared = 200;
constexpr std::size_t kShortestCompared = 4;

struct Use {
  std::size_t rules = 0;  // how many rules use the name
  std::size_t first = 0;  // the first of them
  FieldPath field;        // where
  bool absent = false;    // there, the condition is that requests do not carry it
};
using Uses = std::unordered_map<std::string, Use>;

std::string without_digits(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c < '0' || c > '9') out += base::lower(c);
  }
  return out;
}

// Differ only in case, or by one letter. Names that are numbered (tier1, tier2) are different names.
bool look_alike(std::string_view a, std::string_view b) {
  if (base::same_ignoring_case(a, b)) return true;
  if (std::min(a.size(), b.size()) < kShortestCompared || without_digits(a) == without_digits(b)) return false;
  return base::edit_distance(a, b) == 1;
}

class NameChecks {
 public:
  explicit NameChecks(const Rules& rules) : rules_(rules) {}

  std::vector<RuleWarning> run() {
    for (std::size_t i = 0; i < rules_.rules.size(); ++i) collect(i);
    check_attributes();
    check_plans();
    constexpr std::size_t kMost = RuleWarnings::kMostKept / 2;
    if (warnings_.size() > kMost) warnings_.resize(kMost);
    return std::move(warnings_);
  }

 private:
  // A descriptor lists all attributes of its requests, so nothing in its rule can be absent.
  void collect(std::size_t i) {
    const Rule& rule = rules_.rules[i];
    if (rule.descriptor.empty()) {
      for (std::size_t j = 0; j < rule.per.size(); ++j) {
        for_each_name(rule.per[j], [&](std::string_view name) {
          use(attributes_, std::string(name), i, [j] { return FieldPath{"per", FieldStep(j)}; });
        });
      }
      for (const Condition& condition : rule.match) {
        use_condition(condition, i, [&] { return FieldPath{"match", condition.attribute}; });
      }
    }
    for (std::size_t j = 0; j < rule.overrides.size(); ++j) {
      for (const Condition& condition : rule.overrides[j].when) {
        use_condition(condition, i, [&] { return FieldPath{"overrides", FieldStep(j), "when", condition.attribute}; });
      }
    }
    for (const Plan& plan : rule.plans) {
      use(plans_, plan.name, i, [&] { return FieldPath{"plans", plan.name}; });
    }
  }

  // `path` is called for the first use only, because there may be 100,000 rules.
  template <typename Path>
  static Use& use(Uses& uses, const std::string& name, std::size_t rule, Path path) {
    Use& used = uses[name];
    if (used.rules++ > 0) return used;
    used.first = rule;
    used.field = path();
    return used;
  }

  template <typename Path>
  void use_condition(const Condition& condition, std::size_t rule, Path path) {
    Use& used = use(attributes_, condition.attribute, rule, path);
    if (used.rules == 1) used.absent = requires_absent(condition);
  }

  static bool is_known(std::string_view name) {
    return std::find(std::begin(kKnownAttributes), std::end(kKnownAttributes), name) != std::end(kKnownAttributes);
  }

  void check_attributes() {
    for (const auto& [name, used] : attributes_) {
      if (is_known(name)) continue;
      const std::string_view meant = meant_by(name, used);
      if (meant.empty()) continue;
      add(used, "the attribute " + in_quotes(name) + " looks misspelt (did you mean " + std::string(meant) +
                    (used.absent ? "?): no request carries it, so the condition is always true"
                                 : "?): requests that do not carry it are not counted"));
    }
  }

  // A known attribute, or one that more rules use.
  std::string_view meant_by(std::string_view name, const Use& used) const {
    for (const std::string_view known : kKnownAttributes) {
      if (base::same_ignoring_case(name, known)) return known;
    }
    if (name.size() < kShortestCompared) return {};
    const std::string_view nearest = base::nearest(name, kKnownAttributes);
    const bool near = !nearest.empty() && (name.size() > 5 || base::edit_distance(name, nearest) == 1);
    if (near && without_digits(name) != without_digits(nearest)) return nearest;
    if (attributes_.size() > kMostCompared) return {};
    for (const auto& [other, use_of_other] : attributes_) {
      if (use_of_other.rules > used.rules && look_alike(name, other)) return other;
    }
    return {};
  }

  void check_plans() {
    if (plans_.size() > kMostCompared) return;
    for (const auto& [name, used] : plans_) {
      for (const auto& [other, use_of_other] : plans_) {
        // One warning for a pair: at the rarer name, and of two equally rare ones at the later.
        const bool rarer = used.rules != use_of_other.rules   ? used.rules < use_of_other.rules
                           : used.first != use_of_other.first ? used.first > use_of_other.first
                                                              : name > other;
        if (name == other || !rarer || !look_alike(name, other)) continue;
        add(used, "the plan " + in_quotes(name) + " looks like " + in_quotes(other) + " of rule " +
                      rules_.rules[use_of_other.first].id + ": plans are compared letter by letter, case included");
        break;
      }
    }
  }

  void add(const Use& used, std::string what) { warnings_.push_back({used.first, used.field, std::move(what)}); }

  const Rules& rules_;
  Uses attributes_;
  Uses plans_;
  std::vector<RuleWarning> warnings_;
};

}  // namespace

std::vector<RuleWarning> name_warnings(const Rules& rules) {
  std::vector<RuleWarning> warnings = NameChecks(rules).run();
  std::sort(warnings.begin(), warnings.end(), [](const RuleWarning& a, const RuleWarning& b) {
    return a.rule != b.rule ? a.rule < b.rule : a.what < b.what;
  });
  return warnings;
}

}  // namespace weir::rules
