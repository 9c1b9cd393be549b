// RulesModule: the rules, read at the start and again when their file changes (rule_keeper.h).
#pragma once

#include "server/module.h"
#include "server/rule_keeper.h"
#include "server/server_context.h"

namespace weir::server {

class RulesModule final : public Module {
 public:
  explicit RulesModule(ServerContext& context);

  Status start() override;
  Status reload() override { return rules_.reload(); }

  const std::shared_ptr<rules::RuleBook>& book() const { return rules_.book(); }
  std::shared_ptr<const observe::RuleLabels> labels() const { return rules_.labels(); }

 private:
  void add_facts(observe::Facts& facts) const;
  void add_health(HealthDetails& details) const;

  ServerContext& context_;
  RuleKeeper rules_;
};

}  // namespace weir::server
