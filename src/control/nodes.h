// The nodes that share a database: each writes a heartbeat. Times are the database's, so that clocks of
// nodes need not agree.
//
// Functions on a session, which belongs to its thread.
#pragma once

#include <cstdint>
#include <string>

#include "database/session.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::control {

inline constexpr Duration kBeatPeriod = std::chrono::seconds(2);
inline constexpr Duration kNodeLives = std::chrono::seconds(7);    // after it was seen
inline constexpr Duration kNodeForgotten = std::chrono::hours(1);  // one that did not shut down cleanly

struct NodeCounts {
  std::int64_t live = 1;
  std::int64_t expected = 1;  // with those that have not shut down cleanly

  bool operator==(const NodeCounts&) const = default;
};

// In a transaction that writes: this node is there. Returns how many are.
Result<NodeCounts> note_node(database::Session& session, const std::string& name);
// It stops.
Status forget_node(database::Session& session, const std::string& name);

}  // namespace weir::control
