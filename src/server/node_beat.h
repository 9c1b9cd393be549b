// NodeBeat: writes this node's heartbeat to the database, and knows how many nodes that share it are live. Only on
// PostgreSQL; a node with a database of its own is alone.
//
// beat() on the background thread, counts() from any. Borrows the database.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "control/nodes.h"
#include "database/database.h"

namespace weir::server {

class NodeBeat {
 public:
  NodeBeat(database::Database& database, std::string node) : database_(database), node_(std::move(node)) {}

  void beat();
  // Takes the node off the list, as far as the database answers at once.
  void leave();
  // As of the last beat that the database answered.
  control::NodeCounts counts() const;

 private:
  database::Database& database_;
  const std::string node_;
  std::atomic<bool> running_{false};
  mutable std::mutex mutex_;
  control::NodeCounts counts_;  // guarded by mutex_
};

}  // namespace weir::server
