// Which allowances Redis can count exactly. Lua computes in doubles, which hold whole numbers only up to 2^53.
#pragma once

#include "weir/allowance.h"
#include "weir/result.h"

namespace weir::redis {

// Fails with invalid_argument, the message beginning with the field to change, for an allowance that needs larger
// numbers. Rules on Redis must pass this before they are put in force. Pure.
//
// Windows of any kind always pass. token-bucket and gcra need burst * rate_ticks <= 2^52; leaky-bucket needs
// (3 * queue + 2) * rate_ticks <= 2^53, where rate_ticks is the window in microseconds divided by what it has in common
// with the limit.
Status redis_supports(const Allowance& allowance);

}  // namespace weir::redis
