// The families of a store on the network: its breaker, calls, failures and latency, by script and by server.
#pragma once

#include <vector>

#include "observe/metric_families.h"
#include "observe/metrics.h"

namespace weir::observe {

void collect_remote_store(const RemoteStoreFacts& facts, std::vector<MetricFamily>& out);

}  // namespace weir::observe
