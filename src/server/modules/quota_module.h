// QuotaModule: the ledger of quotas on the server's database, and the gate that decisions go through.
//
// Without a database there is none, and rules with `algorithm: quota` are refused when they are loaded.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ledger/gate/ledger_gate.h"
#include "ledger/ledger.h"
#include "server/loop_quota_gate.h"
#include "server/module.h"
#include "server/modules/admin_tools_module.h"
#include "server/modules/database_module.h"
#include "server/modules/identity_module.h"
#include "server/modules/operators_module.h"
#include "server/modules/rules_module.h"
#include "server/quota_notices.h"
#include "server/quota_retention.h"
#include "server/server_context.h"

namespace weir::server {

class QuotaModule final : public Module {
 public:
  QuotaModule(ServerContext& context, DatabaseModule& databases, AdminToolsModule& tools, const RulesModule& rules,
              IdentityModule& identity, const OperatorsModule& operators)
      : context_(context),
        databases_(databases),
        tools_(tools),
        rules_(rules),
        identity_(identity),
        operators_(operators),
        zones_(operators) {}

  Status open() override;
  Status start() override;
  void stop() override;

  // Known after open(). Null: there is no database.
  std::shared_ptr<QuotaGate> gate(std::size_t loop) const;
  ledger::Ledger* ledger() const { return ledger_.get(); }
  ledger::LedgerGate* ledger_gate() const { return gate_.get(); }
  const std::string& node() const { return node_; }

 private:
  // The zones of tenants, from their records.
  class Zones final : public ledger::TenantDirectory {
   public:
    explicit Zones(const OperatorsModule& operators) : operators_(operators) {}
    std::string zone_of(const std::string& tenant) const override;
    Plans plans_of(const std::string& tenant) const override;

   private:
    // Of the records. None: there is no such tenant.
    std::optional<control::TenantRecord> find(const std::string& tenant) const;
    const OperatorsModule& operators_;
  };

  Status accept(const Rules& rules) const;
  Result<std::string> node_id() const;
  // Of the rule with this id. None: there is no such rule, or it has no quota.
  std::optional<Quota> quota_of(std::string_view rule) const;
  void begin();
  void follow_tenants();
  void sweep_forever();
  void add_facts(observe::Facts& facts) const;
  void add_health(HealthDetails& details) const;

  ServerContext& context_;
  DatabaseModule& databases_;
  AdminToolsModule& tools_;
  const RulesModule& rules_;
  IdentityModule& identity_;
  const OperatorsModule& operators_;
  const Zones zones_;
  std::weak_ptr<const control::RecordList<control::TenantRecord>> tenants_seen_;  // only on the background thread
  std::string node_;
  std::atomic<bool> loops_over_{false};
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<ledger::LedgerGate> gate_;
  std::vector<std::shared_ptr<QuotaGate>> of_loops_;
  std::unique_ptr<QuotaNotices> notices_;
  std::unique_ptr<QuotaRetention> retention_;
  std::atomic<bool> started_{false};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;  // guarded by mutex_
  std::thread sweeper_;
  std::atomic<std::int64_t> swept_units_{0};
  std::atomic<std::int64_t> swept_reservations_{0};
};

}  // namespace weir::server
