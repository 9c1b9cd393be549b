// envoy.service.ratelimit.v3.RateLimitService.
#pragma once

#include "frontends/grpc/call.h"
#include "frontends/grpc/rls.h"
#include "frontends/grpc/rls_decider.h"

namespace weir::grpc {

// One for each loop. The limiter outlives it.
class RlsService final : public Service {
 public:
  static constexpr std::string_view kName = "envoy.service.ratelimit.v3.RateLimitService";
  static constexpr std::string_view kShouldRateLimit = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  RlsService(Limiter& limiter, const RlsOptions& options) : decider_(limiter, options) {}
  void on_message(Call& call, int method, std::string_view message) override;

 private:
  RlsDecider decider_;
  RlsRequest request_;
  RlsAnswer answer_;
};

}  // namespace weir::grpc
