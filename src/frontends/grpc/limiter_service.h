// weir.v1.Limiter: Check, CheckBatch, Refund and Report (api/proto/weir/v1/limiter.proto).
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/grpc/call.h"
#include "frontends/grpc/limiter_wire.h"
#include "frontends/transport/request_identity.h"
#include "weir/limiter.h"
#include "weir/work_report.h"

namespace weir::grpc {

// One for each loop: its buffers are reused. The limiter outlives it.
class LimiterService final : public Service {
 public:
  enum MethodIndex { kCheck, kCheckBatch, kRefund, kReport };

  // `identity` may be null.
  LimiterService(Limiter& limiter, std::shared_ptr<transport::RequestIdentity> identity)
      : limiter_(limiter), identity_(std::move(identity)) {}
  void on_message(Call& call, int method, std::string_view message) override;

 private:
  // False: it has answered.
  bool identified(Call& call);
  void answer_one(Call& call, Action action);
  // Of a caller that is identified.
  void ask_limiter(Call& call, Action action);
  void answer_report(Call& call, std::string_view message);
  void answer_batch(Call& call);

  Limiter& limiter_;
  WorkReports* const work_ = work_reports(limiter_);  // may be null
  const std::shared_ptr<transport::RequestIdentity> identity_;
  CheckMessages messages_;
  std::vector<Decision> decisions_;
  std::vector<std::size_t> refused_;  // requests of a batch
};

}  // namespace weir::grpc
