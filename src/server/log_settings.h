// The log section of the configuration as options of the decision log.
#pragma once

#include "keys/key_ring.h"
#include "observe/decision_log.h"
#include "server/config.h"
#include "weir/result.h"

namespace weir::server {

// All but the seed. The failure is that of identity_options(): which attributes are secrets is a matter of identity.
Result<observe::DecisionLogOptions> decision_log_options(const Config& config, const keys::KeyRing& keys);

}  // namespace weir::server
