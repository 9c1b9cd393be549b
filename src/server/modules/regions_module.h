// RegionsModule: limits that regions share (docs/regions.md): the Redis of other regions, the coordinator, and what
// this node knows of both.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "database/database.h"
#include "regions/coordinator.h"
#include "regions/region_book.h"
#include "server/module.h"
#include "server/modules/admin_tools_module.h"
#include "server/modules/rules_module.h"
#include "server/redis_stores.h"
#include "server/server_context.h"

namespace weir::server {

class RegionsModule final : public Module {
 public:
  RegionsModule(ServerContext& context, const RulesModule& rules, const AdminToolsModule& tools)
      : context_(context), rules_(rules), tools_(tools) {}

  Status open() override;
  Status start() override;
  void stop() override;

  // A loop's store with the limits that it shares. The store itself, if it shares none.
  std::shared_ptr<Store> decorate(std::size_t loop, std::shared_ptr<Store> store) const;

 private:
  Status open_homes();
  Status open_coordinator();
  void add_facts(observe::Facts& facts) const;
  void add_health(HealthDetails& details) const;

  ServerContext& context_;
  const RulesModule& rules_;
  const AdminToolsModule& tools_;
  std::vector<std::pair<std::string, std::unique_ptr<RedisStores>>> homes_;
  std::unique_ptr<database::Database> database_;  // null without a coordinator, like the next
  std::shared_ptr<regions::RegionBook> book_;
  std::unique_ptr<regions::Coordinator> coordinator_;
};

}  // namespace weir::server
