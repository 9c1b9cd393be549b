// A message that carries a client's request, for Weir to identify the caller:
//
//   args src=src method=method uri=url scheme=ssl_fc,iif(https,http) headers=req.hdrs_bin
//
// `src`, `method`, `uri` and `headers` must be there, `scheme` may be. `cost` overrides the route's, `peek` is
// supported. All other arguments are fields that HAProxy itself vouches for. No argument becomes an attribute by its
// name: the identity section decides which attributes there are.
//
//   headers  req.hdrs_bin: name and value of each field as strings (wire.h), then two empty strings
//
// Not thread-safe: holds what a request refers to until the next read().
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "frontends/spop/argument.h"
#include "frontends/spop/client_reader.h"
#include "weir/request.h"

namespace weir::spop {

struct ClientMessage {
  ClientRequest request;
  std::optional<Cost> cost;  // none: the route's
  bool peek = false;
};

class ClientMessageReader {
 public:
  // HAProxy passes 101 on unless told otherwise (tune.http.maxhdr).
  static constexpr std::size_t kMaxHeaders = 256;

  // `payload` is well-formed. Nothing on success; the message refers to `payload` and to this object.
  std::optional<MessageFault> read(std::string_view payload, ClientMessage& message);

 private:
  enum Part : std::size_t { kSrc, kMethod, kUri, kScheme, kHeaders, kParts };

  std::optional<MessageFault> take(std::string_view name, const Value& value, ClientMessage& message);
  std::optional<MessageFault> check_parts() const;
  std::optional<MessageFault> read_headers(std::string_view block);

  std::array<std::optional<Value>, kParts> parts_;
  std::vector<http::HttpField> headers_;
  std::vector<http::HttpField> gateway_fields_;
  ArgumentTexts texts_;
};

}  // namespace weir::spop
