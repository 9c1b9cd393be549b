// TrafficModule: what the server remembers of its decisions, in bounded memory, for operators: how many there were
// (observe/history.h), who sends most (observe/hot_keys.h), and why each was denied (observe/journal.h).
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "observe/decision_counters.h"
#include "observe/history.h"
#include "observe/history_sampler.h"
#include "observe/hot_keys.h"
#include "observe/journal.h"
#include "server/journal_store.h"
#include "server/module.h"
#include "server/modules/admin_tools_module.h"
#include "server/modules/rules_module.h"
#include "server/server_context.h"

namespace weir::server {

class TrafficModule final : public Module {
 public:
  TrafficModule(ServerContext& context, AdminToolsModule& tools, const RulesModule& rules)
      : context_(context), tools_(tools), rules_(rules) {}

  Status open() override;
  Status start() override;
  void stop() override;

  // Lets this module see what the engine of a loop decides. Before any of them decides.
  void observe(std::size_t loop, LimiterOptions& options);
  // The counters of all loops; borrowed. Before start().
  void set_counters(std::vector<const observe::DecisionCounters*> counters) { counters_ = std::move(counters); }

  const observe::History& history() const { return history_; }
  // Null: switched off. Likewise the next.
  const observe::HotKeys* hot_keys() const { return hot_keys_.get(); }
  const observe::Journal* journal() const { return journal_.get(); }
  // Null as long as entries are not written to a database. From any thread.
  const JournalStore* stored() const { return stored_.load(std::memory_order_acquire); }

 private:
  void look();
  void open_store();
  bool is_audited(std::string_view rule);
  // Ordinals of rules with `hot_keys: off`, ascending.
  std::vector<std::uint32_t> without_hot_keys() const;
  base::LatencySums answer_times() const;
  void add_facts(observe::Facts& facts) const;

  ServerContext& context_;
  AdminToolsModule& tools_;
  const RulesModule& rules_;
  std::vector<const observe::DecisionCounters*> counters_;
  observe::History history_;
  std::unique_ptr<observe::HistorySampler> sampler_;
  std::vector<std::shared_ptr<observe::HotKeyCounter>> hot_key_counters_;  // one for each loop
  std::unique_ptr<observe::HotKeys> hot_keys_;
  std::unique_ptr<observe::Journal> journal_;
  std::unique_ptr<JournalStore> store_;
  std::atomic<JournalStore*> stored_{nullptr};  // store_, once it is made
  std::uint64_t audited_version_ = 0;           // of the rules that audited_ is of; both of is_audited()
  std::set<std::string, std::less<>> audited_;
};

}  // namespace weir::server
