// RulesModule: the rules, read at the start and again when their file changes (rule_keeper.h) or when another version
// is stored in the database (rule_record.h), and their routes of the admin API.
#pragma once

#include "server/module.h"
#include "server/modules/admin_tools_module.h"
#include "server/rule_keeper.h"
#include "server/rule_record.h"
#include "server/server_context.h"

namespace weir::server {

class RulesModule final : public Module {
 public:
  RulesModule(ServerContext& context, AdminToolsModule& tools);
  ~RulesModule() override;

  Status open() override;
  Status start() override;
  Status reload() override { return rules_.reload(); }

  const std::shared_ptr<rules::RuleBook>& book() const { return rules_.book(); }
  std::shared_ptr<const observe::RuleLabels> labels() const { return rules_.labels(); }

 private:
  Status load();
  void add_facts(observe::Facts& facts) const;
  void add_health(HealthDetails& details) const;

  ServerContext& context_;
  AdminToolsModule& tools_;
  RuleKeeper rules_;
  const std::shared_ptr<RuleRecord> record_;
  const std::shared_ptr<admin::Offload> offload_ = std::make_shared<admin::Offload>();
};

}  // namespace weir::server
