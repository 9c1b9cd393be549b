// Work that must not delay requests: it runs on a thread of its own, at a lower scheduling priority than the loops.
#pragma once

#include <functional>

namespace weir::server {

// Returns when `work` is done. Exceptions of `work` are not allowed.
void run_at_low_priority(const std::function<void()>& work);

}  // namespace weir::server
