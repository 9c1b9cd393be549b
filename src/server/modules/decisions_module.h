// DecisionsModule: the engines that decide, one for each loop, with their counters and the sampled decision log. While
// the hash key is rotated there are two engines for each loop (engine/rotating_limiter.h).
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/rotating_limiter.h"
#include "keys/key_encoder.h"
#include "observe/decision_counters.h"
#include "observe/decision_log.h"
#include "observe/request_counters.h"
#include "server/estimate_file.h"
#include "server/fallback_watch.h"
#include "server/module.h"
#include "server/modules/memory_module.h"
#include "server/modules/quota_module.h"
#include "server/modules/redis_module.h"
#include "server/modules/regions_module.h"
#include "server/modules/rules_module.h"
#include "server/modules/tracing_module.h"
#include "server/modules/traffic_module.h"
#include "server/server_context.h"
#include "server/subject_watch.h"
#include "server/synced_nodes.h"
#include "stores/leased/leased_store.h"

namespace weir::server {

class DecisionsModule final : public Module {
 public:
  DecisionsModule(ServerContext& context, const RulesModule& rules, const MemoryModule& memory,
                  const RedisModule& redis, const RegionsModule& regions, TrafficModule& traffic,
                  const QuotaModule& quotas, TracingModule& tracing)
      : context_(context),
        rules_(rules),
        memory_(memory),
        redis_(redis),
        regions_(regions),
        traffic_(traffic),
        quotas_(quotas),
        tracing_(tracing),
        estimates_(*shared_.estimates, estimates_path(context.config),
                   keys::KeyEncoder(context.keys.current).fingerprint(), context.log),
        fallbacks_(*shared_.fallback_times, rules.book(), context.log),
        subjects_(rules.book(), rules.labels(), context.log) {}

  Status open() override;
  Status start() override;
  Status listening() override {
    estimates_.load();
    return success();
  }
  void leaving() override;
  void drained() override { estimates_.save(); }

  // What a loop's front ends ask.
  Limiter& limiter(std::size_t loop);
  // While the hash key is rotated, only buckets under the key that decides are charged.
  UsageRecorder& usage(std::size_t loop) { return *engines_[loop]; }
  std::vector<const observe::DecisionCounters*> counters() const;

 private:
  // Empty: nothing is kept.
  static std::filesystem::path estimates_path(const Config& config);
  Status open_logs();
  std::shared_ptr<RequestObserver> make_decision_log() const;
  void add_rotating(const LimiterOptions& deciding);
  void add_facts(observe::Facts& facts) const;
  void add_shedding(observe::Facts& facts) const;
  void add_outages(observe::Facts& facts) const;
  // Says when everything that was admitted without the store has been dealt with.
  void watch_outages();
  void add_leased(observe::Facts& facts) const;
  void add_holds(observe::Facts& facts) const;
  void add_rollout(observe::Facts& facts) const;

  ServerContext& context_;
  const RulesModule& rules_;
  const MemoryModule& memory_;
  const RedisModule& redis_;
  const RegionsModule& regions_;
  TrafficModule& traffic_;
  const QuotaModule& quotas_;
  TracingModule& tracing_;
  observe::DecisionLogOptions log_options_;
  std::unique_ptr<observe::Log> decision_lines_;  // the sample
  std::unique_ptr<observe::Log> degraded_lines_;
  const engine::SharedState shared_{.generations = std::make_shared<engine::BucketGenerations>(),
                                    .fallback_times = std::make_shared<engine::FallbackTimes>(),
                                    .debts = std::make_shared<engine::OutageDebts>(),
                                    .estimates = std::make_shared<engine::Estimates>(),
                                    .shedder = std::make_shared<engine::Shedder>(),
                                    .adaptive = std::make_shared<engine::AdaptiveLimits>()};
  EstimateFile estimates_;
  FallbackWatch fallbacks_;
  engine::OutageDebts::Totals settled_;  // as of the last such line; of the background thread
  SubjectWatch subjects_;

  const std::shared_ptr<std::atomic<std::uint32_t>> askers_ = std::make_shared<std::atomic<std::uint32_t>>(1);

  // One for each loop.
  std::vector<std::shared_ptr<observe::DecisionCounters>> counters_;
  std::vector<std::shared_ptr<observe::RequestCounters>> requests_;
  std::vector<std::shared_ptr<leased::LeasedStore>> leased_;  // empty without Redis
  std::unique_ptr<SyncedNodes> synced_;                       // null without Redis
  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::vector<std::unique_ptr<engine::Engine>> incoming_;  // empty outside a rotation, like the next
  std::vector<std::unique_ptr<engine::RotatingLimiter>> rotating_;
};

}  // namespace weir::server
