// Access: who a request of the admin listener comes from, and what they may do. Thread-safe.
#pragma once

#include <optional>

#include "control/actor.h"
#include "frontends/http/router.h"

namespace weir::admin {

// A guard whose roles are those of control::Role, by name. admit() answers what may not pass; actor_of() then says who
// it was.
class Access : public http::Guard {
 public:
  // Nothing: no credentials, or wrong ones. Has no consequences.
  virtual std::optional<control::Actor> actor_of(const http::HttpRequest& request,
                                                 const transport::Peer& peer) const = 0;
};

}  // namespace weir::admin
