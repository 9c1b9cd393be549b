// Envoy's rate limit messages in proto-JSON, as POST /json of envoyproxy/ratelimit takes and gives them:
//
//   {"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}
//   {"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":10,"unit":"MINUTE"},…}]}
//
// Read with RlsJsonReader, check with RlsRequest::check, decide with RlsDecider, write with render_rls_json. The HTTP
// status is 200 for OK, 429 for OVER_LIMIT, 400 for a body that cannot be read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "frontends/envoy/rls.h"
#include "weir/result.h"

namespace weir::envoy {

// Reused from request to request; one for each loop. What was read refers to the reader's own memory until the next
// read.
class RlsJsonReader {
 public:
  RlsJsonReader();
  ~RlsJsonReader();
  RlsJsonReader(const RlsJsonReader&) = delete;
  RlsJsonReader& operator=(const RlsJsonReader&) = delete;

  // As protobuf's JSON mapping: names in camelCase or as in the .proto, 64-bit numbers also as strings, enums as names
  // or numbers, null as absent; unknown members are an error. The failure is invalid_argument and names the member.
  Status read(std::string_view json, RlsRequest& request);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// Appends the RateLimitResponse.
void render_rls_json(std::string& out, const RlsAnswer& answer);

// 200 or 429.
inline int http_status(const RlsAnswer& answer) { return answer.over_limit ? 429 : 200; }

}  // namespace weir::envoy
