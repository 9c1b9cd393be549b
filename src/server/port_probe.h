// Checks whether another process already listens on an address.
//
// Our listeners share their port among loops (SO_REUSEPORT), which would let a second server of the same user share it
// too, and each would answer half of the requests from its own buckets. So the address is asked for once without
// sharing before it is taken.
#pragma once

#include "frontends/transport/endpoint.h"
#include "weir/result.h"

namespace weir::server {

// already_exists: a process listens there. Endpoints that are no TCP address, or have port 0, are always free; so are
// those that cannot be taken for another reason, which the listener itself reports.
Status probe_free(const transport::Endpoint& endpoint);

}  // namespace weir::server
