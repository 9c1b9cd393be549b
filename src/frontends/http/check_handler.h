// CheckHandler: /v1/check, /v1/check/batch, /v1/refund, /v1/reset and /v1/report: reads the body, asks the limiter,
// writes the decision.
//
// One for each loop: its buffers are reused from request to request. An answer that
// comes later may come on any thread, and is written on the connection's loop.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/http/check_body.h"
#include "frontends/http/reset_trail.h"
#include "frontends/http/router.h"
#include "frontends/render/decision_headers.h"
#include "frontends/transport/ingress_time.h"
#include "frontends/transport/request_identity.h"
#include "frontends/transport/tracing.h"
#include "weir/limiter.h"
#include "weir/work_report.h"

namespace weir::http {

class CheckHandler : public std::enable_shared_from_this<CheckHandler> {
 public:
  // `times`, `identity`, `tracing` and `resets` may be null.
  CheckHandler(Limiter& limiter, const render::HeaderOptions& headers,
               std::shared_ptr<transport::IngressTime> times = {},
               std::shared_ptr<transport::RequestIdentity> identity = {},
               std::shared_ptr<transport::Tracing> tracing = {}, std::shared_ptr<ResetTrail> resets = {})
      : limiter_(limiter),
        headers_(headers),
        times_(std::move(times)),
        identity_(std::move(identity)),
        tracing_(std::move(tracing)),
        resets_(std::move(resets)) {}

  void check(const HttpRequest& request, ResponseWriter& writer);
  void check_batch(const HttpRequest& request, ResponseWriter& writer);
  void refund(const HttpRequest& request, ResponseWriter& writer);
  void reset(const HttpRequest& request, ResponseWriter& writer);
  void report(const HttpRequest& request, ResponseWriter& writer);

 private:
  // How the caller wants to be answered.
  struct ResponseOptions {
    int deny_status = 0;  // 0: the default one
    std::int64_t wait_ms = 0;
    bool reports = false;                  // a report is answered with what is known of the subject, and never refused
    std::shared_ptr<ResetRecord> reset{};  // of a reset; usually null
  };

  // When a gateway received it, and its trace.
  void note_fields(const HttpRequest& request, const ResponseWriter& writer);
  // False: it has answered.
  bool identified(const ResponseOptions& options, ResponseWriter& writer);
  void decide(Action action, const ResponseOptions& options, ResponseWriter& writer);
  // Of a caller that is identified.
  void ask_limiter(Action action, const ResponseOptions& options, ResponseWriter& writer);
  void refuse(const transport::RequestRefusal& refusal, const ResponseOptions& options, ResponseWriter& writer);
  Response render(const Decision& decision, const ResponseOptions& options);
  Response render_batch(std::span<const Decision> decisions, std::span<const std::size_t> refused);
  bool holds(const Decision& decision, const ResponseOptions& options) const;
  void answer_later(const Decision& decision, const ResponseOptions& options, const LaterResponse& later);

  Limiter& limiter_;
  WorkReports* const work_ = work_reports(limiter_);  // may be null
  const render::HeaderOptions headers_;
  const std::shared_ptr<transport::IngressTime> times_;
  const std::shared_ptr<transport::RequestIdentity> identity_;
  const std::shared_ptr<transport::Tracing> tracing_;
  const std::shared_ptr<ResetTrail> resets_;
  CheckBody body_;
  std::vector<Decision> decisions_;
  std::vector<std::size_t> refused_;  // requests of a batch
  std::string json_;
  std::string fields_;
};

}  // namespace weir::http
