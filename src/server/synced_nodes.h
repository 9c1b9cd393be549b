// SyncedNodes: this node among those that share the tolerance of synced rules (stores/synced/) and what slices of
// leased rules are taken from: it tells Redis that it lives, and has the stores of its loops report what they have
// admitted. Without such a rule it does neither.
//
// decorate() before the loops run, start() after that. Borrows everything it is given.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "observe/metrics.h"
#include "rules/rule_book.h"
#include "server/redis_stores.h"
#include "server/server_context.h"
#include "stores/synced/members.h"
#include "stores/synced/synced_store.h"

namespace weir::server {

class SyncedNodes {
 public:
  // `askers`: set to how many event loops all nodes have together.
  SyncedNodes(ServerContext& context, const RedisStores& redis, std::shared_ptr<const rules::RuleBook> rules,
              std::shared_ptr<std::atomic<std::uint32_t>> askers);

  // In front of a loop's store.
  std::shared_ptr<Store> decorate(std::size_t loop, std::shared_ptr<Store> store);
  void start();
  // Gives up its credit, so that Redis decides from now on, and reports what it has not reported; waits for that at
  // most `patience`. While the loops run, from another thread.
  void leave(Duration patience);
  void add_facts(observe::Facts& facts) const;

 private:
  void tick();
  void beat();
  // Runs it on each loop, and answers the sum; nothing: not all of them answered in time.
  std::optional<std::int64_t> ask_loops(std::chrono::steady_clock::time_point end,
                                        const std::function<std::int64_t(std::size_t)>& ask);
  bool knows_others() const;

  ServerContext& context_;
  const RedisStores& redis_;
  const std::shared_ptr<const rules::RuleBook> rules_;
  const std::shared_ptr<std::atomic<std::uint32_t>> askers_;
  const std::shared_ptr<Clock> boot_;
  std::shared_ptr<synced::Membership> membership_;            // of the first loop
  std::vector<std::shared_ptr<synced::SyncedStore>> stores_;  // by loop; constant once started
};

}  // namespace weir::server
