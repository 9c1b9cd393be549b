// OperatorsModule: what operators set while the server runs: overrides, blocks, tenants and API keys. It keeps the
// records that the database has in memory (control/kept.h), gives them to the rules and to identity, adds the routes of
// the admin API, removes what has expired, and tells the database when records were last used.
//
// No decision waits for the database: decisions see only what is in memory.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "admin/operator_state.h"
#include "control/kept.h"
#include "control/key_hash.h"
#include "server/expiry_audit.h"
#include "server/key_directory.h"
#include "server/module.h"
#include "server/modules/admin_tools_module.h"
#include "server/modules/identity_module.h"
#include "server/modules/rules_module.h"
#include "server/server_context.h"

namespace weir::server {

class OperatorsModule final : public Module {
 public:
  OperatorsModule(ServerContext& context, AdminToolsModule& tools, RulesModule& rules, IdentityModule& identity);

  Status open() override;
  Status start() override;

  // For modules that need a tenant's record, such as its time zone.
  const control::Kept<control::TenantRecord>& tenants() const { return tenants_; }
  const admin::OperatorState& state() const { return state_; }

 private:
  // What this node has already told the database about a record.
  struct Told {
    std::optional<TimePoint> last;
    std::uint64_t uses = 0;
  };
  struct Use {
    std::string key;
    TimePoint last;
    std::int64_t uses;
  };

  Status take_overrides(const control::RecordList<control::OverrideRecord>& records);
  // `changed` has the keys of those that have changed; none: perhaps all.
  Status take_blocks(const control::RecordList<control::BlockRecord>& records, std::span<const std::string> changed);
  Status take_tenants(const control::RecordList<control::TenantRecord>& records);

  // On the background thread.
  void remove_expired();
  void begin_plans();
  void audit_expiries();
  void tell_uses();
  template <typename Record>
  std::vector<Use> new_uses(const control::Kept<Record>& kept, std::map<std::string, Told>& told);
  template <typename Record>
  Status audit_expired(database::Session& session, TimePoint now);
  void add_facts(observe::Facts& facts) const;

  ServerContext& context_;
  AdminToolsModule& tools_;
  const std::shared_ptr<rules::RuleBook> book_;
  IdentityModule& identity_;
  const std::shared_ptr<LiveKeys> live_keys_ = std::make_shared<LiveKeys>();

  control::KeySecret secret_;
  control::Kept<control::OverrideRecord> overrides_;
  control::Kept<control::BlockRecord> blocks_;
  control::Kept<control::TenantRecord> tenants_;
  control::Kept<control::KeyRecord> keys_;
  const admin::OperatorState state_;

  std::atomic<TimePoint> next_plan_{TimePoint::max()};  // when the next plan of a tenant begins
  std::unique_ptr<ExpiryAudit> expiries_;               // null: no database
  std::atomic<bool> expiring_{false};                   // a transaction that removes expired records is queued or runs
  // Only on the background thread.
  std::map<std::string, Told> told_overrides_;
  std::map<std::string, Told> told_blocks_;
  std::map<std::string, Told> told_keys_;
};

}  // namespace weir::server
