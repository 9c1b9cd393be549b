// envoy.service.ratelimit.v3.RateLimitService.
#pragma once

#include "frontends/envoy/rls.h"
#include "frontends/envoy/rls_decider.h"
#include "frontends/grpc/call.h"

namespace weir::grpc {

// One for each loop. The limiter outlives it.
class RlsService final : public Service {
 public:
  static constexpr std::string_view kName = "envoy.service.ratelimit.v3.RateLimitService";
  static constexpr std::string_view kShouldRateLimit = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  RlsService(Limiter& limiter, const envoy::RlsOptions& options) : decider_(limiter, options) {}
  void on_message(Call& call, int method, std::string_view message) override;

 private:
  envoy::RlsDecider decider_;
  envoy::RlsRequest request_;
};

}  // namespace weir::grpc
