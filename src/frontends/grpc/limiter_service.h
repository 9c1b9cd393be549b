// weir.v1.Limiter: Check, CheckBatch and Refund (api/proto/weir/v1/limiter.proto).
#pragma once

#include <string_view>
#include <vector>

#include "frontends/grpc/call.h"
#include "frontends/grpc/limiter_wire.h"
#include "weir/limiter.h"

namespace weir::grpc {

// One for each loop: its buffers are reused. The limiter outlives it.
class LimiterService final : public Service {
 public:
  enum MethodIndex { kCheck, kCheckBatch, kRefund };

  explicit LimiterService(Limiter& limiter) : limiter_(limiter) {}
  void on_message(Call& call, int method, std::string_view message) override;

 private:
  void answer_one(Call& call, bool refund);
  void answer_batch(Call& call);

  Limiter& limiter_;
  CheckMessages messages_;
  std::vector<Decision> decisions_;
};

}  // namespace weir::grpc
