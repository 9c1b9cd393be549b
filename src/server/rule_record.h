// RuleRecord: the rules and the database. With `rules: database` it loads the latest version, from the database or,
// while that is unavailable, from the file that keeps it. With a file it records every text that the server loads as a
// version, with an entry in the audit trail. It also says what is active, for the admin API, and makes the stamps by
// which decisions are attributed to a version.
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

class RuleRecord final : public control::Topic, public admin::RulesView, public rules::RulesUser {
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

  // For RuleBook::stamp_with(). With a database the number is the database's, 0 until it has recorded the rules;
  // without one it is that of the load.
  std::shared_ptr<const rules::RulesStamp> make_stamp(const rules::RulesBase& base, std::uint64_t number);
  // Records new rules of a file before they decide anything, if the database answers soon enough; else flush() does.
  void prepare(const rules::LoadedRules& loaded, std::uint64_t version) override;

 private:
  static constexpr std::size_t kMaxPending = 100;
  static constexpr std::chrono::milliseconds kPatience{500};

  // A version that is to be recorded, and whom to tell its number.
  struct Pending {
    control::RuleVersion version;
    std::shared_ptr<rules::RulesStamp> stamp;
  };

  bool has_database() const { return tools_.environment().database != nullptr; }
  // The rules as one text in Weir's own format.
  std::string text_of(const rules::RulesBase& base) const;

  RuleKeeper& keeper_;
  ServerContext& context_;
  AdminToolsModule& tools_;

  mutable std::mutex mutex_;
  std::optional<control::RuleVersion> version_;      // guarded by mutex_, like all below; what is active
  control::RuleVersion loading_;                     // of a file: what is being loaded, or was loaded last
  std::shared_ptr<rules::RulesStamp> stamp_;         // of the same; with `rules: database` of that
  std::shared_ptr<rules::RulesStamp> active_stamp_;  // of version_, if that is of a file
  bool prepared_ = true;                             // false: a stamp is new, and prepare() has not seen it
  const control::RuleVersion* applying_ = nullptr;   // of the database, while it is being loaded
  std::deque<Pending> pending_;
  bool recording_ = false;
};

}  // namespace weir::server
