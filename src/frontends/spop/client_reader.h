// ClientReader: who is asking, for messages that carry a client's request (client_message.h). Another room makes the
// attributes of it; this is what it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "frontends/http/caller.h"
#include "frontends/http/http_message.h"

namespace weir::spop {

// A client's request as HAProxy describes it.
struct ClientRequest {
  std::string_view src;  // the address that HAProxy was called from, as text
  std::string_view method;
  std::string_view uri;     // path and query, or a whole URL
  std::string_view scheme;  // empty: not known
  std::span<const http::HttpField> headers;
  std::span<const http::HttpField> gateway_fields;  // HAProxy's other arguments; an empty value: it had none
};

// Why a message cannot be turned into a request. The texts are for logs.
struct MessageFault {
  enum class Cause : std::uint8_t { configuration, client };
  Cause cause = Cause::client;
  std::string_view text;
};

// Called on one loop.
class ClientReader {
 public:
  virtual ~ClientReader() = default;
  // Nothing on success; the caller is valid until the next read().
  virtual std::optional<http::CallerRefusal> read(const ClientRequest& request, http::Caller& caller) = 0;
  // A message was refused before it was read as a request.
  virtual void note(const MessageFault& fault) = 0;
};

}  // namespace weir::spop
