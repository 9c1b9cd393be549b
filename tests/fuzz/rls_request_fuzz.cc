// Any bytes as a RateLimitRequest and as a weir.v1 request: read or refused, never worse.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "frontends/envoy/rls.h"
#include "frontends/envoy/rls_wire.h"
#include "frontends/grpc/limiter_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  weir::envoy::RlsRequest request;
  if (weir::envoy::read_rls_request(bytes, request) && request.check().ok()) {
    std::size_t total = 0;
    for (const auto& descriptor : request.descriptors) total += request.attributes_of(descriptor).size();
    if (total != request.attributes.size()) __builtin_trap();
  }
  weir::grpc::CheckMessages messages;
  static_cast<void>(messages.read_one(bytes));
  static_cast<void>(messages.read_batch(bytes));
  return 0;
}
