// SimulateModule: POST /admin/v1/rules/simulate, which replays a log or the journal of decisions against the active
// rules and others, on a thread of its own, one at a time.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "admin/call.h"
#include "server/module.h"
#include "server/modules/admin_tools_module.h"
#include "server/modules/rules_module.h"
#include "server/modules/traffic_module.h"
#include "server/server_context.h"
#include "simulate/replay.h"

namespace weir::server {

class SimulateModule final : public Module {
 public:
  SimulateModule(ServerContext& context, AdminToolsModule& tools, const RulesModule& rules,
                 const TrafficModule& traffic)
      : context_(context), tools_(tools), rules_(rules), traffic_(traffic) {}
  ~SimulateModule() override { stop(); }

  Status start() override;
  void stop() override;

 private:
  struct Work {
    simulate::ReplayOptions options;
    simulate::LogOptions reading;
    std::string log;
    bool from_journal = false;
  };

  void handle(admin::Call& call);
  Result<simulate::ReplayOptions> replay_options(const std::string& text) const;
  Result<std::string> run(Work work) const;
  void replay_journal(simulate::Replay& replay) const;

  ServerContext& context_;
  AdminToolsModule& tools_;
  const RulesModule& rules_;
  const TrafficModule& traffic_;
  std::atomic<bool> busy_{false};
  std::thread worker_;  // joined before the next one starts; that busy_ was taken says who may touch it
};

}  // namespace weir::server
