// envoy.service.ratelimit.v3.RateLimitService.
#pragma once

#include <memory>
#include <utility>

#include "frontends/envoy/rls.h"
#include "frontends/envoy/rls_decider.h"
#include "frontends/grpc/call.h"

namespace weir::grpc {

// One for each loop. The limiter outlives it.
class RlsService final : public Service {
 public:
  static constexpr std::string_view kName = "envoy.service.ratelimit.v3.RateLimitService";
  static constexpr std::string_view kShouldRateLimit = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  // `identity` may be null.
  RlsService(Limiter& limiter, const envoy::RlsOptions& options, std::shared_ptr<transport::RequestIdentity> identity)
      : decider_(limiter, options), identity_(std::move(identity)) {}
  void on_message(Call& call, int method, std::string_view message) override;

 private:
  envoy::RlsDecider decider_;
  const std::shared_ptr<transport::RequestIdentity> identity_;
  envoy::RlsRequest request_;
};

}  // namespace weir::grpc
