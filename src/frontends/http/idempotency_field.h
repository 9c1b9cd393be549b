// The header field Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a structured field string, such as
// "8e03978e-40d5-43dd-bc93-6894a57f9324" in quotes. The same without quotes is accepted too.
#pragma once

#include <optional>
#include <string>

#include "frontends/http/http_message.h"
#include "weir/bucket_key.h"
#include "weir/result.h"

namespace weir::http {

// Nothing if the request has no such field. The failure says what is wrong: two fields, no key, one that is too long or
// has characters that are not allowed.
Result<std::optional<std::string>> read_idempotency_key(const HttpRequest& request);

// A hash of what the request asks for: method, path, query and body. Two requests with the same key must have the same.
BucketKey hash_of_request(const HttpRequest& request);

}  // namespace weir::http
