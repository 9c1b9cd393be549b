// Webhook: posts signed JSON to a URL, and says whether the receiver took it. Blocking; not for event loops.
//
// Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/http_post.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

class Webhook {
 public:
  // `url` is http:// or https://, with host, port and path. Failure: invalid_argument.
  static Result<std::unique_ptr<Webhook>> make(const std::string& url, std::string secret, Duration timeout);

  // Signed with the time. Failures: unavailable (no answer), failed_precondition (another status than 2xx).
  Status post(std::string_view body, TimePoint now) const;

  // "sha256=" and the HMAC-SHA256 of "<timestamp>.<body>", in hexadecimal digits.
  static std::string signature(const std::string& secret, std::string_view timestamp, std::string_view body);

 private:
  Webhook(std::unique_ptr<HttpPost> to, std::string secret) : to_(std::move(to)), secret_(std::move(secret)) {}

  const std::unique_ptr<HttpPost> to_;
  const std::string secret_;
};

}  // namespace weir::server
