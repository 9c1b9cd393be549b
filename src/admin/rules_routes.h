// /admin/v1/rules: the active rules, their versions, and how they are changed where they are in the database.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/api.h"
#include "admin/offload.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::admin {

// What is active, and where it came from.
struct ActiveRules {
  std::string source;  // "file", "database" or "built-in"
  std::string path;    // of the file
  std::int64_t version = 0;
  std::string hash;
  TimePoint loaded{};
  std::string author;
  std::string reason;
  std::string text;
  std::string error;  // why what was read last is not active
  std::vector<std::string> warnings;
};

// Thread-safe.
class RulesView {
 public:
  virtual ~RulesView() = default;
  virtual ActiveRules active() const = 0;
};

struct RulesRouteOptions {
  std::shared_ptr<const RulesView> view;
  std::shared_ptr<Offload> offload;
  // The JSON of what changes between two sets of rules.
  std::function<std::string(const Rules& before, const Rules& after)> diff;
};

void add_rules_routes(Api& api, const RulesRouteOptions& options);

}  // namespace weir::admin
