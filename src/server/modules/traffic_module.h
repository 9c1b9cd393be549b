// TrafficModule: what the server remembers of its decisions, in bounded memory, for operators: how many there were
// (observe/history.h), who asks most (observe/hot_keys.h), and why each was denied (observe/journal.h).
#pragma once

#include <memory>
#include <vector>

#include "observe/decision_counters.h"
#include "observe/history.h"
#include "observe/history_sampler.h"
#include "observe/hot_keys.h"
#include "observe/journal.h"
#include "server/module.h"
#include "server/modules/rules_module.h"
#include "server/server_context.h"

namespace weir::server {

class TrafficModule final : public Module {
 public:
  TrafficModule(ServerContext& context, const RulesModule& rules) : context_(context), rules_(rules) {}

  Status open() override;
  Status start() override;

  // Lets this module see what the engine of a loop decides. Before any of them decides.
  void observe(std::size_t loop, LimiterOptions& options);
  // The counters of all loops; borrowed. Before start().
  void set_counters(std::vector<const observe::DecisionCounters*> counters) { counters_ = std::move(counters); }

  const observe::History& history() const { return history_; }
  // Null: switched off. Likewise the next.
  const observe::HotKeys* hot_keys() const { return hot_keys_.get(); }
  const observe::Journal* journal() const { return journal_.get(); }

 private:
  void look();
  base::LatencySums answer_times() const;
  void add_facts(observe::Facts& facts) const;

  ServerContext& context_;
  const RulesModule& rules_;
  std::vector<const observe::DecisionCounters*> counters_;
  observe::History history_;
  std::unique_ptr<observe::HistorySampler> sampler_;
  std::vector<std::shared_ptr<observe::HotKeyCounter>> hot_key_counters_;  // one for each loop
  std::unique_ptr<observe::HotKeys> hot_keys_;
  std::unique_ptr<observe::Journal> journal_;
};

}  // namespace weir::server
