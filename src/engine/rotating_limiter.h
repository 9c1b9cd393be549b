// RotatingLimiter: the limiter while the key that subjects are hashed with is being rotated.
//
// Two limiters on the same rules and store, which differ in their key. The one with the previous key decides: its
// buckets hold what was used before. What it admits is charged under the current key too, so that those buckets hold
// everything that was admitted since the rotation began; when that is longer ago than the longest window, the previous
// key can be dropped and nothing is lost. Nodes that have not begun the rotation charge the previous buckets only,
// which is why those decide. Both must admit: what only the previous key admits is given back there.
//
// An attribute "name@previous" (rotated_request.h) is what "name" was under the previous key, for values that are
// hashed before a limiter sees them: the previous limiter gets it instead of "name", the current one does not see
// it.
//
// A lease or a reservation is taken under both keys, and its handle is made of both handles: a node that has one of the
// keys can use its half.
//
// Exists only during a rotation, and may allocate. As thread-safe as the limiters that it borrows.
#pragma once

#include "weir/ad_hoc.h"
#include "weir/leases.h"
#include "weir/limiter.h"
#include "weir/reservations.h"
#include "weir/work_report.h"

namespace weir::engine {

class RotatingLimiter final : public Limiter,
                              public AdHocLimiter,
                              public LeaseLimiter,
                              public ReservationLimiter,
                              public WorkReports {
 public:
  // `previous` should have the observers. Both must take ad-hoc charges and give leases.
  RotatingLimiter(Limiter& previous, Limiter& current) : previous_(previous), current_(current) {}

  [[nodiscard]] bool begin(CheckCall& call) override;
  [[nodiscard]] bool begin_group(GroupCall& call) override;
  [[nodiscard]] bool begin_lease(LeaseCall& call) override;
  [[nodiscard]] bool begin_reservation(ReservationCall& call) override;
  void note_duration(Duration duration) override { previous_.note_duration(duration); }
  // The limiters share what adapts, and find subjects under their own keys.
  void note_work(const Request& request, Duration duration, bool succeeded) override {
    for (Limiter* limiter : {&previous_, &current_}) {
      if (WorkReports* const reports = work_reports(*limiter)) reports->note_work(request, duration, succeeded);
    }
  }
  bool may_wait() const override { return previous_.may_wait(); }
  AdHocLimiter* ad_hoc() override { return this; }
  LeaseLimiter* leases() override { return previous_.leases() == nullptr ? nullptr : this; }
  ReservationLimiter* reservations() override { return previous_.reservations() == nullptr ? nullptr : this; }
  // The limiters share their rules.
  Status replace(const Rules& rules) override { return previous_.replace(rules); }
  Status reload() override { return previous_.reload(); }

 private:
  Limiter& previous_;
  Limiter& current_;
};

}  // namespace weir::engine
