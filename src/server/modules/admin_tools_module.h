// AdminToolsModule: what modules with routes for operators share: who may call them, the audit trail, and the watch
// that tells a node what others have changed.
//
//   Status MyModule::open()  { if (auto* watch = tools_.watch()) watch->add("overrides", overrides_); return success();
//   } Status MyModule::start() { tools_.add_routes([this](admin::Api& api) { api.get("/overrides", …); }); … }
//
// Topics are added in open(); what they have loaded is there in start(). admin/api.h says how to write routes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admin/api.h"
#include "admin/token_access.h"
#include "control/change_watch.h"
#include "control/tokens.h"
#include "database/postgres/postgres_listener.h"
#include "server/audit_queue.h"
#include "server/module.h"
#include "server/modules/database_module.h"
#include "server/server_context.h"

namespace weir::server {

class AdminToolsModule final : public Module {
 public:
  AdminToolsModule(ServerContext& context, DatabaseModule& database);

  Status open() override;
  Status start() override;
  void stop() override;

  // Called once for each event loop.
  void add_routes(std::function<void(admin::Api&)> add);
  // Null: there is no database.
  control::ChangeWatch* watch() const { return watch_.get(); }
  const admin::Environment& environment() const { return *environment_; }
  const std::shared_ptr<admin::TokenAccess>& access() const { return access_; }
  const control::TokenTable& tokens() const { return *tokens_; }
  // For changes that must not wait for the database.
  AuditQueue& audit_queue() { return audit_queue_; }
  // This node's name.
  const std::string& node() const { return node_; }
  DatabaseModule& databases() const { return databases_; }

 private:
  void note_used_tokens();
  void listen();
  void add_health(HealthDetails& details) const;
  void add_facts(observe::Facts& facts) const;

  ServerContext& context_;
  DatabaseModule& databases_;
  const std::string node_;
  const std::shared_ptr<control::TokenTable> tokens_ = std::make_shared<control::TokenTable>();
  const std::shared_ptr<admin::TokenAccess> access_;
  std::shared_ptr<const admin::Environment> environment_;
  AuditQueue audit_queue_;
  std::unique_ptr<control::ChangeWatch> watch_;
  std::unique_ptr<database::PostgresListener> listener_;  // null: not PostgreSQL, or stopped
};

}  // namespace weir::server
