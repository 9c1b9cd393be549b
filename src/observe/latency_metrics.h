// How long answers took, as Prometheus shows it.
#pragma once

#include <vector>

#include "observe/metric_families.h"
#include "observe/metrics.h"

namespace weir::observe {

// A histogram for each front end, with a bucket for each doubling from 4 µs to 1 s.
void collect_answer_times(const std::vector<FrontEndTimes>& times, std::vector<MetricFamily>& out);

}  // namespace weir::observe
