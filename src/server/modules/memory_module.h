// MemoryModule: the memory store of this process, its snapshot, and the small store that the failure policy `local`
// counts in. With Redis the two stores are one, and there is no snapshot.
#pragma once

#include <memory>

#include "server/module.h"
#include "server/modules/rules_module.h"
#include "server/server_context.h"
#include "server/snapshot_file.h"
#include "stores/memory/memory_store.h"

namespace weir::server {

class MemoryModule final : public Module {
 public:
  MemoryModule(ServerContext& context, RulesModule& rules);

  Status start() override;
  // Only now: a second server started by mistake must not touch the snapshot of the first, whose addresses it cannot
  // bind.
  Status listening() override;
  void drained() override { snapshot_.save(); }

  const std::shared_ptr<memory::MemoryStore>& store() const { return store_; }
  const std::shared_ptr<memory::MemoryStore>& fallback() const { return fallback_; }

 private:
  void add_facts(observe::Facts& facts) const;

  ServerContext& context_;
  RulesModule& rules_;
  const bool with_redis_;
  const std::shared_ptr<memory::MemoryStore> fallback_;
  const std::shared_ptr<memory::MemoryStore> store_;  // with Redis: fallback_
  SnapshotFile snapshot_;
};

}  // namespace weir::server
