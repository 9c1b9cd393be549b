// ResetTrail: is told of every reset that callers of the API make, for the audit trail. It neither delays a reset nor
// waits for anything; where it has no room left, the reset is refused.
//
// Thread-safe: one trail for all loops.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "frontends/http/http_message.h"
#include "frontends/transport/protocol.h"
#include "weir/decision.h"

namespace weir::http {

// One reset that was let through. Without ended() it counts as one whose outcome is not known.
class ResetRecord {
 public:
  virtual ~ResetRecord() = default;
  // At most once, on any thread.
  virtual void ended(const Decision& decision) = 0;
};

class ResetTrail {
 public:
  virtual ~ResetTrail() = default;
  // Keeps nothing of what it is given. Null: there is no room, and the reset must not be made.
  virtual std::shared_ptr<ResetRecord> begin(const HttpRequest& request, const transport::Peer& peer,
                                             std::span<const Attribute> attributes, std::string_view reason) = 0;
};

}  // namespace weir::http
