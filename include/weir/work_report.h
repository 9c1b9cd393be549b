// WorkReports: takes in how long the work of requests took, as their callers have said. Rules whose limit adapts
// (`limit: {auto: …}`) learn from it where no leases are released (docs/shedding.md).
//
//   if (WorkReports* reports = work_reports(limiter)) reports->note_work(request, 180ms, true);
#pragma once

#include "weir/limiter.h"
#include "weir/request.h"
#include "weir/time.h"

namespace weir {

class WorkReports {
 public:
  virtual ~WorkReports() = default;
  // Answers at once; charges nothing.
  virtual void note_work(const Request& request, Duration duration, bool succeeded) = 0;
};

// Of this limiter, which owns them; null: it has no such rules.
inline WorkReports* work_reports(Limiter& limiter) { return dynamic_cast<WorkReports*>(&limiter); }

}  // namespace weir
