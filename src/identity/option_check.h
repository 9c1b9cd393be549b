// Options that are well formed and could still never do what they say: a header whose name has a space, the {id} of no
// route, a list that names what is not there. The attribute would never be made, rules that count by it would count
// nothing, and no one would notice; so they are refused.
//
// A pure function; thread-safe.
#pragma once

#include "identity/identity.h"
#include "weir/result.h"

namespace weir::identity {

// A failure's message begins with the option at fault, as those of Identity::create() do.
Status check_options(const IdentityOptions& options);

}  // namespace weir::identity
