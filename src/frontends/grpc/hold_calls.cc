#include "frontends/grpc/hold_calls.h"

#include <string>

namespace weir::grpc {
namespace {

constexpr std::int64_t kLeastTtlMs = kMinHoldTtl / std::chrono::milliseconds(1);
constexpr std::int64_t kMostTtlMs = kMaxHoldTtl / std::chrono::milliseconds(1);

}  // namespace

Code hold_code(HoldFault fault) {
  switch (fault) {
    case HoldFault::none:
      return Code::ok;
    case HoldFault::invalid:
    case HoldFault::other_body:
      return Code::invalid_argument;
    case HoldFault::forged:
      return Code::not_found;
    case HoldFault::gone:
    case HoldFault::closed:
      return Code::failed_precondition;
    case HoldFault::running:
      return Code::aborted;
    case HoldFault::full:
      return Code::resource_exhausted;
    case HoldFault::unavailable:
      return Code::unavailable;
  }
  return Code::internal;
}

Result<Duration> hold_ttl(std::int64_t ttl_ms) {
  if (ttl_ms < 0 || ttl_ms > kMostTtlMs) {
    return Failure{Code::invalid_argument, "ttl_ms: is " + std::to_string(ttl_ms) + ", expected " +
                                               std::to_string(kLeastTtlMs) + " to " + std::to_string(kMostTtlMs)};
  }
  return Duration(std::chrono::milliseconds(ttl_ms));
}

Failure unparsable_message() { return {Code::invalid_argument, "the message cannot be parsed"}; }

Caller identify_caller(Call& call, Request& request, transport::RequestIdentity* identity) {
  request.ingress = call.ingress();
  request.trace = call.trace();
  request.peek = false;
  if (identity == nullptr) return Caller::known;
  const auto refusal = transport::identify(*identity, request);
  if (!refusal) return Caller::known;
  if (!refusal->malformed) return Caller::refused;
  call.finish(Code::invalid_argument, refusal->message("", "attributes."));
  return Caller::answered;
}

}  // namespace weir::grpc
