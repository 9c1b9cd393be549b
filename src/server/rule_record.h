// RuleRecord: the rules and the database. With `rules: database` it loads the latest version, from the database or,
// while that is away, from the file that keeps it. With a file it records every text that the server loads as a
// version, with an entry in the audit trail. It also says what is active, for the admin API.
//
// Thread-safe. Borrows the keeper, the context and the tools.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "admin/rules_routes.h"
#include "control/change_watch.h"
#include "control/rule_versions.h"
#include "server/modules/admin_tools_module.h"
#include "server/rule_keeper.h"
#include "server/server_context.h"

namespace weir::server {

class RuleRecord final : public control::Topic, public admin::RulesView {
 public:
  RuleRecord(RuleKeeper& keeper, ServerContext& context, AdminToolsModule& tools)
      : keeper_(keeper), context_(context), tools_(tools) {}

  // Of the database's rules.
  Result<std::string> read(database::Session& session) override;
  Status apply(std::string_view text) override;
  // Whether rules of the database have been loaded.
  bool has_version() const;

  // After each load of a file: to be recorded. Now and then: records what is still to be.
  void note_load();
  void flush();

  admin::ActiveRules active() const override;
  // As in active(); 0: of the database's rules there is none yet.
  std::int64_t version() const;

 private:
  static constexpr std::size_t kMaxPending = 100;

  // The active rules as one text in Weir's own format.
  std::string text_of_base() const;

  RuleKeeper& keeper_;
  ServerContext& context_;
  AdminToolsModule& tools_;

  mutable std::mutex mutex_;
  std::optional<control::RuleVersion> version_;  // guarded by mutex_, like all below; what is active
  std::deque<control::RuleVersion> pending_;     // to be recorded
  bool recording_ = false;
};

}  // namespace weir::server
