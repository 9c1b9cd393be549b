// RateLimitRequest and RateLimitResponse in protobuf's wire format, by hand. protobuf's generated code is the oracle
// that the tests compare with.
#pragma once

#include <string>
#include <string_view>

#include "frontends/envoy/rls.h"

namespace weir::envoy {

// False: not a RateLimitRequest. `request` is then undefined. Does not check the request's bounds (RlsRequest::check).
[[nodiscard]] bool read_rls_request(std::string_view bytes, RlsRequest& request);

// Appends the message.
void write_rls_answer(std::string& out, const RlsAnswer& answer);

}  // namespace weir::envoy
