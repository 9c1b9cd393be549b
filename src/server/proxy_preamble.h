// The PROXY protocol for listeners: a load balancer's word about who is at its other end, trusted only from
// identity.trusted_proxies.
#pragma once

#include "frontends/transport/preamble.h"
#include "observe/log.h"
#include "server/live_identity.h"

namespace weir::server {

// Borrows both.
transport::Preamble proxy_preamble(const LiveIdentity& live, observe::Log& log);

}  // namespace weir::server
